import { notPlanned } from '../domain/plan-error.js';
import type { SqlClassifier } from '../sql/classify.js';
import { neverPlanned } from '../sql/never-planned.js';
import type { Databases } from './databases.js';
import type { Log } from './log.js';
import type { Target } from './target.js';

/** A statement to plan, for either kind of job. */
export interface ExplainTask {
  database: string;
  environment: string;
  sql: string;
  timeoutMs: number;
  signal: AbortSignal;
}

/** Nobody has approved this statement: it may not keep a database busy for longer (HD-3). */
const maxPlanMs = 5000;

export type Explained = { plan: string } | { error: string };

const notAvailable = { error: 'EXPLAIN is not available for this statement' };

interface Dependencies {
  databases: Databases;
  classifier: SqlClassifier;
  log: Log;
}

/** The plan of exactly one statement that passes the gate, or why there is none (AP-60); never throws. */
export async function explainStatement(task: ExplainTask, dependencies: Dependencies): Promise<Explained> {
  const target = dependencies.databases.find(task.database, task.environment);
  if (!target || target.degraded)
    return { error: `config error: no pool for database=${task.database} environment=${task.environment}` };
  const release = target.hold();
  return await explainOn(target, task, dependencies).finally(release);
}

async function explainOn(
  target: Target,
  task: ExplainTask,
  { classifier, log }: Omit<Dependencies, 'databases'>,
): Promise<Explained> {
  const verdict = await classifier.classify(task.sql, { dialect: target.driver.dialect, statementTimeoutSecs: 0 });
  if (verdict.verdict === 'refused') return { error: `refused: ${verdict.reason}` };
  if (verdict.verdict === 'empty' || verdict.statements.length !== 1) return notAvailable;
  const [statement] = verdict.statements;
  const [facts] = verdict.facts;
  if (!statement?.explainable || facts === undefined) return notAvailable;
  const why = neverPlanned(target.driver.dialect, facts);
  if (why !== null) return { error: notPlanned(why) };
  const { signal } = task;
  const { explained, hidden, connectivity } = await target.driver.explain({
    sql: statement.text,
    read: statement.class === 'read',
    facts,
    timeoutMs: Math.min(task.timeoutMs, maxPlanMs),
    signal,
  });
  if (hidden !== null) log.info('the database refused a plan', { database: target.name, why: hidden });
  if (!signal.aborted) target.noteRun(connectivity);
  return explained;
}
