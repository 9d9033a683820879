import { type AuditEvent, auditEventKeys } from '../domain/audit/event.js';
import { lastPurge } from './audit-last-purge.js';
import type { Queryable } from './client.js';

export interface EvidenceAttempt {
  id: string;
  fence: number;
  agentId: string;
  status: 'running' | 'completed' | 'failed';
  outcome: string | null;
  createdAt: number;
  finishedAt: number | null;
  /** The claim's answer, which holds the token. */
  claimAnswer: string;
  /** Null without a stored result. */
  resultSha256: string | null;
  resultBytes: number | null;
}

export function listEvidenceAttempts(db: Queryable, requestId: string): Promise<EvidenceAttempt[]> {
  return db.query<EvidenceAttempt>(
    `select e.id, e.fence, e.agent_id as "agentId", e.status, e.outcome, e.created_at as "createdAt", e.finished_at as "finishedAt",
       e.claim_answer as "claimAnswer", r.sha256 as "resultSha256", r.content_length as "resultBytes"
     from executions e left join results r on r.execution_id = e.id where e.request_id = $1 order by e.fence`,
    [requestId],
  );
}

/** Whether a purge of the audit log may have reached what was written at this instant. */
export async function isPurged(db: Queryable, at: number): Promise<boolean> {
  const [row] = await db.query<{ purgedBefore: string }>(lastPurge);
  return row !== undefined && at <= Date.parse(row.purgedBefore);
}

/** All events of a request, in the order of the log. */
export function listRequestEvents(db: Queryable, requestId: string): Promise<AuditEvent[]> {
  return db.query<AuditEvent>(
    `select ${auditEventKeys.join(', ')} from audit_events where request_id = $1 order by seq nulls last, position`,
    [requestId],
  );
}
