import { createEngine, type Task } from './engine.js';
import { maxTextBytes } from './judge-text.js';
import { createJudgeThread, type ThreadAnswer } from './judge-thread.js';
import { unparsable } from './redact-text.js';
import { type Dialect, type JudgeOptions, notUnderstood, type Verdict } from './verdict.js';

export type { Dialect, JudgedStatement, JudgeOptions, Verdict } from './verdict.js';

export interface SqlJudge {
  /**
   * The verdict of sql-safety.md for any text; never throws. The same input gives the same verdict everywhere (SQ-I5), unless too many
   * long texts wait, which `busy` says; among them the callers, by any name, take turns.
   */
  judge(text: string, options: JudgeOptions, caller?: string): Promise<Verdict>;
  /** The literal-free text of AU-51 (not cut), or `[unparsable SQL removed]`; never throws. */
  redact(text: string, dialect: Dialect | null, caller?: string): Promise<string>;
  /** Ends the thread; texts that still wait on it are refused. */
  close(): Promise<void>;
}

/** Longest text judged on the caller's thread: at its worst (one operator of 2,000 characters) it takes 10 ms there, twice as long 37. */
const maxLocalBytes = 2_048;

/**
 * Loads the PostgreSQL grammar once; longer texts go to a thread of their own, started when the first one comes (SQ-7). `room` is how many
 * of them may wait there, whoever asks; without it the bounds are those of a server with many callers.
 */
export async function createSqlJudge(room?: number): Promise<SqlJudge> {
  const engine = await createEngine();
  const thread = createJudgeThread(room === undefined ? {} : { total: room, perCaller: room });
  const ask = async (task: Task, caller: string): Promise<ThreadAnswer> => {
    try {
      const bytes = Buffer.byteLength(task.text);
      // A text above the limit is refused before it is parsed.
      if (bytes > maxLocalBytes && bytes <= maxTextBytes) return await thread.run(task, caller);
      return { ok: true, answer: await engine(task) };
    } catch {
      return { ok: false, why: 'the parser failed' };
    }
  };
  return {
    judge: async (text, options, caller = '') => {
      const asked = await ask({ kind: 'judge', text, options }, caller);
      if (!asked.ok) return asked.busy ? { ...notUnderstood(asked.why), busy: true } : notUnderstood(asked.why);
      return typeof asked.answer === 'string' ? notUnderstood('no verdict') : asked.answer;
    },
    redact: async (text, dialect, caller = '') => {
      const asked = await ask({ kind: 'redact', text, dialect }, caller);
      return asked.ok && typeof asked.answer === 'string' ? asked.answer : unparsable;
    },
    close: () => thread.close(),
  };
}
