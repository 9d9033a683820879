import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type SigningKey, signingKeyFromSeed } from '../../crypto/ed25519.js';
import { approvalDigest, signExecutionToken, type TokenClaims } from '../../crypto/execution-token.js';
import { signExplainToken } from '../../crypto/explain-token.js';
import type { ExplainKind } from '../../domain/explain-token.js';

export interface JobInput {
  operation?: string;
  detail: string;
  database?: string;
  requestId?: string;
  fence?: number;
  /** Their executions are those of `attemptId`, unless the gateway does not tell them. */
  unresolvedFences?: number[];
  tellsExecutions?: boolean;
  /** A later attempt exists: heartbeats answer 410. */
  gone?: boolean;
  statementTimeoutSecs?: number;
  maxRows?: number | null;
  maxResultBytes?: number;
  /** If absent, the claim has none, as from an older gateway. */
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

interface Entry extends FakeJob {
  input: JobInput;
  offered: boolean;
  settle: (body: Record<string, unknown>) => void;
  noteClaim: () => void;
}

export interface FakeGateway {
  url: string;
  key: SigningKey;
  polls: Record<string, unknown>[];
  keyCalls: number;
  /** What `GET /api/public-key` lists, and extra keys of the poll answers. */
  listedKeys: SigningKey[];
  pollExtra: Record<string, unknown>;
  pollStatus: number;
  /** Bodies of schema syncs, and the statuses of the coming answers to them, then 200. */
  schemaSyncs: Record<string, unknown>[];
  schemaStatuses: number[];
  /** Awaited before a claim is answered. What a test has left in a target gets the approved digest there. */
  onClaim: (claim: { requestId: string; fence: number; approvalDigest: string }) => Promise<unknown>;
  offer(input: JobInput): FakeJob;
  /**
   * Puts EXPLAIN jobs with their tokens into the answer to the next poll. `explainCalls` holds what the agent posts for them; the
   * answers are those of `explainStatuses`, then 200.
   */
  offerExplains(jobs: { dry_run_jobs?: object[]; preflight_jobs?: object[] }): void;
  explainCalls: { path: string; body: Record<string, unknown> }[];
  explainStatuses: number[];
  nextPoll(matches?: (body: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

const AGENT_ID = 'agent-test';

/** Executions by request and fence, whichever gateway of this process gave them. */
const given = new Map<string, string>();

/** The execution of an earlier attempt that no gateway gave. */
export const attemptId = (fence: number) => `00000000-0000-4000-8000-${String(fence).padStart(12, '0')}`;

/** A gateway over real HTTP that offers, claims and collects jobs by the agent protocol. It stores nothing. */
export async function startFakeGateway(): Promise<FakeGateway> {
  const key = signingKeyFromSeed(new Uint8Array(32).fill(3));
  const jobs = new Map<string, Entry>();
  const waiting = new Set<() => void>();
  let explains: { dry_run_jobs?: object[]; preflight_jobs?: object[] } = {};
  const dryRuns = new Map<unknown, object>();
  const pollListeners = new Set<(body: Record<string, unknown>) => void>();
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });

  const gateway: FakeGateway = {
    url: '',
    key,
    polls: [],
    keyCalls: 0,
    listedKeys: [key],
    pollExtra: {},
    pollStatus: 200,
    onClaim: async () => {},
    explainCalls: [],
    explainStatuses: [],
    offerExplains(offered) {
      for (const job of offered.dry_run_jobs ?? []) dryRuns.set((job as { id?: unknown }).id, job);
      const preflights = offered.preflight_jobs?.map((job) => ({ explain_token: explainToken('preflight', job, key), ...job }));
      explains = { ...offered, ...(preflights === undefined ? {} : { preflight_jobs: preflights }) };
      for (const wake of waiting) wake();
    },
    schemaSyncs: [],
    schemaStatuses: [],
    offer(input) {
      const entry = newEntry(input);
      jobs.set(entry.requestId, entry);
      jobs.set(entry.executionId, entry);
      for (const wake of waiting) wake();
      return entry;
    },
    nextPoll: (matches = () => true) =>
      new Promise((resolve) => {
        const listener = (body: Record<string, unknown>) => {
          if (!matches(body)) return;
          pollListeners.delete(listener);
          resolve(body);
        };
        pollListeners.add(listener);
      }),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  const offers = (limit: number) => [...new Set(jobs.values())].filter((job) => job.offered).slice(0, limit);
  const poll = async (request: IncomingMessage, body: Record<string, unknown>) => {
    gateway.polls.push(body);
    for (const listener of [...pollListeners]) listener(body);
    const limit = Number(body.limit);
    if (offers(limit).length === 0 && Object.keys(explains).length === 0 && gateway.pollStatus === 200)
      await waitForOffer(request, Number(body.wait_ms));
    const explaining = explains;
    explains = {};
    return {
      jobs: offers(limit).map(offerOf),
      dry_run_jobs: [],
      preflight_jobs: [],
      ...explaining,
      upgrade_required: false,
      agent_id: AGENT_ID,
      server_time: new Date().toISOString(),
      ...gateway.pollExtra,
    };
  };
  const waitForOffer = (request: IncomingMessage, waitMs: number) =>
    new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        waiting.delete(done);
        request.socket.off('close', done);
        resolve();
      };
      const timer = setTimeout(done, waitMs);
      waiting.add(done);
      request.socket.once('close', done);
    });
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const text = await readText(request);
    const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
    const [, , area, , id, verb] = (request.url ?? '').split('/');
    const answer = (status: number, value: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    if (request.headers.authorization !== 'Bearer svc_test') return answer(401, { error: 'invalid token' });
    if (area === 'public-key') {
      gateway.keyCalls++;
      return answer(200, { keys: gateway.listedKeys.map((one) => ({ key_id: one.keyId, public_key: one.publicKeyHex })) });
    }
    if (request.url === '/api/agent/poll') return answer(gateway.pollStatus, await poll(request, body));
    if (request.url === '/api/agent/schema-sync') {
      gateway.schemaSyncs.push(body);
      return answer(gateway.schemaStatuses.shift() ?? 200, {});
    }
    if (/preflight-result|dry-run/.test(request.url ?? '')) {
      gateway.explainCalls.push({ path: request.url ?? '', body });
      return answer(
        gateway.explainStatuses.shift() ?? 200,
        verb === 'claim' ? { claim_token: 'token', explain_token: explainToken('dry_run', dryRuns.get(id) ?? {}, key) } : {},
      );
    }
    const job = jobs.get(id ?? '');
    if (!job) return answer(404, { code: 'request.not_found' });
    if (verb === 'claim') {
      const { operation, environment, database, detail, fence } = offerOf(job);
      const content = { operation, environment, database, detail, policyRevision: 'r1' };
      await gateway.onClaim({ requestId: job.requestId, fence, approvalDigest: approvalDigest(content) });
      return answer(...claim(job, body));
    }
    if (verb === 'heartbeat') {
      job.heartbeats++;
      return answer(job.heartbeat.status, { cancelled: job.heartbeat.cancelled, lease_expires_at: new Date().toISOString() });
    }
    return answer(...submit(job, body));
  };
  const claim = (job: Entry, body: Record<string, unknown>): [number, unknown] => {
    job.claims.push(body);
    const status = job.claimStatuses.shift() ?? 200;
    if (status === 409) job.offered = false;
    if (status !== 200) return [status, { code: 'request.conflict' }];
    job.offered = false;
    job.noteClaim();
    given.set(`${job.requestId}:${job.input.fence ?? 1}`, job.executionId);
    const answer = claimAnswer(job, key);
    return [200, job.input.forge ? job.input.forge(answer) : answer];
  };

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  gateway.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return gateway;
}

