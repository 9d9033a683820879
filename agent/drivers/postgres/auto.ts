import { failure, type Outcome } from '../../outcome.js';
import type { Report } from '../engine.js';
import { Interrupted } from '../faults.js';
import { interruptible, runErrorText } from '../guard.js';
import { committed } from '../written.js';
import type { PostgresAttempt } from './engine.js';
import { findLeftBehind, findUnfinished, type LeftBehind, type Unfinished } from './left-behind.js';
import { countOf } from './rows.js';
import { settingsStep } from './select.js';

/** Runs the one statement that cannot run in a transaction; its `open` marker row exists already (AP-33). */
export async function runOutsideTransaction(attempt: PostgresAttempt): Promise<Report> {
  const { session, run, target } = attempt;
  const begunAt = performance.now();
  let before: Unfinished | null = null;
  try {
    await session.exchange([settingsStep(run.timeoutSecs, false)]);
    const unfinished = await findUnfinished(session);
    let affected = 0;
    for (const statement of run.statements) {
      const [result] = await interruptible(attempt, () => {
        before = unfinished;
        return session.exchange([{ kind: 'run', text: statement.text, onRow: () => {} }]);
      });
      affected += countOf(result?.tag ?? '');
    }
    if (run.marker) await session.exchange([target.marker.done(run, affected)]).catch(() => {});
    return { outcome: committed(affected, null), error: null };
  } catch (error) {
    return { outcome: await failed(error, attempt, { begunAt, before }), error };
  }
}

interface Progress {
  begunAt: number;
  /** What was unfinished before the statement; null when it was not started. */
  before: Unfinished | null;
}

async function failed(error: unknown, attempt: PostgresAttempt, { begunAt, before }: Progress): Promise<Outcome> {
  const { session, run, target } = attempt;
  const { errors } = target.engine;
  const answered = errors.isServerError(error) || error instanceof Interrupted;
  if (before === null && !answered) return failure('not_started', errors.errorText(error));
  const left = before === null ? nothing : answered ? await findLeftBehind(session, before, run.statements) : null;
  if (left === null) return failure('unknown', `commit outcome unknown: ${errors.errorText(error)}`);
  if (run.marker && !left.partial) await session.exchange([target.marker.remove(run)]).catch(() => {});
  const how = before === null ? 'not_started' : left.partial ? 'partial' : 'rolled_back';
  const cancelled = run.control.requested && (error instanceof Interrupted || errors.isInterrupt(error));
  const ended = cancelled ? run.control.confirmed(how, run.timeoutSecs) : failure(how, runErrorText(error, attempt, begunAt));
  if (ended.success) return ended;
  return { ...ended, cancelled: ended.cancelled && !left.partial, errorMessage: `${ended.errorMessage}${left.words}` };
}

const nothing: LeftBehind = { partial: false, words: '' };
