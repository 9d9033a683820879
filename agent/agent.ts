import { within } from '../lib/deadline.js';
import { createReleases, type Releases } from '../lib/releases.js';
import { sleep } from '../lib/sleep.js';
import { createSqlJudge } from '../sql/judge.js';
import type { AgentConfig } from './config-values.js';
import { createDatabases, type Target } from './databases.js';
import { createExplainJobs, type ExplainJobs } from './explain-jobs.js';
import { createGatewayClient, type GatewayClient } from './gateway-client.js';
import { createJobs, type Jobs } from './jobs.js';
import { createKeyRing } from './key-ring.js';
import { createFailureLog, type Log } from './log.js';
import { createPoller, createPollLoop, mayTakeJobs, type Poll, type Wakeable } from './poll-loop.js';
import { createProbes, type Probes } from './probes.js';
import type { PollAnswer } from './protocol.js';
import { createSchemaSync } from './snapshot-sync.js';
import { connectAtStart, createStartup, fetchKeysAtStart, StartupError, StoppedEarly, type Tried } from './startup.js';
import type { Timings } from './timings.js';

export interface AgentOptions {
  config: AgentConfig;
  version: string;
  timings: Timings;
  log: Log;
  /** First signal: drain (AP-17). */
  stop: AbortSignal;
  /** Second signal: end now (AP-18). */
  stopNow: AbortSignal;
}

/** Starts, works until `stop` and drains; resolves with the exit code of section 1. */
export async function runAgent(options: AgentOptions): Promise<number> {
  const releases = createReleases((error) => options.log.error('not closed cleanly', { why: String(error) }));
  const ended = new AbortController();
  try {
    const parts = await open(options, releases);
    return await work(options, parts, ended.signal);
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
  const beat = setInterval(() => quietly(() => probes.alive()), timings.liveMs / 2);
  releases.add(() => clearInterval(beat));
  await probes.listen().catch((error: NodeJS.ErrnoException) => {
    throw new StartupError(`probes.listen: cannot listen there (${error.code ?? 'error'})`);
  });
  const client = createClient(options);
  releases.add(() => client.close());
  // Every running job may hold a long text.
  const judge = await createSqlJudge(config.maxConcurrentTasks + config.maxConcurrentExplains);
  releases.add(() => judge.close());
  const databases = createDatabases(options);
  releases.add(() => databases.close());
  return { probes, client, judge, databases, quietly };
}

/** Runs the startup steps of section 3, the main loop and the drain. */
async function work(options: AgentOptions, parts: Awaited<ReturnType<typeof open>>, ended: AbortSignal): Promise<number> {
  const { config, log, stop } = options;
  const { probes, client, databases, quietly } = parts;
  const startup = createStartup(options);
  const known = await fetchKeysAtStart(startup, client, options);
  const keys = createKeyRing(known, { ...options, client, trustedKeys: config.server.trustedKeys, signal: ended });
  await connectAtStart(startup, databases, options);

  const abandoned = new AbortController();
  const wake: { loop: Wakeable | null } = { loop: null };
  const onFreedSlot = () => wake.loop?.freedSlot();
  const schemas = createSchemaSync({ ...options, ...parts }, stop);
  const onSchemaChanged = (target: Target) => schemas.request(target);
  const jobs = createJobs({ ...options, ...parts, keys, abandoned: abandoned.signal, onFreedSlot, onSchemaChanged });
  const explains = createExplainJobs({ ...options, ...parts, keys, abandoned: abandoned.signal, onFreedSlot });
  const poll = createPoller({ ...options, ...parts, jobs, explains });
  const first = await startup.step('first poll', () => firstPoll(poll, stop));

  let healthy = mayTakeJobs(first, log);
  const updateReady = () =>
    quietly(() => probes.setReady(healthy && !stop.aborted && databases.all.some((one) => !one.degraded)));
  const setHealthy = (now: boolean) => {
    healthy = now;
    updateReady();
  };
  const onSchemasAsked = (asked: PollAnswer['schema_sync']) => {
    for (const { database, environment } of asked) schemas.answer(databases.find(database, environment));
  };
  const told = { setHealthy, onSchemasAsked, onTurn: updateReady };
  const loop = createPollLoop({ ...options, ...parts, jobs, explains, poll, healthy, ...told }, stop);
  wake.loop = loop;
  databases.watch(ended, () => {
    updateReady();
    loop.scopesChanged();
    schemas.catchUp();
  });
  void keys.keepFresh();
  updateReady();
  log.info('agent is ready', { agent: config.agentId, databases: databases.all.length });
  schemas.catchUp();
  onSchemasAsked(first.schema_sync);
  schemas.begin();
  await loop.run();
  quietly(() => probes.setReady(false));
  const code = await drain(options, { jobs, explains }, poll, abandoned);
  await schemas.idle();
  return code;
}

export function createClient({ config, version, timings }: Pick<AgentOptions, 'config' | 'version' | 'timings'>): GatewayClient {
  const { url, agentToken: token, ca } = config.server;
  return createGatewayClient({ url, token, ca, userAgent: `svc-agent/${version}`, connectTimeoutMs: timings.httpConnectMs });
}

/**
 * Runs a write to a probe file and only logs a failure, such as a missing folder or a full disk. The supervisor notices it too,
 * and jobs must not end because of it.
 */
function createQuiet({ log, timings }: Pick<AgentOptions, 'log' | 'timings'>): (write: () => void) => void {
  const failures = createFailureLog(log, timings.summaryMs);
  return (write) => {
    try {
      write();
      failures.succeeded();
    } catch (error) {
      failures.failed('probe file not written', { why: (error as NodeJS.ErrnoException).code });
    }
  };
}

function markAlive(probes: Probes, directory: string): void {
  try {
    probes.alive();
    // A killed process leaves its file behind.
    probes.setReady(false);
  } catch {
    throw new StartupError(`the liveness file cannot be written in ${directory} (probes.dir)`);
  }
}

async function firstPoll(poll: Poll, signal: AbortSignal): Promise<Tried<PollAnswer>> {
  const result = await poll({ limit: 0, explainLimit: 0, waitMs: 0, draining: false, signal });
  if (result.ok) return { ok: true, value: result.answer };
  const hard = result.status !== null && result.status >= 400 && result.status < 500 && result.status !== 429;
  return { ok: false, hard, why: result.why, retryAfterMs: result.retryAfterMs };
}

/** Tells the server, lets running jobs finish, and cancels them when that takes too long (AP-17, AP-18). */
async function drain(
  options: AgentOptions,
  { jobs, explains }: { jobs: Jobs; explains: ExplainJobs },
  poll: Poll,
  abandoned: AbortController,
): Promise<number> {
  const { config, timings, log, stopNow } = options;
  log.info('agent is stopping', { jobs: config.maxConcurrentTasks - jobs.free });
  const lastWord = () =>
    poll({
      limit: 0,
      explainLimit: 0,
      waitMs: 0,
      draining: true,
      signal: AbortSignal.any([stopNow, AbortSignal.timeout(timings.stopGraceMs)]),
    });
  const told = lastWord();
  const drained = await within(
    Promise.all([jobs.idle(), explains.idle()]).then(() => true),
    config.drainTimeoutMs,
    false,
    stopNow,
  );
  await told;
  if (drained) {
    await lastWord();
    return 0;
  }
  log.error('running jobs are cancelled', { jobs: config.maxConcurrentTasks - jobs.free });
  jobs.cancelAll();
  await within(jobs.idle(), timings.stopGraceMs, undefined);
  abandoned.abort(new Error('agent stopped'));
  await sleep(0);
  return 1;
}
