import type { Dialect } from '../domain/statement.js';
import { type ClassifierThread, createClassifierThread, type ThreadAnswer, type ThreadLimits } from './classifier-thread.js';
import { maxTextBytes } from './classify-text.js';
import { type Answer, createEngine, type Task } from './engine.js';
import type { MigrationText, MigrationVerdict, ReviewedVerdict } from './migration-text.js';
import type { ReservedNames } from './reserved-table.js';
import { type ClassifyOptions, notUnderstood, unparsable, type Verdict } from './verdict.js';

export type { MigrationText, MigrationVerdict } from './migration-text.js';
export type { ClassifyOptions, Verdict } from './verdict.js';

export interface SqlClassifier {
  /**
   * The verdict of sql-safety.md for any text; never throws. The same input gives the same verdict everywhere (SQ-I5), except when too many long
   * texts wait or no thread starts, which `busy` reports. Waiting callers take turns; `caller` may be any name.
   */
  classify(text: string, options: ClassifyOptions, caller?: string): Promise<Verdict>;
  /** The statements of a bundle's migrations, or the first text that AP-22 or MI-16 refuses; never throws. */
  classifyMigrations(
    texts: readonly MigrationText[],
    dialect: Dialect | null,
    caller?: string,
    names?: ReservedNames,
  ): Promise<MigrationVerdict>;
  /** The same, with what the review rules need instead of the statements (HD-95). */
  reviewMigrations(texts: readonly MigrationText[], dialect: Dialect | null, caller?: string): Promise<ReviewedVerdict>;
  /** The literal-free text of AU-51 (not truncated), or `[unparsable SQL removed]`, of a text that was classified before; never throws. */
  redact(text: string, dialect: Dialect | null, caller?: string): Promise<string>;
  /** The same of any text; null when too many texts wait, as `busy` of `classify`. */
  redactUnseen(text: string, dialect: Dialect | null, caller?: string): Promise<string | null>;
  /** Ends the threads. Texts that still wait for them are refused. */
  close(): Promise<void>;
}

/**
 * Longest PostgreSQL text classified on the caller's thread: the worst case (one operator of 2,000 characters) takes 10 ms; twice the length takes 37 ms.
 */
const maxLocalBytes = 2_048;

/** Most MySQL texts take under a millisecond, so more of them may wait than of long texts. */
const mysqlRoom = { total: 512, perCaller: 128 };

/**
 * Loads the PostgreSQL grammar once. Longer PostgreSQL texts go to a thread of their own. MySQL texts of any length go to another thread, because
 * even a short one can break a parser (SQ-7). Each thread starts with its first text. The default limits of both suit a server with many callers.
 */
export async function createSqlClassifier(limits: Partial<ThreadLimits> = {}): Promise<SqlClassifier> {
  const threads: Threads = {
    own: await createEngine(),
    long: createClassifierThread('postgresql', limits),
    mysql: createClassifierThread('mysql', { ...mysqlRoom, ...limits }),
  };
  return {
    classify: async (text, options, caller = '') => {
      const asked = await ask(threads, { kind: 'classify', text, options }, caller);
      if (!asked.ok) return asked.busy ? { ...notUnderstood(asked.why), busy: true } : notUnderstood(asked.why);
      return isVerdict(asked.answer) ? asked.answer : notUnderstood('no verdict');
    },
    classifyMigrations: async (texts, dialect, caller = '', names = {}) => {
      const verdict = await askBundle(threads, { kind: 'migrations', texts, dialect, names, review: false }, caller);
      return verdict.ok && 'reviewed' in verdict ? noVerdict : verdict;
    },
    reviewMigrations: async (texts, dialect, caller = '') => {
      const verdict = await askBundle(threads, { kind: 'migrations', texts, dialect, names: {}, review: true }, caller);
      return verdict.ok && 'migrations' in verdict ? noVerdict : verdict;
    },
    redact: async (text, dialect, caller = '') => {
      const asked = await ask(threads, { kind: 'redact', text, dialect, unseen: false }, caller);
      return redactedOf(asked);
    },
    redactUnseen: async (text, dialect, caller = '') => {
      const asked = await ask(threads, { kind: 'redact', text, dialect, unseen: true }, caller);
      return !asked.ok && asked.busy ? null : redactedOf(asked);
    },
    close: async () => {
      await Promise.all([threads.long.close(), threads.mysql.close()]);
    },
  };
}

/** Who may classify a text: the caller's own thread, or one of two others. */
interface Threads {
  own: (task: Task) => Promise<Answer>;
  long: ClassifierThread;
  mysql: ClassifierThread;
}

async function ask({ own, long, mysql }: Threads, task: Task, caller: string): Promise<ThreadAnswer> {
  try {
    if (isForMysql(task)) return await mysql.run(task, caller);
    const bytes = task.kind === 'migrations' ? bytesOf(task.texts) : Buffer.byteLength(task.text);
    // A text above the limit is refused before it is parsed.
    if (bytes > maxLocalBytes && bytes <= maxTextBytes) return await long.run(task, caller);
    return { ok: true, answer: await own(task) };
  } catch {
    return { ok: false, why: 'the parser failed' };
  }
}

async function askBundle(threads: Threads, task: Task, caller: string): Promise<MigrationVerdict | ReviewedVerdict> {
  const asked = await ask(threads, task, caller);
  if (!asked.ok) return { ...noVerdict, reason: asked.why, ...(asked.busy ? { busy: true } : {}) };
  return isMigrationVerdict(asked.answer) ? asked.answer : noVerdict;
}

const noVerdict = { ok: false, at: 0, key: 'sql', reason: 'no verdict' } as const;

/** Whether the thread with the second parser classifies the task. */
const isForMysql = (task: Task): boolean =>
  (task.kind === 'classify' && task.options.dialect === 'mysql') || (task.kind === 'migrations' && task.dialect === 'mysql');

const bytesOf = (texts: readonly MigrationText[]): number => texts.reduce((sum, { sql }) => sum + Buffer.byteLength(sql), 0);

const redactedOf = (asked: ThreadAnswer): string => (asked.ok && typeof asked.answer === 'string' ? asked.answer : unparsable);

const isVerdict = (answer: Answer): answer is Verdict => typeof answer !== 'string' && 'verdict' in answer;
const isMigrationVerdict = (answer: Answer): answer is MigrationVerdict | ReviewedVerdict =>
  typeof answer !== 'string' && 'ok' in answer;
