import type { OneMigration, StepFailure } from '../../migrations/dialect.js';
import { cancelFailure, halfApplied, type Position, positionOf, whyFailed } from '../../migrations/failures.js';
import { failed } from '../../migrations/results.js';
import type { Migration } from '../../migrations/task.js';
import { recordApplied } from '../../migrations/version-row.js';
import type { Run } from '../driver.js';
import { Interrupted } from '../faults.js';
import { heedOnlyStop, interruptible } from '../guard.js';
import { invalidIndexes, leftBehind } from './auto.js';
import type { PostgresWriteTarget } from './engine.js';
import { commitMigration, recordVersion } from './migration-tx.js';
import { settingsStep } from './select.js';
import type { PostgresSession } from './session.js';
import { makeTrackingTable } from './tracking-table.js';

/** Runs a migration's one statement outside a transaction, then writes its version row (MI-38). */
export async function runMigrationOutside(
  session: PostgresSession,
  run: Run,
  one: OneMigration,
  target: PostgresWriteTarget,
): Promise<StepFailure | null> {
  const at = positionOf(one.migration.version, 1, 1);
  let before: string[];
  try {
    await session.exchange([
      ...(one.table.there ? [] : [makeTrackingTable(one.table)]),
      ...(run.marker ? [target.marker.openStep(run, 'auto')] : []),
      settingsStep(run.timeoutSecs, false),
    ]);
    before = await invalidIndexes(session);
  } catch (error) {
    return { failure: failed('not_started', whyFailed(error, run, target, at)), error };
  }
  const failure = await heedOnlyStop(run, (heeding) => runStatement(session, heeding, one, target, before));
  return failure ?? (await record(session, run, one, target));
}

async function runStatement(
  session: PostgresSession,
  run: Run,
  { migration }: OneMigration,
  target: PostgresWriteTarget,
  before: readonly string[],
): Promise<StepFailure | null> {
  const at = positionOf(migration.version, 1, 1);
  try {
    for (const { text } of migration.statements) {
      const steps = [{ kind: 'run', text, onRow: () => {} } as const];
      await interruptible(session, run, target, () => session.exchange(steps));
    }
    return null;
  } catch (error) {
    return await failedStatement(error, { session, run, migration, target, at, before });
  }
}

interface Failing {
  session: PostgresSession;
  run: Run;
  migration: Migration;
  target: PostgresWriteTarget;
  at: Position;
  before: readonly string[];
}

async function failedStatement(error: unknown, failing: Failing): Promise<StepFailure> {
  const { session, run, migration, target, at, before } = failing;
  const { errors } = target.engine;
  const why = whyFailed(error, run, target, at);
  if (!errors.isServerError(error) && !(error instanceof Interrupted)) {
    return { failure: failed('unknown', `${halfApplied(run.step)}: ${errors.reason(error)}`), error };
  }
  const mayCommit = migration.statements.some((statement) => statement.mayCommit);
  const outcome = mayCommit ? 'partial' : 'rolled_back';
  const indexes = leftBehind(before, await invalidIndexes(session).catch(() => []));
  const left = mayCommit ? `; what it had committed before that stays${indexes}` : indexes;
  if (run.marker) await session.exchange([target.marker.remove(run)]).catch(() => {});
  if (run.control.requested && (error instanceof Interrupted || errors.isInterrupt(error))) {
    const failure = cancelFailure(run.control, outcome, at.subject);
    return { failure: { ...failure, why: `${failure.why}${left}` }, error };
  }
  return { failure: failed(outcome, `${why}${left}`), error };
}

function record(session: PostgresSession, run: Run, one: OneMigration, target: PostgresWriteTarget): Promise<StepFailure | null> {
  return recordApplied(session, run, one, target, {
    async write({ timeoutSecs }) {
      await session.exchange([{ kind: 'run', text: 'begin read write' }, settingsStep(timeoutSecs, true)]);
      return await recordVersion(session, run, one, target, 'auto');
    },
    commit: (bounded, transaction) =>
      commitMigration(session, bounded, target, { transaction, at: positionOf(one.migration.version, 1, 1), one }),
  });
}