function explainToken(kind: ExplainKind, job: object, key: SigningKey): string {
  const { id = '', database = '', environment = '', sql = '' } = job as Record<string, string>;
  return signExplainToken({ jobId: id, kind, database, environment, sql, agentId: AGENT_ID }, key, new Date());
}

function submit(job: Entry, body: Record<string, unknown>): [number, unknown] {
  job.submissions.push(body);
  const status = job.resultStatuses.shift() ?? 200;
  if (status < 500 && status !== 429) job.settle(body);
  return [status, status === 200 ? { request_id: job.requestId, status: 'executed' } : { code: 'x' }];
}

function newEntry(input: JobInput): Entry {
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

function offerOf({ requestId, input }: Entry) {
  const { operation = 'execute_select', detail, database = 'shop', fence = 1 } = input;
  return { id: requestId, created_by: 'dana', operation, environment: 'staging', database, detail, fence };
}

function claimAnswer(job: Entry, key: SigningKey): Record<string, unknown> {
  const { input } = job;
  const { operation, environment, database, detail, fence } = offerOf(job);
  const content = { operation, environment, database, detail, policyRevision: 'r1' };
  const claims: TokenClaims = {
    ...content,
    requestId: job.requestId,
    executionId: job.executionId,
    fence,
    unresolvedFences: input.unresolvedFences ?? [],
    ...(input.tellsExecutions === false
      ? {}
      : {
          unresolvedExecutions: (input.unresolvedFences ?? []).map((one) => ({
            fence: one,
            executionId: given.get(`${job.requestId}:${one}`) ?? attemptId(one),
          })),
        }),
    approvalDigest: approvalDigest(content),
    statementTimeoutSecs: input.statementTimeoutSecs ?? 30,
    maxRows: input.maxRows ?? null,
    maxResultBytes: input.maxResultBytes ?? 10_485_760,
    maxAffectedRows: input.maxAffectedRows,
    marker: input.marker ?? (operation === 'execute_select' ? 'none' : 'required'),
    requesterRole: 'requester',
    requesterSubjectId: 'dana',
    agentId: AGENT_ID,
    issuedAt: input.issuedAt ?? new Date(),
  };
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
    unresolved_executions: claims.unresolvedExecutions?.map((one) => ({ fence: one.fence, execution_id: one.executionId })),
    marker: claims.marker,
    approval_digest: claims.approvalDigest,
    policy_revision: claims.policyRevision,
    max_result_bytes: claims.maxResultBytes,
    max_affected_rows: claims.maxAffectedRows,
    server_time: new Date().toISOString(),
  };
}

async function readText(request: IncomingMessage): Promise<string> {
  request.setEncoding('utf8');
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}
