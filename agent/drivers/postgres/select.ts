import { failure, type Outcome } from '../../outcome.js';
import { RowsJson } from '../../result-json.js';
import type { Report } from '../engine.js';
import { checkFlag, failedRun, interruptible } from '../guard.js';
import { refuseOtherPath } from '../search-path.js';
import type { PostgresRead } from './engine.js';
import type { Step } from './exchange.js';
import { planProblem } from './read-plan.js';
import { fetchRows, PREPARED } from './rows.js';
import { SEARCHED } from './search-path.js';
import type { PostgresSession } from './session.js';

const GUARD: Step = {
  kind: 'run',
  text: "select pg_catalog.current_setting('transaction_read_only'), pg_catalog.pg_current_xact_id_if_assigned()::text",
};

/** Runs a read batch's one query in a read-only transaction that ends with ROLLBACK (AP-26 to AP-29). */
export async function runSelect(attempt: PostgresRead): Promise<Report> {
  const begunAt = performance.now();
  try {
    return { outcome: await interruptible(attempt, () => readInTransaction(attempt)), error: null };
  } catch (error) {
    return { outcome: await failedRun(error, attempt, begunAt), error };
  }
}

async function readInTransaction({ session, run }: PostgresRead): Promise<Outcome> {
  const main = run.statements.find((statement) => statement.kind !== 'setting');
  const settings = run.statements.filter((statement) => statement.kind === 'setting');
  const results = await session.exchange([
    { kind: 'run', text: 'begin read only' },
    settingsStep(run.timeoutSecs, true),
    ...settings.map((statement): Step => ({ kind: 'run', text: statement.text })),
    ...(main ? [{ kind: 'prepare', text: main.text, name: PREPARED } as const] : []),
    ...(main?.kind === 'query' ? [{ kind: 'run', text: `explain (format json) ${main.text}` } as const] : []),
  ]);
  const otherPath = refuseOtherPath(run, results[1]?.rows[0]?.at(-1));
  if (otherPath !== null) {
    await session.query('rollback');
    return otherPath;
  }
  if (!main) {
    const [guard] = await session.exchange([GUARD]);
    return finishRead(session, new RowsJson([], [], run.limits), guard?.rows[0]);
  }
  if (main.kind === 'query') {
    const problem = planProblem(results.at(-1)?.rows[0]?.[0] ?? '');
    if (problem !== null) {
      await session.query('rollback');
      return failure('not_started', `refused: ${problem}`);
    }
  }
  checkFlag(run);
  const columns = results.find((result) => result.tag === null)?.columns ?? [];
  const { json, guarded } = await fetchRows(session, columns, run, GUARD);
  return finishRead(session, json, guarded);
}

/**
 * Returns the rows if the transaction stayed read-only. The connection's reset rolls back: a transaction without an id has
 * nothing to commit, so the result need not wait.
 */
function finishRead(session: PostgresSession, json: RowsJson, guarded: (string | null)[] | undefined): Outcome {
  const [readOnly, transactionId] = guarded ?? [];
  if (readOnly !== 'on' || transactionId !== null) {
    session.distrust();
    return failure('rolled_back', 'driver error: query failed: read-only guard broken');
  }
  const { text, truncated } = json.finish();
  return { success: true, outcome: 'committed', resultData: text, rowsAffected: null, truncated };
}

/**
 * Sets the job's statement timeout, and that a commit is on disk before it is reported; a stricter setting of the database stays.
 * Applies to the open transaction when `local`, else to the session. Its row ends with the schemas that the session searches.
 */
export function settingsStep(timeoutSecs: number, local: boolean): Step {
  const set = (name: string, value: string) => setConfig(name, value, local);
  return {
    kind: 'run',
    text: `select ${set('statement_timeout', '$1')}, ${set('idle_in_transaction_session_timeout', "'60000'")}, ${durably(local)}, ${SEARCHED}`,
    values: [String(timeoutSecs * 1000)],
  };
}

const setConfig = (name: string, value: string, local: boolean) => `pg_catalog.set_config('${name}', ${value}, ${local})`;

const SYNCHRONOUS = "pg_catalog.current_setting('synchronous_commit')";
/** A value of `synchronous_commit`, or `instead` if a commit would not wait for the disk by it. */
const orIfOff = (value: string, instead: string) =>
  `case when ${value} operator(pg_catalog.=) 'off' then ${instead} else ${value} end`;

/** Makes commits wait for the disk, and for what else the database wants. */
const durably = (local: boolean) => setConfig('synchronous_commit', orIfOff(SYNCHRONOUS, "'on'"), local);

/** The same for the open transaction, in which it may have been switched off: then it is as it was when the session began. */
export const durablyAgain = setConfig(
  'synchronous_commit',
  orIfOff(
    SYNCHRONOUS,
    `(select ${orIfOff('reset_val', "'on'")} from pg_catalog.pg_settings where name operator(pg_catalog.=) 'synchronous_commit')`,
  ),
  true,
);
