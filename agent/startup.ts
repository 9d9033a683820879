import { within } from '../lib/deadline.js';
import { sleep } from '../lib/sleep.js';
import type { AgentConfig } from './config-values.js';
import type { Databases } from './databases.js';
import { ConnectFailure } from './drivers/driver.js';
import type { GatewayClient } from './gateway-client.js';
import { fetchKeys } from './key-ring.js';
import { createFailureLog, type Log } from './log.js';
import type { Probes } from './probes.js';
import type { Target } from './target.js';
import type { Timings } from './timings.js';
import { createOtherKeysLog, type KeysById } from './trusted-keys.js';

/** The agent cannot start; the message says why. */
export class StartupError extends Error {}

/** Startup took longer than `startup_max_wait_secs`. */
class StartupTimeout extends StartupError {
  constructor() {
    super('startup timeout exceeded');
  }
}

/** A stop signal came before the agent was ready. */
export class StoppedEarly extends Error {}

interface Dependencies {
  config: AgentConfig;
  timings: Timings;
  log: Log;
  stop: AbortSignal;
}

/** `retryAfterMs`: how long the server asked to wait (AG-10). */
export type Tried<T> = { ok: true; value: T } | { ok: false; hard: boolean; why: string; retryAfterMs?: number | null };

export interface Startup {
  /**
   * Repeats an attempt until it works; throws when it fails hard, at the startup deadline, or at a stop signal (AP-04 to AP-06).
   */
  step<T>(name: string, attempt: () => Promise<Tried<T>>): Promise<T>;
}

/** A timer counts whole milliseconds and may fire this much early: the wait until the deadline must be the last one. */
const earlyMs = 2;

export function createStartup({ config, timings, log, stop }: Dependencies): Startup {
  const until = performance.now() + config.startup.maxWaitMs;
  return {
    async step(name, attempt) {
      const failures = createFailureLog(log, timings.summaryMs);
      for (let waitMs = config.startup.retryInitialMs; ; waitMs = Math.min(waitMs * 2, config.startup.retryMaxMs)) {
        if (stop.aborted) throw new StoppedEarly();
        const result = await attempt();
        if (result.ok) return result.value;
        if (result.hard) throw new StartupError(`${name}: ${result.why}`);
        failures.failed(`start: ${name} failed`, { why: result.why });
        const leftMs = until - performance.now();
        if (leftMs < earlyMs) throw new StartupTimeout();
        await sleep(Math.min(Math.max(waitMs, result.retryAfterMs ?? 0), leftMs), stop);
      }
    },
  };
}

/** The first step: without this file the supervisor would take the agent for dead. */
export function markAlive(probes: Probes, directory: string): void {
  try {
    probes.alive();
    // A killed process leaves its file behind.
    probes.setReady(false);
  } catch {
    throw new StartupError(`the liveness file cannot be written in ${directory} (probes.dir)`);
  }
}

/** `--check` says this too. */
export const noneTrusted = (others: readonly string[]) =>
  `server.trusted_keys names none of the keys that the gateway lists (${others.join(', ')}); svc server keys list shows the right ones`;

export function fetchKeysAtStart(startup: Startup, client: GatewayClient, { config, timings, log, stop }: Dependencies) {
  const { trustedKeys } = config.server;
  return startup.step('public keys', async (): Promise<Tried<KeysById>> => {
    const fetched = await fetchKeys(client, { timings, trustedKeys }, stop);
    if (!fetched.ok) return fetched;
    if (fetched.keys.size === 0) return { ok: false, hard: true, why: noneTrusted(fetched.others) };
    createOtherKeysLog(log)(fetched.others);
    return { ok: true, value: fetched.keys };
  });
}

/** Connects all databases in parallel; those not reached by the deadline stay degraded (AP-06). */
export async function connectAtStart(startup: Startup, databases: Databases, { config, stop }: Dependencies): Promise<void> {
  const connecting = databases.all.map((one) => startup.step(`database ${one.name}`, () => connectOnce(one)));
  const hard = new Promise<never>((_, reject) => {
    for (const one of connecting) {
      one.catch((error) => {
        if (!(error instanceof StartupTimeout)) reject(error);
      });
    }
  });
  hard.catch(() => {});
  const waitMs = Number.isFinite(config.startup.maxWaitMs) ? config.startup.maxWaitMs + 60_000 : 2_147_483_647;
  await Promise.race([hard, within(Promise.allSettled(connecting), waitMs, null, stop)]);
  if (stop.aborted) throw new StoppedEarly();
  if (databases.all.every((one) => one.degraded)) throw new StartupTimeout();
}

async function connectOnce(target: Target): Promise<Tried<null>> {
  try {
    await target.connect();
    return { ok: true, value: null };
  } catch (error) {
    const hard = error instanceof ConnectFailure && error.kind === 'authentication';
    return { ok: false, hard, why: `${hard ? 'authentication' : 'connection'} failed: ${(error as Error).message}` };
  }
}
