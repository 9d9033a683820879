import type { Dialect } from '../domain/statement.js';
import { classifyText, cutPostgresql } from './classify-text.js';
import { classifyMigrations, type MigrationText, type MigrationVerdict, type ReviewedVerdict } from './migration-text.js';
import { cutPostgresMigration } from './postgres/migration.js';
import { healthyParser } from './postgres/parser.js';
import { redactText } from './redact-text.js';
import type { ReservedNames } from './reserved-table.js';
import type { ClassifyOptions, Verdict } from './verdict.js';

/** What can be asked about a text; plain data, so that it can be sent to a thread. */
export type Task =
  | { readonly kind: 'classify'; readonly text: string; readonly options: ClassifyOptions }
  | {
      readonly kind: 'redact';
      readonly text: string;
      readonly dialect: Dialect | null;
      /** Whether it was not classified before, and so waits its turn among those that are to be. */
      readonly unseen: boolean;
    }
  | {
      readonly kind: 'migrations';
      readonly texts: readonly MigrationText[];
      readonly dialect: Dialect | null;
      readonly names: ReservedNames;
      /** Return what the review rules need instead of the statements. */
      readonly review: boolean;
    };
export type Answer = Verdict | MigrationVerdict | ReviewedVerdict | string;

/**
 * Runs tasks on this thread, except MySQL ones (`mysql/engine.ts`). If a text breaks the parser or makes it too large, the parser is replaced before
 * the next text (SQ-I6).
 */
export async function createEngine(): Promise<(task: Task) => Promise<Answer>> {
  await healthyParser();
  return async (task) => {
    const parser = await healthyParser();
    if (task.kind === 'redact') return redactText(parser, task.text, task.dialect);
    const dialect = task.kind === 'classify' ? task.options.dialect : task.dialect;
    if (dialect === 'mysql') throw new Error('no MySQL text is classified here');
    if (task.kind === 'migrations') return classifyMigrations(cutPostgresMigration(parser, dialect, task.names), task, true);
    return classifyText((text) => cutPostgresql(parser, text, dialect), task.text, task.options);
  };
}
