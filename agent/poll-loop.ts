import { CLOCK_TOLERANCE_MS } from '../crypto/verify-execution-token.js';
import { readInstant } from '../domain/execution-token.js';
import { stopAfter } from '../lib/deadline.js';
import { sleep } from '../lib/sleep.js';
import { claimsOf } from './claim.js';
import type { ExplainJobs } from './explain-jobs.js';
import { type Moment, moment } from './lease.js';
import { createFailureLog, type Log } from './log.js';
import type { Poll, PollerDependencies, PollResult } from './poll.js';
import type { PollAnswer } from './protocol.js';

/** After this many failed polls in a row the agent is no longer ready (AP-82). */
const FAILURES_UNTIL_UNREADY = 6;

/** A short statement ends within this time, and its result would wait in the gateway behind the next poll. Nor does a busy agent then poll for each job. */
const AFTER_CLAIM_MS = 4;

export interface LoopDependencies
  extends Pick<PollerDependencies, 'config' | 'databases' | 'jobs' | 'explains' | 'timings' | 'log'> {
  poll: Poll;
  /** Whether the first poll allowed jobs. */
  healthy: boolean;
  /** Receives whether the agent may be sent work, for the readiness probe. */
  setHealthy: (healthy: boolean) => void;
  /** Receives the databases whose snapshot the gateway asks for. */
  onSnapshotsAsked: (asked: PollAnswer['schema_sync']) => void;
  /** Called after every poll: the loop is alive. */
  onTurn: () => void;
}

/** The slots that a poll offers to fill. */
interface Offer {
  jobs: number;
  explains: number;
}

/** The main loop: one poll at a time until `stop` aborts. Claimed jobs run on their own (AP-07, AP-08, AP-80 to AP-83). */
export class PollLoop {
  readonly #parts: LoopDependencies;
  readonly #stop: AbortSignal;
  readonly #failures: ReturnType<typeof createFailureLog>;
  /** The poll under way; it can bring no jobs when it is `full`. */
  #current: { cut: AbortController; full: boolean } | null = null;
  #takesJobs: boolean;
  #emptyInRow = 0;
  /** Until when a poll whose answer never came may still claim; null when there is none. */
  #claimsUntil: number | null = null;
  /** Before the first poll whose claims the next answer may bring (AG-81); null when every such poll was answered. */
  #claimsSince: Moment | null = null;

  constructor(parts: LoopDependencies, stop: AbortSignal) {
    this.#parts = parts;
    this.#stop = stop;
    this.#failures = createFailureLog(parts.log, parts.timings.summaryMs);
    this.#takesJobs = parts.healthy;
  }

