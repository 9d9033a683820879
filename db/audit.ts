import { randomUUID } from 'node:crypto';
import { auditCategory } from '../domain/audit/catalogue.js';
import { type AuditDraft, type AuditSubject, metadataJson } from '../domain/audit/draft.js';
import type { Database, Transaction } from './client.js';
import { writing } from './move-statement.js';
import { insertDeliveries } from './webhook-deliveries.js';

/** Writes events in order, in the transaction of the change that they record (AU-10), with what they tell webhooks (NT-3). */
export async function insertAuditEvents(
  tx: Transaction,
  drafts: readonly AuditDraft[],
  subject: AuditSubject | null = null,
): Promise<void> {
  if (drafts.length === 0) return;
  await tx.query(`with ${auditInsert('$1')} select 1`, [auditRows(drafts, subject)]);
  await insertDeliveries(tx, tx.outgoingOf(drafts, null).deliveries);
}

/** Writes an event that records no change (AU-11), of which no webhook is told (NT-1), in one statement that commits by itself. */
export async function insertLoneEvent(db: Database, draft: AuditDraft, subject: AuditSubject | null = null): Promise<void> {
  const eventId = randomUUID();
  const text = writing(['allowed as (select 1)', auditInsert('$1')]);
  const write = { text, values: [auditRows([draft], subject, eventId)], topics: [], eventId };
  if (!(await db.writeOnce(write))) throw new Error('the event was not written');
}

/**
 * Events as part of a larger statement: `audited as (insert …)`. The parameter holds the result of `auditRows`; nothing is written unless `guard`, a
 * part before it, has a row.
 */
export function auditInsert(parameter: string, guard: string | null = null): string {
  return `audited as (
    insert into audit_events (id, event_type, event_category, outcome, actor_id, actor_type, resource_type, resource_id,
      peer_ip, client_ip, client_ip_source, request_id, operation, database_name, environment, detail_fingerprint, detail_raw, reason, metadata_json)
    select id, event_type, event_category, outcome, actor_id, actor_type, resource_type, resource_id,
      peer_ip, client_ip, client_ip_source, request_id, operation, database_name, environment, detail_fingerprint, detail_raw, reason, metadata_json
    from jsonb_to_recordset(${parameter}::jsonb) as event(id uuid, event_type text, event_category text, outcome text, actor_id text,
      actor_type text, resource_type text, resource_id text, peer_ip text, client_ip text, client_ip_source text, request_id uuid, operation text,
      database_name text, environment text, detail_fingerprint text, detail_raw text, reason text, metadata_json text, place bigint)
    ${guard === null ? '' : `where exists (select from ${guard})`} order by place
  )`;
}

// Only events of a creation, even a blocked one, and of a preflight describe the SQL (audit section 3). Later events name the request. The
// text is a copy of its own: an event is read, hashed and exported without its request (AU-1, AU-2), and never changes with it (AU-3).
const describesDetail = new Set([
  'request.created',
  'request.auto_approved',
  'request.break_glass',
  'request.blocked_by_review',
  'preflight.attempted',
]);

/** Rows for `auditInsert`, as JSON text; the first event gets the id `firstId`. */
export const auditRows = (drafts: readonly AuditDraft[], subject: AuditSubject | null, firstId?: string): string =>
  auditRowsOf(
    drafts.map((draft) => ({ draft, subject })),
    firstId,
  );

/** The same for events of different requests. */
export function auditRowsOf(
  events: readonly { draft: AuditDraft; subject: AuditSubject | null }[],
  firstId: string = randomUUID(),
): string {
  return JSON.stringify(
    events.map(({ draft, subject }, place) => ({
      place,
      id: place === 0 ? firstId : randomUUID(),
      event_type: draft.type,
      event_category: auditCategory[draft.type],
      outcome: draft.outcome,
      actor_id: draft.actor.id,
      actor_type: draft.actor.type,
      resource_type: draft.resourceType,
      resource_id: draft.resourceId,
      peer_ip: draft.actor.peerIp,
      client_ip: draft.actor.clientIp,
      client_ip_source: draft.actor.clientIpSource,
      request_id: subject?.requestId ?? null,
      operation: subject?.operation ?? null,
      database_name: subject?.database ?? null,
      environment: subject?.environment ?? null,
      detail_fingerprint: describesDetail.has(draft.type) ? (subject?.detailFingerprint ?? null) : null,
      detail_raw: describesDetail.has(draft.type) ? (subject?.detailRaw ?? null) : null,
      reason: draft.reason,
      metadata_json: metadataJson(draft),
    })),
  );
}
