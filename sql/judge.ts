import { type Answer, createEngine, type Task } from './engine.js';
import { maxTextBytes } from './judge-text.js';
import { createJudgeThread } from './judge-thread.js';
import { unparsable } from './redact-text.js';
import { type Dialect, type JudgeOptions, notUnderstood, type Verdict } from './verdict.js';

export type { Dialect, JudgedStatement, JudgeOptions, Verdict } from './verdict.js';

export interface SqlJudge {
  /** The verdict of sql-safety.md for any text; never throws. The same input gives the same verdict everywhere (SQ-I5). */
  judge(text: string, options: JudgeOptions): Promise<Verdict>;
  /** The literal-free text of AU-51 (not cut), or `[unparsable SQL removed]`; never throws. */
  redact(text: string, dialect: Dialect | null): Promise<string>;
  /** Ends the thread; texts that still wait on it are refused. */
  close(): Promise<void>;
}

/** Longest text judged on the caller's thread: at its worst (one operator of 2,000 characters) it takes 10 ms there, twice as long 37. */
const maxLocalBytes = 2_048;

/** Loads the PostgreSQL grammar once; longer texts go to a thread of their own, started when the first one comes (SQ-7). */
export async function createSqlJudge(): Promise<SqlJudge> {
  const engine = await createEngine();
  const thread = createJudgeThread();
  const ask = async (task: Task): Promise<{ ok: true; answer: Answer } | { ok: false; why: string }> => {
    try {
      const bytes = Buffer.byteLength(task.text);
      // A text above the limit is refused before it is parsed.
      if (bytes > maxLocalBytes && bytes <= maxTextBytes) return await thread.run(task);
      return { ok: true, answer: await engine(task) };
    } catch {
      return { ok: false, why: 'the parser failed' };
    }
  };
  return {
    judge: async (text, options) => {
      const asked = await ask({ kind: 'judge', text, options });
      if (!asked.ok) return notUnderstood(asked.why);
      return typeof asked.answer === 'string' ? notUnderstood('no verdict') : asked.answer;
    },
    redact: async (text, dialect) => {
      const asked = await ask({ kind: 'redact', text, dialect });
      return asked.ok && typeof asked.answer === 'string' ? asked.answer : unparsable;
    },
    close: () => thread.close(),
  };
}
