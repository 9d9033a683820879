import { createReleases, type Releases } from '../lib/releases.js';
import { createSqlClassifier } from '../sql/classify.js';
import type { AgentConfig } from './config-values.js';
import { createDatabases } from './databases.js';
import { drain } from './drain.js';
import { createExplainJobs } from './explain-jobs.js';
import { createGatewayClient, type GatewayClient } from './gateway-client.js';
import { createJobs } from './jobs.js';
import { createKeyRing, type KeyRing } from './key-ring.js';
import type { Log } from './log.js';
import { createPoller, type Poll } from './poll.js';
import { mayTakeJobs, PollLoop } from './poll-loop.js';
import { createProbes, createQuiet } from './probes.js';
import type { PollAnswer } from './protocol.js';
import { keepReloading, type ReloadSource } from './reload.js';
import { type ReloadRecord, removeReloadFiles, writePid, writeReloadRecord } from './reload-record.js';
import { createSnapshotSync } from './snapshot-sync.js';
import { connectAtStart, createStartup, fetchKeysAtStart, markAlive, StartupError, StoppedEarly, type Tried } from './startup.js';
import type { Timings } from './timings.js';
import { openAgentTracing } from './tracing.js';

export interface AgentOptions {
  config: AgentConfig;
  version: string;
  timings: Timings;
  log: Log;
  /** First signal: drain (AP-17). */
  stop: AbortSignal;
  /** Second signal: end now (AP-18). */
  stopNow: AbortSignal;
  /** Where a reload comes from; without it there is none. */
  reloads?: ReloadSource;
}

/** Starts, works until `stop` and drains; resolves with the exit code (agent-process.md section 1). */
export async function runAgent(options: AgentOptions): Promise<number> {
  const releases = createReleases((error) => options.log.error('not closed cleanly', { why: String(error) }));
  const ended = new AbortController();
  try {
    const parts = await open(options, releases);
    return await work({ ...options, ...parts }, ended.signal);
  } catch (error) {
    if (error instanceof StoppedEarly) return 0;
    if (!(error instanceof StartupError)) throw error;
    options.log.error(error.message);
    return 1;
  } finally {
    ended.abort();
    await releases.all();
  }
}

/** Opens the agent's resources; they are released in reverse order. */
async function open(options: AgentOptions, releases: Releases) {
  const { config, timings } = options;
  const probes = createProbes({ ...config.probes, aliveForMs: timings.liveMs * 3 });
  releases.add(() => probes.close());
  markAlive(probes, config.probes.dir);
  const quietly = createQuiet(options);
  releases.add(() => quietly(() => removeReloadFiles(config.probes.dir)));
  if (options.reloads) quietly(() => writePid(config.probes.dir));
  const beat = setInterval(() => quietly(() => probes.alive()), timings.liveMs / 2);
  releases.add(() => clearInterval(beat));
  await probes.listen().catch((error: NodeJS.ErrnoException) => {
    throw new StartupError(`probes.listen: cannot listen there (${error.code ?? 'error'})`);
  });
  const tracing = await openAgentTracing(options);
  releases.add(() => tracing.close());
  const client = createClient(options);
  releases.add(() => client.close());
  // Every running job may hold a long text.
  const room = config.maxConcurrentTasks + config.maxConcurrentExplains;
  const classifier = await createSqlClassifier({ total: room, perCaller: room });
  releases.add(() => classifier.close());
  const databases = createDatabases(options);
  releases.add(() => databases.close());
  return { probes, tracing, client, classifier, databases, quietly };
}

type Parts = AgentOptions & Awaited<ReturnType<typeof open>>;

