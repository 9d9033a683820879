import type { ClassifiedStatement } from '../../../domain/statement.js';
import { failure, type Outcome } from '../../outcome.js';
import type { RowsJson } from '../../result-json.js';
import type { Report } from '../engine.js';
import { Interrupted } from '../faults.js';
import { checkFlag, interruptible, rollBack, runErrorText } from '../guard.js';
import { committed } from '../written.js';
import { sendCommit } from './commit.js';
import type { MysqlAttempt } from './engine.js';
import { canEndHalfDone } from './half-done.js';
import { limitTime } from './limits.js';
import { runMysqlStatement, settingsOf } from './rows.js';

interface Progress {
  begunAt: number;
  done: number;
  /** The statement that was sent and has not succeeded yet. */
  running: ClassifiedStatement | null;
  /** Whether its COMMIT was sent. */
  committing: boolean;
}

/** Runs statements that each commit by themselves; the marker row of mode `auto` exists already (AP-34). */
export async function runOneByOne(attempt: MysqlAttempt): Promise<Report> {
  const { session, run } = attempt;
  const progress: Progress = { begunAt: performance.now(), done: 0, running: null, committing: false };
  let affected = 0;
  let json: RowsJson | null = null;
  try {
    await limitTime(session, run.timeoutSecs);
    for (const [index, statement] of run.statements.entries()) {
      if (index > 0) await session.keepMeaning(settingsOf(run.statements.slice(0, index)));
      const ran = await runAndCommit(attempt, statement, progress);
      affected += ran.affected;
      json = ran.json;
      progress.running = null;
      if (statement.kind !== 'setting') progress.done++;
    }
  } catch (error) {
    return { outcome: await failed(error, attempt, progress), error };
  }
  if (run.marker) await recordDone(attempt, affected).catch(() => {});
  return { outcome: committed(affected, json), error: null };
}

/** Without AUTOCOMMIT, which a procedure may have ended, the row would go back to `open`. */
async function recordDone({ session, run, target }: MysqlAttempt, affected: number): Promise<void> {
  await session.restoreSettings();
  await target.marker.done(session, run, affected);
}

async function takeBackOpen({ session, run, target }: MysqlAttempt): Promise<void> {
  await session.restoreSettings();
  await target.marker.remove(session, run);
}

/**
 * Changes rows in a transaction per statement, so that its ROLLBACK shows whether a failure left changes. A procedure that has succeeded may have
 * left a transaction open, whose changes would be lost.
 */
async function runAndCommit(attempt: MysqlAttempt, statement: ClassifiedStatement, progress: Progress) {
  const { session, run } = attempt;
  const inTransaction = statement.kind === 'dml' || statement.kind === 'query';
  checkFlag(run);
  if (inTransaction) await session.run('start transaction read write');
  const ran = await interruptible(attempt, () => {
    progress.running = statement;
    return runMysqlStatement(session, statement, run);
  });
  if (inTransaction) checkFlag(run);
  if (inTransaction || statement.kind === 'utility') {
    progress.committing = true;
    await sendCommit(attempt);
    progress.committing = false;
  }
  return ran;
}

async function failed(error: unknown, attempt: MysqlAttempt, { begunAt, done, running, committing }: Progress): Promise<Outcome> {
  const { session, run, target } = attempt;
  const { errors } = target.engine;
  const { control } = run;
  const rolledBack = await rollBack(session, target);
  if (committing || (rolledBack === null && (running !== null || done > 0))) {
    const why = control.requested ? 'driver error: cancel not confirmed' : errors.errorText(error);
    return failure('unknown', `commit outcome unknown: ${why}`);
  }
  const cancelled = control.requested && (error instanceof Interrupted || errors.isInterrupt(error));
  const left = whatStays(running, rolledBack === 'kept', done, run.statements.filter(({ kind }) => kind !== 'setting').length);
  if (left !== null) {
    const confirmed = cancelled ? control.confirmed('partial', run.timeoutSecs) : null;
    const why = confirmed?.success === false ? confirmed.errorMessage : runErrorText(error, attempt, begunAt);
    return failure('partial', `${why}; ${left}`);
  }
  if (run.marker) await takeBackOpen(attempt).catch(() => {});
  const how = running === null ? 'not_started' : 'rolled_back';
  return cancelled ? control.confirmed(how, run.timeoutSecs) : failure(how, runErrorText(error, attempt, begunAt));
}

/** What a failure left in the database; null for nothing. */
function whatStays(running: ClassifiedStatement | null, kept: boolean, done: number, all: number): string | null {
  if (kept) return `changes in tables without transactions stay; ${done} of ${all} statements were done before`;
  if (done > 0) return `${done} of ${all} statements were done and stay`;
  return running !== null && canEndHalfDone(running.text) ? 'what it had done before that stays' : null;
}
