import { failure, type Outcome } from '../../outcome.js';
import { RowsJson } from '../../result-json.js';
import type { Report } from '../engine.js';
import { checkFlag, failedRun, interruptible } from '../guard.js';
import type { MysqlRead } from './engine.js';
import { mysqlErrors } from './errors.js';
import { limitTime } from './limits.js';
import { checkPlan } from './read-plan.js';
import { readMysqlRows } from './rows.js';
import type { MysqlSession } from './session.js';

/** Runs a read batch's one query in a read-only transaction that ends with ROLLBACK (AP-26, AP-30, AP-31). */
export async function runMysqlSelect(attempt: MysqlRead): Promise<Report> {
  const begunAt = performance.now();
  try {
    return { outcome: await interruptible(attempt, () => readInTransaction(attempt)), error: null };
  } catch (error) {
    return { outcome: await failedRun(error, attempt, begunAt), error };
  }
}

async function readInTransaction(attempt: MysqlRead): Promise<Outcome> {
  const { session, run } = attempt;
  const main = run.statements.find((statement) => statement.kind !== 'setting');
  await session.run('start transaction read only');
  await limitTime(session, run.timeoutSecs);
  for (const { kind, text } of run.statements) if (kind === 'setting') await session.run(text);
  if (main?.kind === 'query') {
    const problem = await checkPlan(session, main.text);
    if (problem !== null) {
      await session.run('rollback');
      return failure('not_started', `refused: ${problem}`);
    }
  }
  checkFlag(run);
  const json = main ? await readMysqlRows(attempt, main.text) : new RowsJson([], [], run.limits);
  if (!(await isStillReadOnly(session))) {
    session.distrust();
    return failure('rolled_back', 'driver error: query failed: read-only guard broken');
  }
  // Resetting the connection rolls back.
  const { text, truncated } = json.finish();
  return { success: true, outcome: 'committed', resultData: text, rowsAffected: null, truncated };
}

/** Tries up to three times: a late cancel of the rows can hit this query instead. */
async function isStillReadOnly(session: MysqlSession): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    try {
      const [row] = await session.query(`select @@session.${session.readOnlyVariable}`);
      return row?.[0] === '1';
    } catch (error) {
      if (attempt === 3 || !mysqlErrors.isInterrupt(error)) throw error;
    }
  }
}
