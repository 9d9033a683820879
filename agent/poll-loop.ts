import { randomUUID } from 'node:crypto';
import { CLOCK_TOLERANCE_MS } from '../crypto/verify-execution-token.js';
import { readInstant } from '../domain/execution-token.js';
import { stopAfter } from '../lib/deadline.js';
import { sleep } from '../lib/sleep.js';
import type { AgentConfig } from './config-values.js';
import type { Databases } from './databases.js';
import type { ExplainJobs } from './explain-jobs.js';
import { type GatewayClient, refusalText } from './gateway-client.js';
import type { Jobs } from './jobs.js';
import { createFailureLog, type Log } from './log.js';
import { type PollAnswer, pollAnswer } from './protocol.js';
import { createRefusalLog } from './refused-scopes.js';
import type { Timings } from './timings.js';

/** After this many failed polls in a row the agent is no longer ready (AP-82). */
const FAILURES_UNTIL_UNREADY = 6;

export interface PollerDependencies {
  config: AgentConfig;
  version: string;
  client: GatewayClient;
  databases: Databases;
  jobs: Jobs;
  explains: ExplainJobs;
  timings: Timings;
  log: Log;
}

export interface PollRequest {
  limit: number;
  explainLimit: number;
  waitMs: number;
  draining: boolean;
  signal: AbortSignal;
}

export type PollResult =
  | { ok: true; answer: PollAnswer }
  | { ok: false; status: number | null; why: string; retryAfterMs: number | null };

/** Sends polls that describe this process (section 3 of the agent protocol). */
export function createPoller(dependencies: PollerDependencies) {
  const { config, client, databases, jobs, explains, timings, version, log } = dependencies;
  const instanceId = randomUUID();
  const begunAt = performance.now();
  const bodyOf = (request: PollRequest) => {
    const active = jobs.active();
    return {
      agent_id: null,
      instance_id: instanceId,
      agent_version: version,
      capabilities: {
        scopes: databases.all
          .filter((one) => !one.degraded)
          .map(({ database, environment, markerReady }) => ({ database, environment, marker: markerReady })),
        operations: config.operations,
        features: ['fence', 'marker_executions', 'max_affected_rows', ...(config.schemaSync.enabled ? ['schema_sync'] : [])],
      },
      status: {
        in_flight: config.maxConcurrentTasks - jobs.free,
        in_flight_preflight: explains.preflights,
        max_concurrent: config.maxConcurrentTasks,
        draining: request.draining,
        uptime_secs: Math.floor((performance.now() - begunAt) / 1000),
        active_jobs: active,
      },
      limit: Math.min(request.limit, 20),
      explain_limit: Math.min(request.explainLimit, 10),
      wait_ms: request.waitMs,
    };
  };
  const tellRefused = createRefusalLog(log);
  /** Never throws; an aborted poll counts as failed. */
  return async (request: PollRequest): Promise<PollResult> => {
    try {
      const timeoutMs = request.waitMs + timings.pollGraceMs;
      const answer = await client.post('/api/agent/poll', bodyOf(request), { timeoutMs, signal: request.signal });
      if (answer.status !== 200) {
        return { ok: false, status: answer.status, why: refusalText(answer), retryAfterMs: answer.retryAfterMs };
      }
      const parsed = pollAnswer.safeParse(answer.body);
      if (!parsed.success) return { ok: false, status: null, why: 'unreadable answer', retryAfterMs: null };
      tellRefused(parsed.data.refused_scopes);
      return { ok: true, answer: parsed.data };
    } catch (error) {
      return { ok: false, status: null, why: (error as Error).message, retryAfterMs: null };
    }
  };
}

export type Poll = ReturnType<typeof createPoller>;

export interface LoopDependencies extends PollerDependencies {
  poll: Poll;
  /** Whether the first poll allowed jobs. */
  healthy: boolean;
  /** Receives whether the agent may be sent work, for the readiness probe. */
  setHealthy: (healthy: boolean) => void;
  /** Receives the schemas that the gateway asks for. */
  onSchemasAsked: (asked: PollAnswer['schema_sync']) => void;
  /** Called after every poll: the loop is alive. */
  onTurn: () => void;
}

/** Ends waits of the current poll early. */
export interface Wakeable {
  /** Ends the wait of the current poll if it can bring no jobs (AP-07). */
  freedSlot(): void;
  /** Ends the wait of the current poll, because the served databases have changed. */
  scopesChanged(): void;
}

