import type { OneMigration, StepFailure } from '../../migrations/engine.js';
import { cancelFailure, halfApplied, type Position, positionOf, whyFailed } from '../../migrations/failures.js';
import { failed } from '../../migrations/results.js';
import { recordApplied } from '../../migrations/version-row.js';
import { Interrupted } from '../faults.js';
import { heedOnlyStop, interruptible } from '../guard.js';
import type { PostgresAttempt } from './engine.js';
import { findLeftBehind, findUnfinished, type Unfinished } from './left-behind.js';
import { commitMigration, recordVersion } from './migration-tx.js';
import { settingsStep } from './select.js';
import { makeTrackingTable } from './tracking-table.js';
import { beginRecord, locksOfMigration } from './write-transaction.js';

/** Runs a migration's one statement outside a transaction, then writes its version row (MI-38). */
export async function runMigrationOutside(attempt: PostgresAttempt, one: OneMigration): Promise<StepFailure | null> {
  const { session, run, target } = attempt;
  const at = positionOf(one.migration.version, 1, 1);
  let before: Unfinished;
  try {
    await session.exchange([
      ...(one.table.there ? [] : [makeTrackingTable(one.table)]),
      ...(run.marker ? [target.marker.openStep(run, 'auto')] : []),
      settingsStep(run.timeoutSecs, false),
    ]);
    before = await findUnfinished(session);
  } catch (error) {
    return { failure: failed('not_started', whyFailed(error, attempt, at)), error };
  }
  const failure = await heedOnlyStop(attempt, (heeding) => runStatement(heeding, one, before));
  return failure ?? (await record(attempt, one));
}

async function runStatement(
  attempt: PostgresAttempt,
  { migration }: OneMigration,
  before: Unfinished,
): Promise<StepFailure | null> {
  const at = positionOf(migration.version, 1, 1);
  try {
    for (const { text } of migration.statements) {
      const steps = [{ kind: 'run', text, onRow: () => {} } as const];
      await interruptible(attempt, () => attempt.session.exchange(steps));
    }
    return null;
  } catch (error) {
    return await failedStatement(error, attempt, { at, statements: migration.statements, before });
  }
}

interface Progress {
  at: Position;
  statements: OneMigration['migration']['statements'];
  /** What was unfinished before the statement. */
  before: Unfinished;
}

async function failedStatement(
  error: unknown,
  attempt: PostgresAttempt,
  { at, statements, before }: Progress,
): Promise<StepFailure> {
  const { session, run, target } = attempt;
  const { errors } = target.engine;
  const why = whyFailed(error, attempt, at);
  const answered = errors.isServerError(error) || error instanceof Interrupted;
  const found = answered ? await findLeftBehind(session, before, statements) : null;
  if (found === null) return { failure: failed('unknown', `${halfApplied(run.step)}: ${errors.reason(error)}`), error };
  // It may commit a part of its work by itself.
  const mayCommit = statements.some((statement) => statement.mayCommit);
  const outcome = mayCommit || found.partial ? 'partial' : 'rolled_back';
  const left = mayCommit ? `; what it had committed before that stays${found.words}` : found.words;
  if (run.marker) await session.exchange([target.marker.remove(run)]).catch(() => {});
  if (run.control.requested && (error instanceof Interrupted || errors.isInterrupt(error))) {
    const failure = cancelFailure(run.control, outcome, at.subject);
    return { failure: { ...failure, why: `${failure.why}${left}` }, error };
  }
  return { failure: failed(outcome, `${why}${left}`), error };
}

function record(attempt: PostgresAttempt, one: OneMigration): Promise<StepFailure | null> {
  return recordApplied(attempt, one, {
    async write({ session, run }) {
      await session.exchange(beginRecord(run, locksOfMigration(run)));
      return await recordVersion(attempt, one, 'auto');
    },
    commit: (bounded, transaction) => commitMigration(bounded, one, positionOf(one.migration.version, 1, 1), transaction),
  });
}
