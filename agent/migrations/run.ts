import {
  genuineMarkers,
  refuseUnprovenAbsence,
  superseded,
  takeRequestLock,
  takeWithin,
  withoutMarkers,
} from '../drivers/attempt.js';
import type { Run } from '../drivers/driver.js';
import type { Report } from '../drivers/engine.js';
import { notStarted, preparing } from '../drivers/guard.js';
import type { Session } from '../drivers/session.js';
import type { MarkerRow } from '../marker.js';
import { failure, type Outcome, STARTS_TOO_LATE } from '../outcome.js';
import { type MigrationAttempt, type StepFailure, TableProblem, type TrackingTable } from './engine.js';
import { cancelFailure, halfApplied } from './failures.js';
import { failed, failedOutcome, nothingDone, ranOutcome } from './results.js';
import { outOfOrder, planRun, settleAttempts } from './settle.js';
import type { Migration, MigrationRun } from './task.js';

/** What to do, decided under both locks. */
interface Prepared {
  table: TrackingTable;
  /** Versions applied before this attempt. */
  applied: ReadonlySet<string>;
  todo: readonly Migration[];
  /** What earlier attempts did (MI-35). */
  settled: readonly string[];
  settledFence: number | null;
}

/**
 * Applies or reverts migrations one after another until one fails (MI-31 to MI-36). Calls `onProven` once it is known what
 * earlier attempts did.
 */
export async function runMigrations<S extends Session>(
  attempt: MigrationAttempt<S>,
  bundle: MigrationRun,
  onProven: () => void,
): Promise<Report> {
  let prepared: Prepared | Outcome;
  try {
    prepared =
      (await takeRequestLock(attempt)) ?? (await takeMigrationLock(attempt)) ?? (await planUnderLocks(attempt, bundle, onProven));
  } catch (error) {
    return { outcome: notStarted(error, attempt.run, attempt.target.engine.errors), error };
  }
  return 'success' in prepared ? { outcome: prepared, error: null } : await runPlan(attempt, bundle, prepared);
}

/** Null when it holds the lock that excludes all other migrations of the database (MI-31). */
export async function takeMigrationLock<S extends Session>(attempt: MigrationAttempt<S>): Promise<Outcome | null> {
  const { session, target } = attempt;
  const taken = await takeWithin(target.lockWaitMs, attempt, () => target.migrations.tryLock(session));
  return taken ? null : nothingDone(failed('not_started', 'another migration holds the lock'));
}

async function planUnderLocks<S extends Session>(
  attempt: MigrationAttempt<S>,
  bundle: MigrationRun,
  onProven: () => void,
): Promise<Prepared | Outcome> {
  const { run } = attempt;
  const rows = await markerRows(attempt, onProven);
  if ('success' in rows) return rows;
  const found = await preparing(attempt, () => readTable(attempt));
  if ('success' in found) return found;
  const applied = new Set(found.versions);
  onProven();
  const versions = new Set(bundle.migrations.map(({ version }) => version));
  const known = rows.filter(({ step }) => versions.has(step));
  const settlement = settleAttempts(known, run, bundle.direction, applied);
  if (settlement.kind === 'doubtful') return failure('unknown', halfApplied(settlement.version));
  const plan = planRun(bundle, applied, settlement.versions);
  if (!plan.ok) {
    const why = failed('not_started', plan.why);
    return failedOutcome(why, { direction: 'down', done: settlement.versions }, plan.version, run.limits.maxResultBytes);
  }
  return { table: found.table, applied, todo: plan.todo, settled: settlement.versions, settledFence: settlement.fence };
}

/** Returns the request's marker rows and fences older attempts out (AP-54, AP-55). */
async function markerRows<S extends Session>(attempt: MigrationAttempt<S>, onProven: () => void): Promise<MarkerRow[] | Outcome> {
  const { session, run, target } = attempt;
  const { marker, engine } = target;
  if (!run.marker) return [];
  try {
    const rows = await genuineMarkers(attempt);
    if ('superseded' in rows) {
      onProven();
      return superseded(rows.superseded);
    }
    await refuseUnprovenAbsence(attempt);
    if (run.unresolvedFences.length > 0) await preparing(attempt, () => marker.open(session, run, 'tx'));
    return rows;
  } catch (error) {
    return withoutMarkers(error, engine.errors);
  }
}

/** The tracking table and its versions; an unusable table is a failure. */
export async function readTable<S extends Session>({
  session,
  run,
  target: { migrations, engine },
}: MigrationAttempt<S>): Promise<{ table: TrackingTable; versions: string[] } | Outcome> {
  try {
    const table = await migrations.findTable(session);
    return { table, versions: table.there ? await migrations.readVersions(session, table) : [] };
  } catch (error) {
    if (error instanceof TableProblem) return nothingDone(failed('not_started', error.message));
    if (!engine.errors.isServerError(error) || (run.control.requested && engine.errors.isInterrupt(error))) throw error;
    return nothingDone(failed('not_started', `tracking table not readable: ${engine.errors.reason(error)}`));
  }
}

async function runPlan<S extends Session>(
  attempt: MigrationAttempt<S>,
  { direction }: MigrationRun,
  { table, applied, todo, settled, settledFence }: Prepared,
): Promise<Report> {
  const { session, run, target } = attempt;
  const done = [...settled];
  const end = ({ failure, error }: StepFailure, version: string | null) => ({
    outcome: failedOutcome(failure, { direction, done }, version, run.limits.maxResultBytes),
    error,
  });
  for (const [index, migration] of todo.entries()) {
    const { version } = migration;
    const one = { direction, migration, table: { ...table, there: table.there || index > 0 } };
    const failure =
      mayGoOn(run, version, index === 0) ??
      (index === 0 ? null : await startAfresh(attempt, version)) ??
      (await target.migrations.runOne(session, { ...run, step: version }, one));
    if (failure) return end(failure, version);
    done.push(version);
  }
  const failure = table.there || todo.length > 0 ? null : await makeTable(attempt, table);
  if (failure) return end(failure, null);
  const all = new Set(done);
  const before = [...applied].filter((version) => !all.has(version));
  const late = direction === 'up' ? outOfOrder(done, before) : [];
  const appliedFence = todo.length === 0 ? settledFence : null;
  return { outcome: ranOutcome({ direction, done, outOfOrder: late, appliedFence }, run.limits.maxResultBytes), error: null };
}

function mayGoOn(run: Run, version: string, isFirst: boolean): StepFailure | null {
  if (run.control.requested) return { failure: cancelFailure(run.control, 'not_started', `version ${version}`), error: null };
  if (!isFirst || run.mayStart()) return null;
  return { failure: failed('not_started', STARTS_TOO_LATE), error: null };
}

/** Restores the session's initial state (MI-36). Without its locks the run ends: another one may have run since. */
async function startAfresh<S extends Session>(
  { session, run, target: { migrations, engine } }: MigrationAttempt<S>,
  version: string,
): Promise<StepFailure | null> {
  try {
    await migrations.forget(session, run);
    return null;
  } catch (error) {
    return { failure: failed('not_started', `version ${version}: ${engine.errors.reason(error)}`), error };
  }
}

/** The first mutating operation creates the table even when it had nothing else to do (MI-21). */
async function makeTable<S extends Session>(
  { session, target: { migrations, engine } }: MigrationAttempt<S>,
  table: TrackingTable,
): Promise<StepFailure | null> {
  try {
    await migrations.makeTable(session, table);
    return null;
  } catch (error) {
    return { failure: failed('not_started', `tracking table not made: ${engine.errors.reason(error)}`), error };
  }
}
