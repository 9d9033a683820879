import { randomUUID } from 'node:crypto';
import type { ApprovalMacs } from '../crypto/approval-macs.js';
import { createdRequest, decisionTrace } from '../domain/request/creation.js';
import type { NewRequest } from '../domain/request/new-request.js';
import { isMutatingMigration, type StoredRequest } from '../domain/request/types.js';
import { viewOf } from '../domain/request/view.js';
import { auditInsert, auditRowsOf } from './audit.js';
import type { Database, Queryable, Recorder, SingleWrite, Transaction, Vouched } from './client.js';
import { dryRunInsert } from './dry-run-jobs.js';
import { type Creation, claimantUnchanged, createdWithClaim, type JointClaim, jointClaimInsert } from './joint-claim.js';
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
  const made = creationOf(request, now, tx);
  const write = creationStatement({ ...made, pairBusyMs, macs: tx.macs }, (p) => allowedAlways(p, request.id));
  tx.send(write.text, write.values);
  tx.wake(...write.topics);
  return made.stored;
}

/** The most that an instant of creation may lie before its transaction. Lists rely on it to know when no older request can come any more. */
export const longestBeforeMs = 500;

/**
 * The same without a transaction around it, with the claim of an agent that waits for such a request. Undefined, with nothing written, if `now` is too long
 * ago, the requester is not active or acts in Slack, their token is revoked, another secret key is used, the pair needs a lock, or the agent may no longer claim as
 * it was judged.
 */
export async function insertAtOnce(
  db: Database,
  request: NewRequest,
  now: number,
  claimed: JointClaim | null = null,
): Promise<StoredRequest | undefined> {
  const alone = creationOf(request, now, db);
  const made = claimed === null ? alone : createdWithClaim(alone, claimed, db);
  if (made === null || isMutatingMigration(request.operation) || request.actor.slackUserId !== undefined) return undefined;
  const write = creationStatement({ ...made, pairBusyMs: 0, macs: db.macs }, (p) => {
    const keyCheck = p.add(db.macs.keyCheck);
    const standing = [activeUsers(p, [request.requester]), unrevokedToken(p, request.actor.tokenId)];
    if (claimed !== null) standing.push(claimantUnchanged(p, claimed.claimant));
    return `${standing.map(({ part }) => part).join(', ')},
      allowed as materialized (select ${p.add(request.id)}::uuid as id
        where ${inTurn(standing)} and transaction_timestamp() < ${p.add(at(now))}::timestamptz + interval '${longestBeforeMs} milliseconds'
          and coalesce((select key_check from secret_key), ${keyCheck}) = ${keyCheck})`;
  });
  return (await db.writeOnce(write)) ? alone.stored : undefined;
}

function creationOf(request: NewRequest, now: number, { outgoingOf }: Recorder): Creation & { stored: StoredRequest } {
  const { request: stored, events } = createdRequest(request, now);
  const { operation, database, environment } = stored;
  const { detailFingerprint, detailRaw } = request;
  const subject = { requestId: stored.id, operation, database, environment, detailFingerprint, detailRaw };
  return {
    request,
    stored,
    events: events.map((draft) => ({ draft, subject })),
    outgoing: outgoingOf(events, { request: stored, detail: detailRaw }),
    newsBy: stored.requester,
    lingerMs: stored.status === 'dispatched' ? dispatchedLingerMs : 0,
    claimed: null,
  };
}

function creationStatement(
  {
    request,
    stored,
    events,
    outgoing,
    newsBy,
    lingerMs,
    claimed,
    pairBusyMs,
    macs,
  }: Creation & Pick<Recorder, 'macs'> & { pairBusyMs: number },
  allowed: (p: Parameters) => string,
): SingleWrite {
  const p = parameters();
  const guard = allowed(p);
  const columns: Record<string, unknown> = { ...requestColumns(request, stored, macs), dispatch_busy_ms: pairBusyMs };
  const values = Object.values(columns).map(p.add).join(', ');
  const eventId = randomUUID();
  const inserts = [
    guard,
    `created as (insert into requests (id, ${Object.keys(columns).join(', ')}) select id, ${values} from allowed)`,
    auditInsert(p.add(auditRowsOf(events, eventId)), 'allowed'),
    newsInsert(p, stored, { newsBy, lingerMs }),
    contextInsert(p.add(contextValue(request.context))),
  ];
  if (claimed !== null) inserts.push(jointClaimInsert(p, claimed));
  if (request.explain.length > 0) inserts.push(dryRunInsert(p, request.explain, stored));
  const topics: string[] = [topic.request(stored.id)];
  // Lingering news is found by the publisher's own look; most of it is overtaken before.
  if (lingerMs === 0) topics.push(topic.outbox);
  const explains = request.explain.some(({ error }) => error === null);
  if (stored.status === 'dispatched' || explains) topics.push(topic.jobs(stored.database, stored.environment));
  const told = outgoingInsert(p, outgoing, 'allowed');
  inserts.push(...told.parts);
  topics.push(...told.topics);
  return { text: writing(inserts), values: p.values, topics, eventId };
}

function newsInsert(p: Parameters, stored: StoredRequest, { newsBy, lingerMs }: Pick<Creation, 'newsBy' | 'lingerMs'>): string {
  return outboxInsert({
    version: p.add(stored.version),
    signal: "'change'",
    actor: p.add(newsBy),
    step: 'null',
    starts: 'true',
    view: p.add(JSON.stringify(viewOf(stored, stored.createdAt))),
    lingerMs: p.add(lingerMs),
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
