import type { ApprovalMacs } from '../crypto/approval-macs.js';
import { type Creation, type createdRequest, decisionTrace } from '../domain/request/creation.js';
import type { StoredRequest } from '../domain/request/types.js';
import { viewOf } from '../domain/request/view.js';
import { auditInsert, auditRows } from './audit.js';
import type { Queryable, Transaction } from './client.js';
import { dryRunInsert } from './dry-run-jobs.js';
import { stateColumns } from './move.js';
import { topic } from './notifications.js';
import { outboxInsert } from './outbox.js';
import { type Parameters, parameters } from './parameters.js';
import { contextInsert, contextValue } from './request-contexts.js';
import { at } from './row-types.js';
import { keyCheckColumn, requestCode, requireCurrentKey } from './vouching.js';

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

/** Postgres's instant, after any wait for the locks asked for before; 503 if the database now uses another secret key. */
export async function creationInstant(tx: Transaction): Promise<number> {
  const [row] = await tx.query<{ now: number; keyCheck: string | null }>(
    `select ${keyCheckColumn}, (extract(epoch from date_trunc('milliseconds', clock_timestamp())) * 1000)::bigint as now`,
  );
  if (row === undefined) throw new Error('select without a row');
  requireCurrentKey(row.keyCheck, tx.macs);
  return row.now;
}

/** RQ-27, RQ-29: request, snapshot, digest, trace, first dispatch, audit events, news, context and EXPLAIN jobs in one statement; a taken key is a unique violation of `requests_by_key`. `pairBusyMs` is what the locked pair of a migration has been busy for. */
export function insertRequest(
  tx: Transaction,
  creation: Creation,
  texts: CreationTexts,
  { request, events }: ReturnType<typeof createdRequest>,
  pairBusyMs = 0,
): void {
  const { id, operation, database, environment } = request;
  const { detailFingerprint, detailRaw } = texts;
  const dispatched = request.status === 'dispatched';
  const explained = creation.explain.length > 0;
  const p = parameters();
  const columns = {
    ...fixedColumns(creation, texts, request, tx.macs),
    ...stateColumns(request, tx.macs),
    dispatch_busy_ms: pairBusyMs,
  };
  const values = Object.values(columns).map(p.add);
  const news = {
    ...{ request: p.add(id), version: '1', signal: "'change'", actor: p.add(request.requester), step: 'null', starts: 'true' },
    view: p.add(JSON.stringify(viewOf(request, request.createdAt))),
    lingerMs: p.add(dispatched ? dispatchedLingerMs : 0),
  };
  const subject = { requestId: id, operation, database, environment, detailFingerprint, detailRaw };
  const inserts = [
    `created as (insert into requests (${Object.keys(columns).join(', ')}) values (${values.join(', ')}))`,
    auditInsert(p.add(auditRows(events, subject))),
    outboxInsert(news),
    contextInsert({ request: news.request, context: p.add(contextValue(creation.context)) }),
    ...(explained ? [explainInsert(p, creation, request)] : []),
  ];
  tx.send(`with ${inserts.join(', ')} select 1`, p.values);
  tx.wake(topic.outbox);
  if (dispatched || explained) tx.wake(topic.jobs(database, environment));
}

function explainInsert(p: Parameters, { explain }: Creation, request: StoredRequest): string {
  return dryRunInsert({
    request: p.add(request.id),
    database: p.add(request.database),
    environment: p.add(request.environment),
    statements: p.add(explain.map(({ sql }) => sql)),
    errors: p.add(explain.map(({ error }) => error)),
    now: p.add(at(request.createdAt)),
  });
}

/** The columns that no move changes. */
function fixedColumns(
  creation: Creation,
  texts: CreationTexts,
  request: StoredRequest,
  macs: ApprovalMacs,
): Record<string, unknown> {
  const { input } = creation;
  return {
    id: request.id,
    requester: request.requester,
    requester_role: request.requesterRole,
    database: request.database,
    environment: request.environment,
    operation: request.operation,
    dialect: request.dialect,
    detail: request.detail,
    statement_type: creation.statementType,
    risk_level: creation.risk.level,
    reason: input.reason,
    idempotency_key: input.idempotencyKey,
    fingerprint: texts.fingerprint,
    metadata: input.metadata,
    emergency: input.emergency,
    allow_ddl: input.allowDdl,
    no_result_store: input.noResultStore,
    max_affected_rows: request.maxAffectedRows,
    search_path: request.searchPath,
    require_approval: input.requireApproval,
    share_with: input.shareWith,
    share_selectors: input.shareSelectors,
    workflow: JSON.stringify(request.policy),
    policy_revision: request.policyRevision,
    approval_digest: request.approvalDigest,
    decision_trace: JSON.stringify(decisionTrace(creation)),
    redacted_detail: texts.redactedDetail,
    created_at: at(request.createdAt),
    passed_by: request.passedBy,
    request_mac: requestCode(request, macs),
  };
}
