import type { SqlJudge } from '../sql/judge.js';
import type { Databases } from './databases.js';

/** A statement to be planned, of either kind of job. */
export interface ExplainTask {
  database: string;
  environment: string;
  sql: string;
  timeoutMs: number;
  signal: AbortSignal;
}

export type Explained = { plan: string } | { error: string };

const notAvailable = { error: 'EXPLAIN is not available for this statement' };

/** The plan of exactly one statement that the gate lets through, or why there is none (AP-60); never throws. */
export async function explainStatement(
  task: ExplainTask,
  { databases, judge }: { databases: Databases; judge: SqlJudge },
): Promise<Explained> {
  const target = databases.find(task.database, task.environment);
  if (!target || target.degraded)
    return { error: `config error: no pool for database=${task.database} environment=${task.environment}` };
  const verdict = await judge.judge(task.sql, { dialect: target.driver.dialect, statementTimeoutSecs: 0 });
  if (verdict.verdict === 'refused') return { error: `refused: ${verdict.reason}` };
  if (verdict.verdict === 'empty' || verdict.statements.length !== 1) return notAvailable;
  const [statement] = verdict.statements;
  if (!statement?.explainable) return notAvailable;
  const { timeoutMs, signal } = task;
  const { explained, connectivity } = await target.driver.explain({
    sql: statement.text,
    read: statement.class === 'read',
    timeoutMs,
    signal,
  });
  if (!signal.aborted) target.noteRun(connectivity);
  return explained;
}
