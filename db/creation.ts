import { randomUUID } from 'node:crypto';
import type { ApprovalMacs } from '../crypto/approval-macs.js';
import { createdRequest, decisionTrace } from '../domain/request/creation.js';
import type { NewRequest } from '../domain/request/new-request.js';
import { isMutatingMigration, type StoredRequest } from '../domain/request/types.js';
import { viewOf } from '../domain/request/view.js';
import { auditInsert, auditRows } from './audit.js';
import type { Database, Queryable, Recorder, SingleWrite, Transaction, Vouched } from './client.js';
import { dryRunInsert } from './dry-run-jobs.js';
import { lockPair } from './migration-pairs.js';
import { allowedAlways, writing } from './move-statement.js';
import { stateColumns } from './move-write.js';
import { topic } from './notifications.js';
import { outboxInsert } from './outbox.js';
import { outgoingInsert } from './outgoing.js';
import { type Parameters, parameters } from './parameters.js';
import { contextInsert, contextValue } from './request-contexts.js';
import { at } from './row-types.js';
import { inTurn } from './standing.js';
import { unrevokedToken } from './tokens.js';
import { activeUsers } from './users.js';
import { keyCheckColumn, requestCode, requireCurrentKey } from './vouching.js';

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

/** Postgres's instant; in a transaction, after any wait for the locks asked for before. 503 if the database now uses another secret key. */
export async function creationInstant(db: Vouched): Promise<number> {
  const [row] = await db.query<{ now: number; keyCheck: string | null }>(
    `select ${keyCheckColumn}, (extract(epoch from date_trunc('milliseconds', clock_timestamp())) * 1000)::bigint as now`,
  );
  if (row === undefined) throw new Error('select without a row');
  requireCurrentKey(row.keyCheck, db.macs);
  return row.now;
}

/**
 * RQ-27, RQ-29: request, snapshot, digest, trace, first dispatch, audit events, news, context and EXPLAIN jobs in one statement; a taken key
 * is a unique violation of `requests_by_key`. `now` is the instant of its creation. The caller has locked the requester and their token.
 */
export async function insertRequest(tx: Transaction, request: NewRequest, now: number): Promise<StoredRequest> {
  const pairBusyMs = isMutatingMigration(request.operation) ? await lockPair(tx, request.input) : 0;
  const { write, stored } = creationStatement({ request, now, pairBusyMs, recorder: tx }, (p) => allowedAlways(p, request.id));
  tx.send(write.text, write.values);
  tx.wake(...write.topics);
  return stored;
}

/** The most that an instant of creation may lie before its transaction. Lists rely on it to know when no older request can come any more. */
export const longestBeforeMs = 500;

/**
 * The same without a transaction around it. Undefined, with nothing written, if `now` is too long ago, the requester is not active, their token is
 * revoked, another secret key is used, or the pair needs a lock.
 */
export async function insertAtOnce(db: Database, request: NewRequest, now: number): Promise<StoredRequest | undefined> {
  if (isMutatingMigration(request.operation)) return undefined;
  const { write, stored } = creationStatement({ request, now, pairBusyMs: 0, recorder: db }, (p) => {
    const keyCheck = p.add(db.macs.keyCheck);
    const active = activeUsers(p, [request.requester]);
    const unrevoked = unrevokedToken(p, request.actor.tokenId);
    return `${active.part}, ${unrevoked.part},
      allowed as materialized (select ${p.add(request.id)}::uuid as id
        where ${inTurn([active, unrevoked])} and transaction_timestamp() < ${p.add(at(now))}::timestamptz + interval '${longestBeforeMs} milliseconds'
          and coalesce((select key_check from secret_key), ${keyCheck}) = ${keyCheck})`;
  });
  return (await db.writeOnce(write)) ? stored : undefined;
}

interface Creation {
  request: NewRequest;
  now: number;
  pairBusyMs: number;
  recorder: Recorder;
}

