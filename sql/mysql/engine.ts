import { type CutText, classifyText } from '../classify-text.js';
import type { Answer, Task } from '../engine.js';
import { classifyMigrations } from '../migration-text.js';
import { refuseFor } from '../reasons.js';
import type { ClassifyOptions, Verdict } from '../verdict.js';
import { classifyMysqlStatement } from './classify-statement.js';
import { lexMysql } from './lexer.js';
import { cutMysqlMigration } from './migration.js';
import { redactStatements } from './redact.js';
import { seesMore } from './second-opinion.js';
import { loadSecondParser, type SecondParser } from './second-parser.js';
import { isWithinReach } from './second-reach.js';
import { cutStatements } from './statement.js';

export interface MysqlEngine {
  /** The verdict of a MySQL text. Rejects when the text broke the second parser, which breaks the thread too. */
  run(task: Task): Promise<Answer>;
  /** The thread asks to be replaced before the next text. */
  worn(): boolean;
}

/** Classifies MySQL texts; runs on a thread of its own, because a text can break the second parser or keep it busy (SQ-7). */
export async function createMysqlEngine(): Promise<MysqlEngine> {
  const second = await loadSecondParser();
  return {
    run: async (task) => {
      if (task.kind === 'migrations') return classifyMigrations(cutMysqlMigration(task.names), task, false);
      if (task.kind !== 'classify' || task.options.dialect !== 'mysql') throw new Error('only MySQL texts are classified here');
      return classifyMysql(second, task.text, task.options);
    },
    worn: () => second.worn,
  };
}

/** The verdict of our own lexer and closed lists. A text that the second parser classifies more strictly is refused (SQ-3, SQ-4). */
function classifyMysql(second: SecondParser, text: string, options: ClassifyOptions): Verdict {
  const verdict = classifyText(cutMysql, text, options);
  if (verdict.verdict !== 'accepted') return verdict;
  const lexed = lexMysql(text);
  const trees = lexed.ok && isWithinReach(text, lexed.tokens) ? second.parse(text) : null;
  const more = trees === null ? null : seesMore(verdict, trees);
  return more === null ? verdict : refuseFor('not understood', `it can be read in two ways, a second parser sees ${more}`);
}

/** Splits a MySQL text with our own lexer. A slice runs from a statement's first token to its last. */
export function cutMysql(text: string): CutText {
  const lexed = lexMysql(text);
  if (!lexed.ok) return lexed;
  const statements = cutStatements(lexed.tokens);
  if (typeof statements === 'string') return { ok: false, message: statements };
  return {
    ok: true,
    statements: statements.map((statement) => {
      const [first, last] = [statement.tokens[0], statement.tokens.at(-1)];
      const slice = text.slice(first?.start, last?.end);
      return (limits) => classifyMysqlStatement(statement, slice, limits);
    }),
    redact: () => redactStatements(statements),
  };
}
