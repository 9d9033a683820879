import { randomUUID } from 'node:crypto';
import { limitDatabaseWork } from '../../db/call-limit.js';
import type { Database, Transaction } from '../../db/client.js';
import { insertRequest } from '../../db/creation.js';
import { type Decide, type Moved, move } from '../../db/move.js';
import { type Actor, systemActor } from '../../domain/audit/draft.js';
import { BUILTIN_ROLES } from '../../domain/builtin-roles.js';
import type { Caller } from '../../domain/caller.js';
import { noOrigins } from '../../domain/four-eyes.js';
import { judge } from '../../domain/request/judge.js';
import type { DispatchFacts, Move, Submission } from '../../domain/request/moves.js';
import type { NewRequest } from '../../domain/request/new-request.js';

/** Texts of users and targets. None of them may ever reach Temporal. */
export const secretTexts = {
  detail: "update customers set name = 'marker-detail' where id = 1",
  reason: 'marker-reason',
  comment: 'marker-comment',
  metadata: 'marker-metadata',
  error: 'marker-error',
};

export interface StoredRequestOptions {
  id?: string;
  /** Dispatched at once instead of pending. */
  dispatched?: boolean;
  operation?: 'execute_select' | 'execute_dml' | 'migrate_up';
  pendingSecs?: number;
  approvalSecs?: number;
  dispatchMs?: number | undefined;
  metadata?: object;
}

/** Stores a request of alice on shop/production as the API does, with its news; returns its id. */
export async function storeRequest(database: Database, options: StoredRequestOptions = {}): Promise<string> {
  const creation = creationOf(options);
  const store = async (tx: Transaction) => {
    const [clock] = await tx.query<{ now: number }>(`select (extract(epoch from clock_timestamp()) * 1000)::bigint as now`);
    await insertRequest(tx, creation, clock!.now);
  };
  await patiently(() => database.transaction(store));
  return creation.id;
}

/** Bob, who may approve. */
export const approve = (database: Database, id: string) =>
  make(database, id, { ...by('bob'), kind: 'approve', selector: null, comment: secretTexts.comment, ...facts });

export const reject = (database: Database, id: string) =>
  make(database, id, { ...by('bob'), kind: 'reject', comment: secretTexts.comment });

export const cancel = (database: Database, id: string) =>
  make(database, id, { ...by('alice'), kind: 'cancel', reason: secretTexts.reason });

export const resume = (database: Database, id: string, dispatchMs = 300_000) =>
  make(database, id, {
    ...by('alice'),
    kind: 'resume',
    reason: secretTexts.reason,
    policy: { maxExecutions: 5, retryOnFailure: true },
    facts,
    dispatchMs,
  });

/** An agent's claim; returns the id of the execution. */
export async function claim(database: Database, id: string, leaseMs = 60_000): Promise<string> {
  const executionId = randomUUID();
  const agent = { id: 'agent-1', inScope: true, fences: true, marker: true, bounds: true, markerForm: 2 } as const;
  const execution = { id: executionId, claimId: null, leaseMs, windowSecs: 86_400 };
  const claiming: Move = { kind: 'claim', actor: { ...actorOf('agent-1'), type: 'agent' }, agent, facts, execution };
  const decide: Decide = (request, now) => ({
    ...judge(request, claiming, now),
    claim: { answer: '{}', leaseSecs: Math.ceil(leaseMs / 1000), tokenId: randomUUID(), pollInstance: null },
  });
  await database.transaction((tx) => move(tx, id, decide, { pair: true }));
  return executionId;
}

/** The agent's result for its execution. */
export async function finish(database: Database, id: string, executionId: string, success = true): Promise<Moved> {
  const outcome = success ? 'committed' : 'rolled_back';
  const decide: Decide = (request, now) => {
    const reported = request.attempts.find((attempt) => attempt.id === executionId)!;
    const submission: Submission = {
      fence: reported.fence,
      outcome,
      cancelled: null,
      text: outcome,
      success,
      appliedFence: null,
      appliedExecutionId: null,
      rowsAffected: '1',
      durationMs: 3,
      truncated: false,
      kept: 'empty',
      errorMessage: success ? null : secretTexts.error,
      auditError: { errorClass: 'sql', errorMessage: null },
      markerMismatches: [],
      steps: {},
    };
    const actor = { ...actorOf('agent-1'), type: 'agent' as const };
    return judge(request, { kind: 'result', actor, agentId: 'agent-1', reported, submission }, now);
  };
  return database.transaction((tx) => move(tx, id, decide, { pair: true }));
}

