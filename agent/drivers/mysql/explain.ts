import { alikePlan, readsRows, readsRowsToPlan, reducedMysqlPlan } from '../../../domain/mysql-plan.js';
import type { StatementFacts } from '../../../domain/statement.js';
import type { ExplainReport, ExplainRun } from '../driver.js';
import { asMysqlError } from './errors.js';
import { limitTime } from './limits.js';
import { whyNotPlannable } from './plannable.js';
import { explainMysql } from './read-plan.js';
import type { MysqlSession } from './session.js';

/**
 * The part of the plan safe to show, or why there is none (HD-1, HD-2). MariaDB does not plan a write in a read-only transaction.
 * EXPLAIN without ANALYZE does not run it, and the reset rolls back (AP-60).
 */
export async function planMysqlStatement(
  session: MysqlSession,
  run: ExplainRun,
  explainFunctions: readonly string[],
): Promise<ExplainReport['explained']> {
  await session.run(`start transaction read ${run.read ? 'only' : 'write'}`);
  await limitTime(session, run.timeoutMs / 1000);
  const why = await whyNotPlannable(session, run.facts, explainFunctions);
  if (why !== null) return { error: why };
  try {
    return answered(JSON.parse(await explainMysql(session, run.sql)), run.facts);
  } catch (error) {
    // Row values read during planning can raise this error; the answer must not reveal whether they did.
    if (run.facts.named.length > 0 && asMysqlError(error)?.sqlState.startsWith('22')) return { error: readsRows };
    throw error;
  }
}

function answered(plan: unknown, { named, uses }: StatementFacts): ExplainReport['explained'] {
  if (!readsRowsToPlan(plan)) return { plan: JSON.stringify(reducedMysqlPlan(plan)) };
  return uses.lookup ? { plan: JSON.stringify(alikePlan(named[0]?.name ?? '')) } : { error: readsRows };
}
