import { randomUUID } from 'node:crypto';
import type { SigningKey } from '../../crypto/ed25519.js';
import { approvalDigest, signExecutionToken, type TokenClaims } from '../../crypto/execution-token.js';

export interface JobInput {
  operation?: string;
  detail: string;
  database?: string;
  requestId?: string;
  fence?: number;
  /** Their executions are those of `attemptId`, unless the gateway does not tell them. */
  unresolvedFences?: number[];
  tellsExecutions?: boolean;
  /** The agent that made them; this one if absent. */
  lostBy?: string;
  /** A later attempt exists: heartbeats answer 410. */
  gone?: boolean;
  statementTimeoutSecs?: number;
  maxRows?: number | null;
  maxResultBytes?: number;
  /** If absent, the claim has none, like one from an older gateway. */
  maxAffectedRows?: number | null;
  marker?: 'required' | 'none';
  /** Changes the claim answer after the token was signed. */
  forge?: (claim: Record<string, unknown>) => Record<string, unknown>;
  issuedAt?: Date;
}

export interface FakeJob {
  requestId: string;
  executionId: string;
  claims: Record<string, unknown>[];
  heartbeats: number;
  submissions: Record<string, unknown>[];
  /** The answer to coming heartbeats. */
  heartbeat: { status: number; cancelled: boolean };
  /** Statuses of the coming answers to submissions and claims, then 200. */
  resultStatuses: number[];
  claimStatuses: number[];
  /** The submission that got a final status as its answer. */
  result: Promise<Record<string, unknown>>;
  claimed: Promise<void>;
}

export interface Entry extends FakeJob {
  input: JobInput;
  offered: boolean;
  settle: (body: Record<string, unknown>) => void;
  noteClaim: () => void;
}

export const AGENT_ID = 'agent-test';

/** Executions by request and fence, whichever gateway of this process gave them, and when. */
const given = new Map<string, { executionId: string; claimedAt: Date }>();

/** The execution of an earlier attempt that no gateway gave. */
export const attemptId = (fence: number) => `00000000-0000-4000-8000-${String(fence).padStart(12, '0')}`;

type Reply = [status: number, body: unknown];

/** Answers a claim; `onClaim` is awaited before a claim that succeeds or fails. */
export async function claim(
  job: Entry,
  body: Record<string, unknown>,
  key: SigningKey,
  onClaim: (claim: { requestId: string; fence: number; approvalDigest: string }) => Promise<unknown>,
): Promise<Reply> {
  await onClaim({ requestId: job.requestId, fence: offerOf(job).fence, approvalDigest: approvalDigest(contentOf(job)) });
  job.claims.push(body);
  const status = job.claimStatuses.shift() ?? 200;
  if (status === 200 || status === 409) job.offered = false;
  if (status !== 200) return [status, { code: 'request.conflict' }];
  job.noteClaim();
  given.set(`${job.requestId}:${job.input.fence ?? 1}`, { executionId: job.executionId, claimedAt: new Date() });
  const answer = claimAnswer(job, key);
  return [200, job.input.forge ? job.input.forge(answer) : answer];
}

export function heartbeat(job: Entry): Reply {
  job.heartbeats++;
  const { status, cancelled } = job.heartbeat;
  return [status, status === 200 ? { cancelled, lease_expires_at: new Date().toISOString() } : { code: 'x' }];
}

export function submit(job: Entry, body: Record<string, unknown>): Reply {
  job.submissions.push(body);
  const status = job.resultStatuses.shift() ?? 200;
  if (status < 500 && status !== 429) job.settle(body);
  return [status, status === 200 ? { request_id: job.requestId, status: 'executed' } : { code: 'x' }];
}

export function newEntry(input: JobInput): Entry {
  let settle: Entry['settle'] = () => {};
  let noteClaim = () => {};
  return {
    input,
    requestId: input.requestId ?? randomUUID(),
    executionId: randomUUID(),
    offered: true,
    claims: [],
    heartbeats: 0,
    submissions: [],
    heartbeat: { status: input.gone ? 410 : 200, cancelled: false },
    resultStatuses: [],
    claimStatuses: [],
    result: new Promise((resolve) => {
      settle = resolve;
    }),
    claimed: new Promise((resolve) => {
      noteClaim = resolve;
    }),
    settle: (body) => settle(body),
    noteClaim: () => noteClaim(),
  };
}

export function offerOf({ requestId, input }: Entry) {
  const { operation = 'execute_select', detail, database = 'shop', fence = 1 } = input;
  return { id: requestId, created_by: 'dana', operation, environment: 'staging', database, detail, fence };
}

function contentOf(job: Entry) {
  const { operation, environment, database, detail } = offerOf(job);
  return { operation, database, environment, detail, policyRevision: 'r1' };
}

const givenBefore = ({ requestId }: Entry, fence: number) => given.get(`${requestId}:${fence}`);

function claimsOf(job: Entry): TokenClaims {
  const { input } = job;
  const content = contentOf(job);
  const fences = input.unresolvedFences ?? [];
  const attempts = fences.map((one) => ({ fence: one, executionId: givenBefore(job, one)?.executionId ?? attemptId(one) }));
  return {
    ...content,
    requestId: job.requestId,
    executionId: job.executionId,
    fence: offerOf(job).fence,
    unresolvedFences: fences,
    unresolvedExecutions: input.tellsExecutions === false ? undefined : attempts,
    approvalDigest: approvalDigest(content),
    statementTimeoutSecs: input.statementTimeoutSecs ?? 30,
    maxRows: input.maxRows ?? null,
    maxResultBytes: input.maxResultBytes ?? 10_485_760,
    maxAffectedRows: input.maxAffectedRows,
    marker: input.marker ?? (content.operation === 'execute_select' ? 'none' : 'required'),
    requesterRole: 'requester',
    requesterSubjectId: 'dana',
    agentId: AGENT_ID,
    issuedAt: input.issuedAt ?? new Date(),
  };
}

function claimAnswer(job: Entry, key: SigningKey): Record<string, unknown> {
  const claims = claimsOf(job);
  const { operation, environment, database, detail, fence } = claims;
  return {
    execution_id: claims.executionId,
    request_id: claims.requestId,
    execution_token: signExecutionToken(claims, key),
    operation,
    database,
    environment,
    detail,
    statement_timeout_secs: claims.statementTimeoutSecs,
    max_rows: claims.maxRows,
    lease_expires_at: new Date(Date.now() + 60_000).toISOString(),
    lease_secs: 60,
    execution_plan: null,
    execution_plan_json: null,
    fence,
    unresolved_fences: claims.unresolvedFences,
    unresolved_executions: claims.unresolvedExecutions?.map((one) => ({
      fence: one.fence,
      execution_id: one.executionId,
      agent_id: job.input.lostBy ?? AGENT_ID,
      claimed_at: givenBefore(job, one.fence)?.claimedAt.toISOString(),
    })),
    marker: claims.marker,
    approval_digest: claims.approvalDigest,
    policy_revision: claims.policyRevision,
    max_result_bytes: claims.maxResultBytes,
    max_affected_rows: claims.maxAffectedRows,
    server_time: new Date().toISOString(),
  };
}