function creationStatement(
  { request, now, pairBusyMs, recorder }: Creation,
  allowed: (p: Parameters) => string,
): { write: SingleWrite; stored: StoredRequest } {
  const { request: stored, events } = createdRequest(request, now);
  const { operation, database, environment } = stored;
  const { detailFingerprint, detailRaw } = request;
  const subject = { requestId: stored.id, operation, database, environment, detailFingerprint, detailRaw };
  const p = parameters();
  const guard = allowed(p);
  const columns: Record<string, unknown> = { ...requestColumns(request, stored, recorder.macs), dispatch_busy_ms: pairBusyMs };
  const values = Object.values(columns).map(p.add).join(', ');
  const eventId = randomUUID();
  const inserts = [
    guard,
    `created as (insert into requests (id, ${Object.keys(columns).join(', ')}) select id, ${values} from allowed)`,
    auditInsert(p.add(auditRows(events, subject, eventId)), 'allowed'),
    newsInsert(p, stored),
    contextInsert(p.add(contextValue(request.context))),
  ];
  const explained = request.explain.length > 0;
  if (explained) inserts.push(explainInsert(p, request, stored));
  const topics: string[] = [topic.request(stored.id)];
  // Lingering news is found by the publisher's own look; most of it is overtaken before.
  if (stored.status !== 'dispatched') topics.push(topic.outbox);
  if (stored.status === 'dispatched' || explained) topics.push(topic.jobs(database, environment));
  const told = outgoingInsert(p, recorder.outgoingOf(events, { request: stored, detail: detailRaw }), 'allowed');
  inserts.push(...told.parts);
  topics.push(...told.topics);
  return { write: { text: writing(inserts), values: p.values, topics, eventId }, stored };
}

function newsInsert(p: Parameters, stored: StoredRequest): string {
  return outboxInsert({
    version: '1',
    signal: "'change'",
    actor: p.add(stored.requester),
    step: 'null',
    starts: 'true',
    view: p.add(JSON.stringify(viewOf(stored, stored.createdAt))),
    lingerMs: p.add(stored.status === 'dispatched' ? dispatchedLingerMs : 0),
  });
}

function explainInsert(p: Parameters, { explain }: NewRequest, stored: StoredRequest): string {
  return dryRunInsert({
    database: p.add(stored.database),
    environment: p.add(stored.environment),
    statements: p.add(explain.map(({ sql }) => sql)),
    errors: p.add(explain.map(({ error }) => error)),
    now: p.add(at(stored.createdAt)),
  });
}

/** What no move changes, and its first state. */
function requestColumns(request: NewRequest, stored: StoredRequest, macs: ApprovalMacs): Record<string, unknown> {
  const { input } = request;
  return {
    requester: stored.requester,
    requester_role: stored.requesterRole,
    database: stored.database,
    environment: stored.environment,
    operation: stored.operation,
    dialect: stored.dialect,
    detail: stored.detail,
    redacted_detail: request.redactedDetail,
    statement_type: request.statementType,
    risk_level: request.risk.level,
    reason: input.reason,
    idempotency_key: input.idempotencyKey,
    fingerprint: request.fingerprint,
    metadata: input.metadata,
    emergency: input.emergency,
    allow_ddl: input.allowDdl,
    no_result_store: input.noResultStore,
    max_affected_rows: stored.maxAffectedRows,
    search_path: stored.searchPath,
    require_approval: input.requireApproval,
    share_with: input.shareWith,
    share_selectors: input.shareSelectors,
    workflow: JSON.stringify(stored.policy),
    policy_revision: stored.policyRevision,
    approval_digest: stored.approvalDigest,
    decision_trace: JSON.stringify(decisionTrace(request)),
    created_at: at(stored.createdAt),
    passed_by: stored.passedBy,
    request_mac: requestCode(stored, macs),
    ...stateColumns(stored, macs),
  };
}
