import type { ApprovalMacs } from '../crypto/approval-macs.js';
import type { AuditDraft } from '../domain/audit.js';
import { currentSelectors, openSelectors } from '../domain/request/approval.js';
import { type Creation, decisionTrace } from '../domain/request/creation.js';
import type { StoredRequest } from '../domain/request/types.js';
import { viewOf } from '../domain/request/view.js';
import { auditInsert, auditRows } from './audit.js';
import type { Queryable, Transaction } from './client.js';
import { dryRunInsert } from './dry-run-jobs.js';
import { topic } from './notifications.js';
import { outboxInsert } from './outbox.js';
import { contextInsert, contextValue } from './request-contexts.js';
import { at } from './row-types.js';
import { keyCheckColumn, requestCode, requireCurrentKey, stateCode } from './vouching.js';

/** Texts that are stored beside the request and never change. */
export interface CreationTexts {
  fingerprint: string;
  redactedDetail: string;
  detailFingerprint: string | null;
  detailRaw: string | null;
}

// A read is claimed within milliseconds, within half a second under load: its creation's news is then overtaken and costs no workflow task.
const dispatchedLingerMs = 1000;

/** The key of a (requester, idempotency key) that is taken already (RQ-30). */
export async function findByKey(
  db: Queryable,
  requester: string,
  key: string,
): Promise<{ id: string; fingerprint: string } | undefined> {
  const [row] = await db.query<{ id: string; fingerprint: string }>(
    'select id, fingerprint from requests where requester = $1 and idempotency_key = $2',
    [requester, key],
  );
  return row;
}

/** Locks a user's row against suspension for this transaction; `now` is Postgres's instant, undefined when the user is unknown (IM-65). */
export async function lockOwner(tx: Transaction, userId: string): Promise<{ active: boolean; now: number } | undefined> {
  const [row] = await tx.query<{ active: boolean; now: number; keyCheck: string | null }>(
    `select status = 'active' as active, ${keyCheckColumn}, (extract(epoch from date_trunc('milliseconds', clock_timestamp())) * 1000)::bigint as now
     from users where id = $1 for key share`,
    [userId],
  );
  if (row !== undefined) requireCurrentKey(row.keyCheck, tx.macs);
  return row;
}

/** The same for the owner of a request that is not locked yet; undefined also when the request is not stored. */
export async function lockOwnerOf(tx: Transaction, requestId: string): Promise<{ active: boolean } | undefined> {
  const [row] = await tx.query<{ active: boolean }>(
    `select status = 'active' as active from users where id = (select requester from requests where id = $1) for key share`,
    [requestId],
  );
  return row;
}

const columns = [
  'id',
  'status',
  'requester',
  'requester_role',
  'database',
  'environment',
  'operation',
  'dialect',
  'detail',
  'statement_type',
  'risk_level',
  'reason',
  'idempotency_key',
  'fingerprint',
  'metadata',
  'emergency',
  'allow_ddl',
  'no_result_store',
  'max_affected_rows',
  'search_path',
  'require_approval',
  'share_with',
  'share_selectors',
  'workflow',
  'step_selectors',
  'open_selectors',
  'policy_revision',
  'approval_digest',
  'decision_trace',
  'redacted_detail',
  'fence',
  'created_at',
  'updated_at',
  'expires_at',
  'approved_at',
  'dispatch_by',
  'dispatched_at',
  'dispatch_deadline',
  'passed_by',
  'request_mac',
  'state_mac',
  'dispatch_busy_ms',
] as const;
const parameterOf = (column: (typeof columns)[number]) => `$${columns.indexOf(column) + 1}`;
const after = (n: number) => `$${columns.length + n}`;
const insertText = `with created as (
    insert into requests (${columns.join(', ')}) values (${columns.map((_, index) => `$${index + 1}`).join(', ')})
  ), ${auditInsert(after(1))}, ${outboxInsert({ request: '$1', version: '1', signal: "'change'", actor: '$3', step: 'null', view: after(2), starts: 'true', lingerMs: after(3) })},
  ${contextInsert({ request: '$1', context: after(4) })}`;
const explainInsertText = `${insertText}, ${dryRunInsert({ request: '$1', database: parameterOf('database'), environment: parameterOf('environment'), statements: after(5), errors: after(6), now: parameterOf('created_at') })}`;

/** RQ-27, RQ-29: request, snapshot, digest, trace, first dispatch, audit events, news, context and EXPLAIN jobs in one statement; a taken key is a unique violation of `requests_by_key`. `pairBusyMs` is what the locked pair of a migration has been busy for. */
export function insertRequest(
  tx: Transaction,
  creation: Creation,
  texts: CreationTexts,
  request: StoredRequest,
  events: AuditDraft[],
  pairBusyMs = 0,
): void {
  const subject = {
    requestId: request.id,
    operation: request.operation,
    database: request.database,
    environment: request.environment,
    detailFingerprint: texts.detailFingerprint,
    detailRaw: texts.detailRaw,
  };
  const dispatched = request.status === 'dispatched';
  const explained = creation.explain.length > 0;
  tx.send(`${explained ? explainInsertText : insertText} select 1`, [
    ...columnValues(creation, texts, request, tx.macs),
    pairBusyMs,
    auditRows(events, subject),
    JSON.stringify(viewOf(request, request.createdAt)),
    dispatched ? dispatchedLingerMs : 0,
    contextValue(creation.context),
    ...(explained ? [creation.explain.map(({ sql }) => sql), creation.explain.map(({ error }) => error)] : []),
  ]);
  tx.wake(topic.outbox);
  if (dispatched || explained) tx.wake(topic.jobs(request.database, request.environment));
}

function columnValues(creation: Creation, texts: CreationTexts, request: StoredRequest, macs: ApprovalMacs): unknown[] {
  const { input } = creation;
  return [
    request.id,
    request.status,
    request.requester,
    request.requesterRole,
    request.database,
    request.environment,
    request.operation,
    request.dialect,
    request.detail,
    creation.statementType,
    creation.risk.level,
    input.reason,
    input.idempotencyKey,
    texts.fingerprint,
    input.metadata,
    input.emergency,
    input.allowDdl,
    input.noResultStore,
    request.maxAffectedRows,
    request.searchPath,
    input.requireApproval,
    input.shareWith,
    input.shareSelectors,
    JSON.stringify(request.workflow),
    currentSelectors(request),
    openSelectors(request),
    request.policyRevision,
    request.approvalDigest,
    JSON.stringify(decisionTrace(creation)),
    texts.redactedDetail,
    request.fence,
    at(request.createdAt),
    at(request.updatedAt),
    at(request.expiresAt),
    at(request.approvedAt),
    at(request.dispatchBy),
    at(request.dispatchedAt),
    at(request.dispatchDeadline),
    request.passedBy,
    requestCode(request, macs),
    stateCode(request, macs),
  ];
}