  async run(): Promise<void> {
    while (!this.#stop.aborted) {
      const pauseMs = await this.#turn();
      if (pauseMs > 0) await sleep(pauseMs, this.#stop);
    }
  }

  /** Ends the wait of the current poll if it can bring no jobs (AP-07). */
  freedSlot(): void {
    if (this.#current?.full && this.#takesJobs) this.#current.cut.abort(new Error('slot freed'));
  }

  /** Ends the wait of the current poll, because the served databases have changed. */
  scopesChanged(): void {
    this.#current?.cut.abort(new Error('scopes changed'));
  }

  get claimsUntil(): number | null {
    return this.#claimsUntil;
  }

  /** Before anything was claimed that the next poll may bring. */
  get claimsSince(): Moment {
    return this.#claimsSince ?? moment();
  }

  /** Polls once and starts what it brings; resolves with the pause until the next poll. */
  async #turn(): Promise<number> {
    const { config, databases, jobs, log, onTurn, onSnapshotsAsked, setHealthy } = this.#parts;
    const { leaving } = databases;
    const offer = this.#offer();
    const begunAt = performance.now();
    const result = await this.#poll(offer);
    onTurn();
    if (result === 'cut short') return 0;
    if (!result.ok) return this.#failed(result);
    this.#failures.succeeded();
    const { answer } = result;
    onSnapshotsAsked(answer.schema_sync);
    jobs.cancel(answer.cancelled);
    // Even with a clock that is off: each ends with an outcome, or the gateway would count it as lost.
    const runs = claimsOf(answer, result.claimsSince).map((claimed) => jobs.run(claimed, answer.agent_id));
    if (leaving.length > 0 && this.#claimsUntil === null) databases.release(leaving);
    this.#takesJobs = mayTakeJobs(answer, log);
    setHealthy(this.#takesJobs);
    if (!this.#takesJobs) return config.pollIntervalMs;
    const claims = [...runs, ...(await this.#start(answer, offer))];
    if (claims.includes('refused')) return config.pollIntervalMs;
    // A draining server answers immediately with nothing; without a pause this would be a busy loop.
    const brought = claims.length + answer.preflight_jobs.length + answer.cancelled.length;
    const early = brought === 0 && performance.now() - begunAt < config.pollWaitMs / 2;
    this.#emptyInRow = early ? this.#emptyInRow + 1 : 0;
    if (this.#emptyInRow > 1 || config.pollWaitMs === 0) return config.pollIntervalMs;
    return answer.claims.length > 0 ? AFTER_CLAIM_MS : 0;
  }

  #offer(): Offer {
    const { databases, explains, jobs } = this.#parts;
    // While databases are leaving, polls ask for nothing new and only fetch what earlier polls claimed (AP-19).
    if (!this.#takesJobs || databases.leaving.length > 0) return { jobs: 0, explains: 0 };
    // A claim that came late may have taken one slot too many.
    return { jobs: Math.max(0, jobs.free), explains: explains.free };
  }

  async #poll({ jobs: limit, explains: explainLimit }: Offer): Promise<(PollResult & { claimsSince: Moment }) | 'cut short'> {
    const { config, databases, poll, timings } = this.#parts;
    const stop = this.#stop;
    const cut = new AbortController();
    const full = limit === 0 || (explainLimit === 0 && config.maxConcurrentExplains > 0);
    this.#current = { cut, full };
    const begunAt = performance.now();
    // A claim whose answer was lost is asked for at once: its lease runs (AG-81).
    const idleMs = databases.leaving.length > 0 ? 0 : config.pollWaitMs;
    const lostMs = this.#claimsUntil === null ? idleMs : Math.max(0, Math.ceil(this.#claimsUntil - begunAt));
    const waitMs = Math.min(config.pollWaitMs, lostMs);
    // A full poll may be cut short, and its claims would then arrive late, so it must not claim. The exception is limit 0: such a poll claims nothing
    // new and only returns lost claims.
    const claim = limit === 0 || !full;
    const { claimsSince } = this;
    if (claim) this.#claimsSince = claimsSince;
    const ask = () => poll({ limit, explainLimit, waitMs, claim, draining: false, signal: cut.signal });
    const result = await stopAfter(Number.POSITIVE_INFINITY, () => cut.abort(stop.reason), ask, stop);
    this.#current = null;
    if (result.ok && begunAt >= (this.#claimsUntil ?? 0)) this.#claimsUntil = null;
    if (!result.ok && result.status === null && claim && limit > 0) this.#claimsUntil = begunAt + timings.pollClaimsMs;
    if (stop.aborted || (cut.signal.aborted && !result.ok)) return 'cut short';
    if (result.ok && claim) this.#claimsSince = null;
    return { ...result, claimsSince };
  }

  #failed({ why, retryAfterMs }: Extract<PollResult, { ok: false }>): number {
    const { config, setHealthy } = this.#parts;
    this.#failures.failed('poll failed', { why });
    if (this.#failures.count >= FAILURES_UNTIL_UNREADY) setHealthy(false);
    return Math.max(config.pollIntervalMs, retryAfterMs ?? 0);
  }

  #start(answer: PollAnswer, offer: Offer): Promise<('claimed' | 'refused')[]> {
    const { jobs, explains } = this.#parts;
    const offered = answer.jobs.slice(0, Math.max(0, offer.jobs - answer.claims.length));
    const explained = startExplains(answer, offer.explains, explains);
    return Promise.all([...offered.map((job) => jobs.start(job, answer.agent_id)), ...explained]);
  }
}

/**
 * Starts offered jobs in the free slots. Skips statements whose request is offered too: they are about to run, so a plan would
 * tell nothing new.
 */
function startExplains(answer: PollAnswer, limit: number, explains: ExplainJobs): Promise<'claimed' | 'refused'>[] {
  const preflights = answer.preflight_jobs.slice(0, limit);
  for (const job of preflights) explains.startPreflight(job, answer);
  const starting = new Set([...answer.jobs.map(({ id }) => id), ...answer.claims.map(({ request_id: id }) => id)]);
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
