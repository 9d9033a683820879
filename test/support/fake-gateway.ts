import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type SigningKey, signingKeyFromSeed } from '../../crypto/ed25519.js';
import { signExplainToken } from '../../crypto/explain-token.js';
import type { ExplainKind } from '../../domain/explain-token.js';
import { AGENT_ID, claim, type Entry, type FakeJob, heartbeat, type JobInput, newEntry, offerOf, submit } from './fake-job.js';

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
  /** The statuses with which a proxy answers the coming calls for EXPLAIN jobs and schema syncs, before the gateway has seen them. */
  proxyStatuses: number[];
  nextPoll(matches?: (body: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

/** A gateway over real HTTP that offers, claims and collects jobs by the agent protocol. It stores nothing. */
export async function startFakeGateway(): Promise<FakeGateway> {
  const key = signingKeyFromSeed(new Uint8Array(32).fill(3));
  const held: Held = { jobs: new Map(), explains: {}, dryRuns: new Map(), waiting: new Set(), pollListeners: new Set() };
  const { jobs, dryRuns, waiting, pollListeners } = held;
  const server = createServer((request, response) => {
    handle(gateway, held, request, response).catch(() => response.destroy());
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
    proxyStatuses: [],
    offerExplains(offered) {
      for (const job of offered.dry_run_jobs ?? []) dryRuns.set((job as { id?: unknown }).id, job);
      const preflights = offered.preflight_jobs?.map((job) => ({ explain_token: explainToken('preflight', job, key), ...job }));
      held.explains = { ...offered, ...(preflights === undefined ? {} : { preflight_jobs: preflights }) };
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
    nextPoll: (matches = () => true) => nextPoll(pollListeners, matches),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  gateway.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return gateway;
}

type PollListener = (body: Record<string, unknown>) => void;

/** What polls and tests wait for. */
interface Held {
  /** By the id of the request and of the execution. */
  jobs: Map<string, Entry>;
  /** For the next poll. */
  explains: { dry_run_jobs?: object[]; preflight_jobs?: object[] };
  dryRuns: Map<unknown, object>;
  /** Wakes polls. */
  waiting: Set<() => void>;
  pollListeners: Set<PollListener>;
}

function nextPoll(
  listeners: Set<PollListener>,
  matches: (body: Record<string, unknown>) => boolean,
): Promise<Record<string, unknown>> {
  return new Promise((resolve) => {
    const listener: PollListener = (body) => {
      if (!matches(body)) return;
      listeners.delete(listener);
      resolve(body);
    };
    listeners.add(listener);
  });
}

async function handle(gateway: FakeGateway, held: Held, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const text = await readText(request);
  const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  const answer = (status: number, value: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  };
  const { url = '' } = request;
  if (request.headers.authorization !== 'Bearer svc_test')
    return answer(401, { error: 'invalid token', code: 'auth.invalid_token' });
  if (/^\/api\/public-key(\?|$)/.test(url)) {
    gateway.keyCalls++;
    return answer(200, { keys: gateway.listedKeys.map((one) => ({ key_id: one.keyId, public_key: one.publicKeyHex })) });
  }
  if (url === '/api/agent/poll') return answer(gateway.pollStatus, await poll(gateway, held, request, body));
  if (url === '/api/agent/schema-sync') {
    gateway.schemaSyncs.push(body);
    const proxied = gateway.proxyStatuses.shift();
    if (proxied !== undefined) return answer(proxied, {});
    const status = gateway.schemaStatuses.shift() ?? 200;
    return answer(status, status < 400 ? {} : { code: 'x' });
  }
  return answer(...(await answerJob(gateway, held, url, body)));
}

async function answerJob(
  gateway: FakeGateway,
  { jobs, dryRuns }: Held,
  url: string,
  body: Record<string, unknown>,
): Promise<[number, unknown]> {
  const [, , , , id = '', verb] = url.split('/');
  if (/preflight-result|dry-run/.test(url)) {
    gateway.explainCalls.push({ path: url, body });
    const proxied = gateway.proxyStatuses.shift();
    if (proxied !== undefined) return [proxied, {}];
    const token = () => explainToken('dry_run', dryRuns.get(id) ?? {}, gateway.key);
    const claimed = verb === 'claim' ? { claim_token: 'token', explain_token: token() } : {};
    const status = gateway.explainStatuses.shift() ?? 200;
    return [status, status < 400 ? claimed : { code: 'x' }];
  }
  const job = jobs.get(id);
  if (!job) return [404, { code: 'request.not_found' }];
  if (verb === 'claim') return claim(job, body, gateway.key, gateway.onClaim);
  return verb === 'heartbeat' ? heartbeat(job) : submit(job, body);
}

async function poll(gateway: FakeGateway, held: Held, request: IncomingMessage, body: Record<string, unknown>) {
  gateway.polls.push(body);
  for (const listener of [...held.pollListeners]) listener(body);
  const limit = Number(body.limit);
  const offers = () => [...new Set(held.jobs.values())].filter((job) => job.offered).slice(0, limit);
  // As the gateway does, it gives no EXPLAIN job to who asks for none, nor to a poll that its agent has given up.
  const takesExplains = () => body.explain_limit !== 0 && !request.socket.destroyed;
  const explains = () => (takesExplains() ? held.explains : {});
  if (offers().length === 0 && Object.keys(explains()).length === 0 && gateway.pollStatus === 200)
    await waitForOffer(held.waiting, request, Number(body.wait_ms));
  const explaining = explains();
  if (takesExplains()) held.explains = {};
  return {
    jobs: offers().map(offerOf),
    dry_run_jobs: [],
    preflight_jobs: [],
    ...explaining,
    upgrade_required: false,
    agent_id: AGENT_ID,
    server_time: new Date().toISOString(),
    ...gateway.pollExtra,
  };
}

function waitForOffer(waiting: Set<() => void>, request: IncomingMessage, waitMs: number): Promise<void> {
  return new Promise((resolve) => {
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
}

function explainToken(kind: ExplainKind, job: object, key: SigningKey): string {
  const { id = '', database = '', environment = '', sql = '' } = job as Record<string, string>;
  return signExplainToken({ jobId: id, kind, database, environment, sql, agentId: AGENT_ID }, key, new Date());
}

async function readText(request: IncomingMessage): Promise<string> {
  request.setEncoding('utf8');
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}
