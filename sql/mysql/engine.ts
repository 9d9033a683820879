import type { Answer, Task } from '../engine.js';
import { judgeText } from '../judge-text.js';
import { judgeMigrations } from '../migration-text.js';
import { refuseFor } from '../reasons.js';
import type { JudgeOptions, Verdict } from '../verdict.js';
import { cutMysql } from './cut.js';
import { lexMysql } from './lexer.js';
import { cutMysqlMigration } from './migration.js';
import { seesMore } from './second-opinion.js';
import { loadSecondParser, type SecondParser } from './second-parser.js';
import { isWithinReach } from './second-reach.js';

export interface MysqlEngine {
  /** The verdict of a MySQL text. Rejects when the text broke the second parser, which breaks the thread too. */
  run(task: Task): Promise<Answer>;
  /** The thread asks to be replaced before the next text. */
  worn(): boolean;
}

/** Judges MySQL texts; runs on a thread of its own, because a text can break the second parser or keep it busy (SQ-7). */
export async function createMysqlEngine(): Promise<MysqlEngine> {
  const second = await loadSecondParser();
  return {
    run: async (task) => {
      if (task.kind === 'migrations') return judgeMigrations(cutMysqlMigration(task.names), task, false);
      if (task.kind !== 'judge' || task.options.dialect !== 'mysql') throw new Error('only MySQL texts are judged here');
      return judgeMysql(second, task.text, task.options);
    },
    worn: () => second.worn,
  };
}

/** The verdict of our own lexer and closed lists. A text that the second parser judges more strictly is refused (SQ-3, SQ-4). */
function judgeMysql(second: SecondParser, text: string, options: JudgeOptions): Verdict {
  const verdict = judgeText(cutMysql, text, options);
  if (verdict.verdict !== 'accepted') return verdict;
  const lexed = lexMysql(text);
  const trees = lexed.ok && isWithinReach(text, lexed.tokens) ? second.parse(text) : null;
  const more = trees === null ? null : seesMore(verdict, trees);
  return more === null ? verdict : refuseFor('not understood', `it can be read in two ways, a second parser sees ${more}`);
}