export const facts: DispatchFacts = { digestIntact: true, foundDigest: '', ownerActive: true, pairUnchanged: true };

function make(database: Database, id: string, what: Move): Promise<Moved> {
  return patiently(() => database.transaction((tx) => move(tx, id, (request, now) => judge(request, what, now))));
}

/** A test's own work may take longer than a call has: on a busy machine it is not what the test is about. */
const patiently = <T>(work: () => Promise<T>): Promise<T> => limitDatabaseWork(30_000, work);

const actorOf = (id: string): Actor => ({ ...systemActor, id, type: 'user' });

export function by(id: string): { actor: Actor; caller: Caller } {
  const admin = BUILTIN_ROLES.filter(({ name }) => name === 'admin');
  return {
    actor: actorOf(id),
    caller: { kind: 'user', id, roles: admin, groups: ['dba-team'], memberOf: ['dba-team'], origins: noOrigins, tokenId: null },
  };
}

export function creationOf(options: StoredRequestOptions): NewRequest {
  const operation = options.operation ?? 'execute_dml';
  return {
    id: options.id ?? randomUUID(),
    input: {
      database: 'shop',
      environment: 'production',
      asked: operation,
      detail: secretTexts.detail,
      reason: secretTexts.reason,
      idempotencyKey: null,
      metadata: JSON.stringify(options.metadata ?? { note: secretTexts.metadata }),
      emergency: false,
      allowDdl: false,
      noResultStore: false,
      requireApproval: false,
      shareWith: [],
      shareSelectors: [],
    },
    actor: actorOf('alice'),
    requester: 'alice',
    requesterRole: 'requester',
    operation,
    dialect: 'postgresql',
    searchPath: null,
    statementType: operation === 'execute_dml' ? 'UPDATE' : 'SELECT',
    risk: { level: 'low', factors: [], schemaStatus: 'none' },
    review: { policyId: 'builtin-default', findingsCount: 0, parseFailed: false },
    bypass: null,
    dirSha256: null,
    context: { tables: null, sqlReview: null, risk: null, schemaSnapshotCollectedAt: null },
    explain: [],
    policy: {
      id: 'wf:shop:production:000000000000',
      database: 'shop',
      environment: 'production',
      explain: false,
      autoApprove: null,
      steps: [{ mode: 'all', approvers: [{ selector: 'group:dba-team', min: 1 }] }],
      requireReason: false,
      allowSelfApprove: false,
      allowSameApproverAcrossSteps: false,
      statementTimeoutSecs: null,
      pendingTtlSecs: options.pendingSecs ?? 86_400,
      approvalTtlSecs: options.approvalSecs ?? 86_400,
    },
    approval: { outcome: options.dispatched ? 'auto_approved' : 'needs_approval', reason: 'explicit_always', threshold: null },
    fingerprint: 'f'.repeat(64),
    redactedDetail: 'update customers set name = $1 where id = $2',
    detailFingerprint: null,
    detailRaw: null,
    policyRevision: 'r1',
    approvalDigest: 'd'.repeat(64),
    approvalTtlSecs: 86_400,
    dispatchMs: options.dispatchMs ?? 300_000,
  };
}

/** Runs `work` while the database refuses every change of the request. */
export async function whileRefused(database: Database, id: string, work: () => Promise<unknown>): Promise<void> {
  await database.query(
    `create function refuse_change() returns trigger language plpgsql as $$begin raise 'this request cannot change'; end$$`,
  );
  await database.query(
    `create trigger refuse_change before update on requests for each row when (old.id = '${id}') execute function refuse_change()`,
  );
  try {
    await work();
  } finally {
    await database.query('drop function refuse_change cascade');
  }
}
