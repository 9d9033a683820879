import { isDeepStrictEqual } from 'node:util';
import type { Bell } from '../lib/bell.js';
import { within } from '../lib/deadline.js';
import { longestTimerMs, sleep } from '../lib/sleep.js';
import { AgentConfigError } from './config.js';
import type { AgentConfig } from './config-values.js';
import type { Databases } from './databases.js';
import { ConnectFailure } from './drivers/driver.js';
import type { Log } from './log.js';
import type { ReloadRecord } from './reload-record.js';
import { listRestartKeys } from './restart-keys.js';
import type { Target } from './target.js';
import type { Timings } from './timings.js';

export interface ReloadSource {
  file: string;
  /** Rings at each SIGHUP. */
  asked: Bell;
  /** Reads agent.toml; throws an AgentConfigError. */
  read(): AgentConfig;
}

interface Dependencies {
  source: ReloadSource;
  /** What the agent was started with. */
  config: AgentConfig;
  databases: Databases;
  timings: Timings;
  log: Log;
  stop: AbortSignal;
  /** Called when the databases are others than before. */
  onChanged(): void;
  tell(record: ReloadRecord): void;
}

type Outcome = Omit<ReloadRecord, 'pid' | 'startedAt'>;

/**
 * Reads agent.toml again whenever it is asked for, once at a time and at most every `reloadEveryMs`, until `ended` aborts (AP-19). Nothing asked for
 * is lost.
 */
export async function keepReloading(dependencies: Dependencies, ended: AbortSignal): Promise<void> {
  const { source, timings, log, tell } = dependencies;
  while (!ended.aborted) {
    await source.asked.wait(longestTimerMs, ended);
    if (ended.aborted) return;
    const startedAt = Date.now();
    const outcome = await reload(dependencies).catch((error: Error) => {
      log.error('reload failed in the agent', { why: error.name });
      return rejected(['the reload failed; this is a bug of the agent']);
    });
    note(outcome, log);
    if (ended.aborted) return;
    tell({ pid: process.pid, startedAt, ...outcome });
    await sleep(timings.reloadEveryMs, ended);
  }
}

const nothing = { errors: [], warnings: [], added: [], changed: [], removed: [] };
const rejected = (errors: readonly string[], warnings: readonly string[] = []): Outcome => ({
  ...nothing,
  outcome: 'rejected',
  errors: [...errors],
  warnings: [...warnings],
});

function note({ outcome, errors, warnings, added, changed, removed }: Outcome, log: Log): void {
  for (const why of errors) log.error('agent.toml not reloaded', { why });
  for (const warning of warnings) log.warn('agent.toml reloaded', { why: warning });
  const named = (names: readonly string[]) => (names.length === 0 ? undefined : names.join(' '));
  const told = { added: named(added), changed: named(changed), removed: named(removed) };
  if (outcome !== 'rejected') log.info('agent.toml reloaded', outcome === 'applied' ? told : { outcome });
}

/** Takes the databases of the file, all of them or, where a start would fail, none. */
async function reload(dependencies: Dependencies): Promise<Outcome> {
  const { source, config, databases, stop } = dependencies;
  let file: AgentConfig;
  try {
    file = source.read();
  } catch (error) {
    if (error instanceof AgentConfigError) return rejected(error.message.split('\n'));
    throw error;
  }
  const warnings = listRestartKeys(config, file).map((key) => `needs a restart: ${key}`);
  const before = databases.all;
  const next = file.databases.map((one) => before.find((target) => isDeepStrictEqual(target.config, one)) ?? databases.make(one));
  const fresh = next.filter((one) => !before.includes(one));
  const problems = await connect(fresh, next, dependencies);
  const errors = stop.aborted ? ['the agent is stopping'] : problems.errors;
  if (errors.length > 0) {
    databases.release(fresh);
    return rejected(errors, warnings);
  }
  const told = differences(before, next);
  if (told === null) return { ...nothing, outcome: 'unchanged', warnings };
  databases.replace(next);
  dependencies.onChanged();
  return { ...nothing, ...told, outcome: 'applied', warnings: [...warnings, ...problems.warnings] };
}

/** Connects new databases. Errors are what would end a start (AP-05, AP-06); before that is known, nothing is changed anywhere. */
async function connect(
  fresh: readonly Target[],
  next: readonly Target[],
  { source, timings, stop }: Dependencies,
): Promise<{ errors: string[]; warnings: string[] }> {
  const late = new ConnectFailure('connection', 'no answer in time');
  const attempt = (work: Promise<unknown>) =>
    within(
      work.then(
        () => null,
        (error: Error) => error,
      ),
      timings.reloadConnectMs,
      late,
      stop,
    );
  const say = ({ one, error }: { one: Target; error: Error }) => {
    const kind = error instanceof ConnectFailure ? error.kind : 'connection';
    return `${source.file}: databases.${one.database}.${one.environment}: ${kind} failed: ${error.message}`;
  };
  const looked = await Promise.all(fresh.map((one) => attempt(one.driver.connect({ onlyLook: true }))));
  const failed = fresh.flatMap((one, at) => (looked[at] ? [{ one, error: looked[at] }] : []));
  const isReached = (one: Target) => (fresh.includes(one) ? failed.every((other) => other.one !== one) : !one.degraded);
  const refused = failed.filter(({ error }) => error instanceof ConnectFailure && error.kind === 'authentication');
  if (refused.length > 0) return { errors: refused.map(say), warnings: [] };
  if (failed.length > 0 && !next.some(isReached))
    return { errors: [...failed.map(say), `${source.file}: none of its databases can be reached`], warnings: [] };
  await Promise.all(fresh.filter(isReached).map((one) => attempt(one.connect())));
  return { errors: [], warnings: failed.map((one) => `${say(one)}; the agent keeps trying`) };
}

/** Null when nothing is different. */
function differences(before: readonly Target[], next: readonly Target[]): Pick<Outcome, 'added' | 'changed' | 'removed'> | null {
  const [old, now] = [before.map(({ name }) => name), next.map(({ name }) => name)];
  const changed = next.filter((one) => !before.includes(one) && old.includes(one.name));
  const told = {
    added: now.filter((name) => !old.includes(name)),
    changed: changed.map(({ name }) => name),
    removed: old.filter((name) => !now.includes(name)),
  };
  return Object.values(told).every((names) => names.length === 0) ? null : told;
}
