import { failure, type Outcome } from '../../outcome.js';
import type { Report } from '../engine.js';
import { Interrupted } from '../faults.js';
import { interruptible, runErrorText } from '../guard.js';
import { committed } from '../written.js';
import type { PostgresAttempt } from './engine.js';
import { countOf } from './rows.js';
import { settingsStep } from './select.js';
import type { PostgresSession } from './session.js';

/** Runs the one statement that cannot run in a transaction; its `open` marker row exists already (AP-33). */
export async function runOutsideTransaction(attempt: PostgresAttempt): Promise<Report> {
  const { session, run, target } = attempt;
  const begunAt = performance.now();
  let started = false;
  let before: string[] = [];
  try {
    await session.exchange([settingsStep(run.timeoutSecs, false)]);
    before = await invalidIndexes(session);
    let affected = 0;
    for (const statement of run.statements) {
      const [result] = await interruptible(attempt, () => {
        started = true;
        return session.exchange([{ kind: 'run', text: statement.text, onRow: () => {} }]);
      });
      affected += countOf(result?.tag ?? '');
    }
    if (run.marker) await session.exchange([target.marker.done(run, affected)]).catch(() => {});
    return { outcome: committed(affected, null), error: null };
  } catch (error) {
    return { outcome: await failed(error, attempt, { begunAt, before, started }), error };
  }
}

interface Progress {
  begunAt: number;
  /** The invalid indexes before the run. */
  before: readonly string[];
  started: boolean;
}

async function failed(error: unknown, attempt: PostgresAttempt, { begunAt, before, started }: Progress): Promise<Outcome> {
  const { session, run, target } = attempt;
  const { errors } = target.engine;
  if (!errors.isServerError(error) && !(error instanceof Interrupted)) {
    return failure(started ? 'unknown' : 'not_started', `${started ? 'commit outcome unknown: ' : ''}${errors.errorText(error)}`);
  }
  const note = leftBehind(before, await invalidIndexes(session).catch(() => []));
  if (run.marker) await session.exchange([target.marker.remove(run)]).catch(() => {});
  const how = started ? 'rolled_back' : 'not_started';
  const cancelled = run.control.requested && (error instanceof Interrupted || errors.isInterrupt(error));
  const ended = cancelled ? run.control.confirmed(how, run.timeoutSecs) : failure(how, runErrorText(error, attempt, begunAt));
  return ended.success ? ended : { ...ended, errorMessage: `${ended.errorMessage}${note}` };
}

/** The words for new invalid indexes. */
export function leftBehind(before: readonly string[], after: readonly string[]): string {
  const named = after.filter((index) => !before.includes(index));
  return named.length > 0 ? `; an invalid index was left behind: ${named.join(', ')}` : '';
}

/** The database's invalid indexes by name. */
export async function invalidIndexes(session: PostgresSession): Promise<string[]> {
  const rows = await session.query('select indexrelid::pg_catalog.regclass::text from pg_catalog.pg_index where not indisvalid');
  return rows.map((row) => row[0] ?? '');
}