/** The main loop: one poll at a time until `stop` aborts. Claimed jobs run on their own (AP-07, AP-08, AP-80 to AP-83). */
export function createPollLoop(dependencies: LoopDependencies, stop: AbortSignal): Wakeable & { run(): Promise<void> } {
  const { config, jobs, explains, poll, timings, log } = dependencies;
  const failures = createFailureLog(log, timings.summaryMs);
  let current: { cut: AbortController; full: boolean } | null = null;
  let takesJobs = dependencies.healthy;
  let emptyInRow = 0;

  const turn = async (): Promise<number> => {
    const cut = new AbortController();
    const limit = takesJobs ? jobs.free : 0;
    const explainLimit = takesJobs ? explains.free : 0;
    current = { cut, full: limit === 0 || (explainLimit === 0 && config.maxConcurrentExplains > 0) };
    const begunAt = performance.now();
    const ask = () => poll({ limit, explainLimit, waitMs: config.pollWaitMs, draining: false, signal: cut.signal });
    const result = await stopAfter(Number.POSITIVE_INFINITY, () => cut.abort(stop.reason), ask, stop);
    current = null;
    dependencies.onTurn();
    if (stop.aborted || (cut.signal.aborted && !result.ok)) return 0;
    if (!result.ok) {
      failures.failed('poll failed', { why: result.why });
      if (failures.count >= FAILURES_UNTIL_UNREADY) dependencies.setHealthy(false);
      return Math.max(config.pollIntervalMs, result.retryAfterMs ?? 0);
    }
    failures.succeeded();
    dependencies.onSchemasAsked(result.answer.schema_sync);
    takesJobs = mayTakeJobs(result.answer, log);
    dependencies.setHealthy(takesJobs);
    if (!takesJobs) return config.pollIntervalMs;
    const offered = result.answer.jobs.slice(0, limit);
    const explained = startExplains(result.answer, explainLimit, explains);
    const claims = await Promise.all([...offered.map((job) => jobs.start(job, result.answer.agent_id)), ...explained]);
    if (claims.includes('refused')) return config.pollIntervalMs;
    // A draining server answers immediately with nothing; without a pause this would be a busy loop.
    const early =
      claims.length + result.answer.preflight_jobs.length === 0 && performance.now() - begunAt < config.pollWaitMs / 2;
    emptyInRow = early ? emptyInRow + 1 : 0;
    return emptyInRow > 1 || config.pollWaitMs === 0 ? config.pollIntervalMs : 0;
  };
  return {
    freedSlot() {
      if (current?.full && takesJobs) current.cut.abort(new Error('slot freed'));
    },
    scopesChanged() {
      current?.cut.abort(new Error('scopes changed'));
    },
    async run() {
      while (!stop.aborted) {
        const pauseMs = await turn();
        if (pauseMs > 0) await sleep(pauseMs, stop);
      }
    },
  };
}

/**
 * Starts offered jobs in the free slots. Skips statements whose request is offered too: they are about to run, so a plan would
 * tell nothing new.
 */
function startExplains(answer: PollAnswer, limit: number, explains: ExplainJobs): Promise<'claimed' | 'refused'>[] {
  const preflights = answer.preflight_jobs.slice(0, limit);
  for (const job of preflights) explains.startPreflight(job, answer);
  const starting = new Set(answer.jobs.map(({ id }) => id));
  const waiting = answer.dry_run_jobs.filter((job) => !starting.has(job.request_id));
  return waiting.slice(0, limit - preflights.length).map((job) => explains.startDryRun(job, answer.agent_id));
}

/** Whether jobs may be taken: the version is allowed and the clocks agree (AP-83, ET-42). */
export function mayTakeJobs(answer: PollAnswer, log: Log): boolean {
  const serverTime = readInstant(answer.server_time);
  const differenceMs = serverTime === null ? Number.POSITIVE_INFINITY : Date.now() - serverTime;
  if (answer.upgrade_required) log.error('the server demands a newer agent');
  const clockOff = Math.abs(differenceMs) > CLOCK_TOLERANCE_MS;
  if (clockOff) log.error('clock differs from the server', { difference_ms: differenceMs });
  return !answer.upgrade_required && !clockOff;
}