/** Runs the startup steps of agent-process.md section 3, the main loop and the drain. */
async function work(parts: Parts, ended: AbortSignal): Promise<number> {
  const { config, log, stop, client, databases } = parts;
  const startup = createStartup(parts);
  const known = await fetchKeysAtStart(startup, client, parts);
  const keys = createKeyRing(known, { ...parts, trustedKeys: config.server.trustedKeys, signal: ended });
  await connectAtStart(startup, databases, parts);
  const workers = createWorkers(parts, keys);
  const { snapshots } = workers;
  const first = await startup.step('first poll', () => firstPoll(workers.poll, stop));

  const { loop, updateReady } = createLoop(parts, workers, first);
  const scopesChanged = () => {
    updateReady();
    loop.scopesChanged();
    snapshots.catchUp();
  };
  databases.watch(scopesChanged);
  void keys.keepFresh();
  updateReady();
  log.info('agent is ready', { agent: config.agentId, databases: databases.all.length });
  snapshots.catchUp();
  workers.syncAsked(first.schema_sync);
  snapshots.begin();
  void serveReloads(parts, scopesChanged, ended);
  await loop.run();
  updateReady();
  const code = await drain(parts, { ...workers, claimsUntil: loop.claimsUntil, claimsSince: loop.claimsSince });
  await snapshots.idle();
  return code;
}

/** Also while the agent drains: whoever asks is told. */
async function serveReloads(parts: Parts, onChanged: () => void, ended: AbortSignal): Promise<void> {
  const { reloads: source, config, quietly } = parts;
  if (!source) return;
  const tell = (record: ReloadRecord) => quietly(() => writeReloadRecord(config.probes.dir, record));
  await keepReloading({ ...parts, source, onChanged, tell }, ended);
}

/** What works on jobs and snapshots. Jobs call `freed.slot` at their end; the loop sets it, which needs the jobs first. */
function createWorkers(parts: Parts, keys: KeyRing) {
  const { databases, stop } = parts;
  const abandoned = new AbortController();
  const freed = { slot: () => {} };
  const common = { ...parts, keys, abandoned: abandoned.signal, onFreedSlot: () => freed.slot() };
  const snapshots = createSnapshotSync(parts, stop);
  const jobs = createJobs({ ...common, onSchemaChanged: (target) => snapshots.request(target) });
  const explains = createExplainJobs(common);
  const syncAsked = (asked: PollAnswer['schema_sync']) => {
    for (const { database, environment } of asked) snapshots.answer(databases.find(database, environment));
  };
  return { jobs, explains, snapshots, syncAsked, poll: createPoller({ ...parts, jobs, explains }), freed, abandoned };
}

type Workers = ReturnType<typeof createWorkers>;

/** The main loop, and what the readiness probe says meanwhile: work may be sent, and a database can be reached. */
function createLoop(parts: Parts, workers: Workers, first: PollAnswer): { loop: PollLoop; updateReady: () => void } {
  const { probes, databases, quietly, stop, log } = parts;
  let healthy = mayTakeJobs(first, log);
  const updateReady = () =>
    quietly(() => probes.setReady(healthy && !stop.aborted && databases.all.some((one) => !one.degraded)));
  const setHealthy = (now: boolean) => {
    healthy = now;
    updateReady();
  };
  const told = { setHealthy, onSnapshotsAsked: workers.syncAsked, onTurn: updateReady };
  const loop = new PollLoop({ ...parts, ...workers, ...told, healthy }, stop);
  workers.freed.slot = () => loop.freedSlot();
  return { loop, updateReady };
}

export function createClient({ config, version, timings }: Pick<AgentOptions, 'config' | 'version' | 'timings'>): GatewayClient {
  const { url, agentToken: token, ca } = config.server;
  return createGatewayClient({ url, token, ca, userAgent: `svc-agent/${version}`, connectTimeoutMs: timings.httpConnectMs });
}

async function firstPoll(poll: Poll, signal: AbortSignal): Promise<Tried<PollAnswer>> {
  const result = await poll({ limit: 0, explainLimit: 0, waitMs: 0, claim: false, draining: false, signal });
  if (result.ok) return { ok: true, value: result.answer };
  return { ok: false, hard: result.refused, why: result.why, retryAfterMs: result.retryAfterMs };
}
