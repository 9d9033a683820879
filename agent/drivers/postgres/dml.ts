import type { Outcome } from '../../outcome.js';
import type { RowsJson } from '../../result-json.js';
import { beginAttempt } from '../attempt.js';
import type { Report } from '../engine.js';
import { checkFlag, failedRun, interruptible } from '../guard.js';
import { refuseAboveBound, refuseUnbounded } from '../row-bound.js';
import { committed } from '../written.js';
import { runOutsideTransaction } from './auto.js';
import { changesOf, changesSince, countChanges } from './changed-rows.js';
import { askTransactionId, commit, type TransactionId, transactionIdOf } from './commit.js';
import type { PostgresAttempt } from './engine.js';
import type { Step } from './exchange.js';
import { expectMarked } from './marker.js';
import { countOf, PREPARED, runForRows } from './rows.js';
import { beginWrite, locksOfDml } from './write-transaction.js';

/** Runs all statements or none under the request lock, with a marker row when the job has one (AP-32, AP-33, AP-53 to AP-55). */
export async function runDml(attempt: PostgresAttempt, onProven: () => void): Promise<Report> {
  const { run } = attempt;
  const auto = run.statements.some((statement) => statement.outsideTransaction);
  const unbounded = auto ? refuseUnbounded(run) : null;
  if (unbounded !== null) return { outcome: unbounded, error: null };
  const ended = await beginAttempt(attempt, auto ? 'auto' : 'tx', onProven);
  if (ended !== null) return ended;
  return auto ? await runOutsideTransaction(attempt) : await runInTransaction(attempt);
}

async function runInTransaction(attempt: PostgresAttempt): Promise<Report> {
  const begunAt = performance.now();
  let work: { outcome: Outcome; transaction: TransactionId };
  try {
    work = await runStatements(attempt);
    checkFlag(attempt.run);
  } catch (error) {
    return { outcome: await failedRun(error, attempt, begunAt), error };
  }
  return { outcome: await commit(attempt, work.transaction, work.outcome), error: null };
}

async function runStatements(attempt: PostgresAttempt) {
  const { session, run, target } = attempt;
  // The steps that begin the transaction travel with the first statement.
  let ahead = beginWrite(run, locksOfDml(run));
  if (run.marker) ahead.push(target.marker.openStep(run, 'tx'));
  if (run.maxAffectedRows !== null) ahead.push(countChanges);
  const counted = ahead.length - 1;
  // Settings come before all other statements (SQ-60).
  const own = run.statements.filter(({ kind }) => kind === 'setting').map(({ text }) => runStep(text));
  let before: number | null = null;
  let affected = 0;
  let json: RowsJson | null = null;
  for (const [index, statement] of run.statements.entries()) {
    const withRows = statement.producesRows && index === run.statements.length - 1;
    const steps: Step[] = [
      ...(index > 0 ? [session.keepMeaning, ...own.slice(0, index)] : ahead),
      withRows ? prepareStep(statement.text) : runStep(statement.text),
    ];
    ahead = [];
    const last = await interruptible(attempt, async () => {
      const results = await session.exchange(steps);
      if (run.maxAffectedRows !== null) before ??= changesOf(results[counted]);
      const result = results.at(-1);
      return withRows ? await runForRows(session, result?.columns ?? [], run) : { json: null, tag: result?.tag ?? '' };
    });
    affected += countOf(last.tag);
    refuseAboveBound(run, affected);
    json = last.json;
  }
  if (before !== null) refuseAboveBound(run, Math.max(affected, await changesSince(before, attempt)));
  const end: Step[] = [...ahead, ...(run.marker ? [target.marker.done(run, affected)] : [])];
  const results = await interruptible(attempt, () => session.exchange([...end, askTransactionId]));
  if (run.marker) expectMarked(results.at(-2));
  return { outcome: committed(affected, json), transaction: transactionIdOf(session, results.at(-1)) };
}

function prepareStep(text: string): Step {
  return { kind: 'prepare', text, name: PREPARED };
}

function runStep(text: string): Step {
  return { kind: 'run', text, onRow: () => {} };
}
