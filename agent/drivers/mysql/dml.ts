import type { Outcome } from '../../outcome.js';
import type { RowsJson } from '../../result-json.js';
import { beginAttempt } from '../attempt.js';
import type { Run } from '../driver.js';
import type { Report } from '../engine.js';
import { checkFlag, failedRun, interruptible, notStarted, preparing } from '../guard.js';
import { refuseAboveBound, refuseUnbounded } from '../row-bound.js';
import { committed } from '../written.js';
import { runOneByOne } from './auto.js';
import { beginCounting } from './changed-rows.js';
import { commitMysql } from './commit.js';
import type { MysqlAttempt } from './engine.js';
import { isInnodbOnly } from './innodb.js';
import { limitTime } from './limits.js';
import { expectLocks, requestLockName } from './locks.js';
import { runMysqlStatement, settingsOf } from './rows.js';
import type { MysqlSession } from './session.js';

/**
 * Runs all statements or none where the database can do that, else one by one; holds the request lock (AP-34, AP-53 to AP-55).
 */
export async function runMysqlDml(attempt: MysqlAttempt, onProven: () => void): Promise<Report> {
  const { session, run, target } = attempt;
  let mode: 'tx' | 'auto';
  try {
    mode = await preparing(attempt, () => modeOf(session, run));
  } catch (error) {
    return { outcome: notStarted(error, run, target.engine.errors), error };
  }
  const unbounded = mode === 'auto' ? refuseUnbounded(run) : null;
  if (unbounded !== null) return { outcome: unbounded, error: null };
  const ended = await beginAttempt(attempt, mode, onProven);
  if (ended !== null) return ended;
  return mode === 'auto' ? await runOneByOne(attempt) : await runInTransaction(attempt);
}

/** DDL, CALL and similar statements commit by themselves, and only InnoDB rolls changes back. */
async function modeOf(session: MysqlSession, run: Run): Promise<'tx' | 'auto'> {
  if (run.statements.some(({ kind }) => kind === 'ddl' || kind === 'utility')) return 'auto';
  const texts = run.statements.map(({ text }) => text);
  return (await isInnodbOnly(session, texts)) ? 'tx' : 'auto';
}

async function runInTransaction(attempt: MysqlAttempt): Promise<Report> {
  const begunAt = performance.now();
  let outcome: Outcome;
  try {
    outcome = await runStatements(attempt);
    checkFlag(attempt.run);
  } catch (error) {
    return { outcome: await failedRun(error, attempt, begunAt), error };
  }
  return { outcome: await commitMysql(attempt, outcome), error: null };
}

async function runStatements(attempt: MysqlAttempt): Promise<Outcome> {
  const { session, run, target } = attempt;
  await interruptible(attempt, async () => {
    await limitTime(session, run.timeoutSecs);
    await session.run('start transaction read write');
    if (run.marker) await target.marker.open(session, run, 'tx');
  });
  const countAll = run.maxAffectedRows === null ? null : await interruptible(attempt, () => beginCounting(session, run));
  let affected = 0;
  let json: RowsJson | null = null;
  for (const [index, statement] of run.statements.entries()) {
    if (index > 0) await session.keepMeaning(settingsOf(run.statements.slice(0, index)));
    const ran = await interruptible(attempt, () => runMysqlStatement(session, statement, run));
    affected += ran.affected;
    refuseAboveBound(run, affected);
    json = ran.json;
  }
  if (countAll !== null) refuseAboveBound(run, Math.max(affected, await interruptible(attempt, countAll)));
  await interruptible(attempt, async () => {
    if (settingsOf(run.statements).length > 0) await session.restoreSettings();
    if (run.marker) await target.marker.done(session, run, affected);
    await expectLocks(session, [requestLockName(run.requestId)]);
  });
  return committed(affected, json);
}
