import type { Direction } from '../../domain/migration/bundle.js';
import { requireConfirmation, willAsk } from '../confirmation.js';
import type { Context } from '../context.js';
import { CommandFailure } from '../failure.js';
import { deliver } from '../follow/deliver.js';
import { checkSubmitOptions, type SubmitOptions } from '../follow/submit.js';
import { describePlan } from '../migrations/confirm-text.js';
import { prepareMigrations, submitMigrations } from '../migrations/prepare.js';
import { findingLines } from '../output/findings.js';
import type { Answer } from '../output/output.js';

export interface MigrateOptions extends SubmitOptions {
  count?: number;
  after?: string;
}

/** `svc migrate up`: sends every file, or those after a version; the agent knows which are applied (MI-10). */
export function migrateUp(context: Context, _: readonly string[], options: MigrateOptions): Promise<Answer> {
  return migrate(context, 'up', options, options.count ?? null);
}

/** `svc migrate down`: sends every file with a down part, and how many to revert (MI-10). */
export function migrateDown(context: Context, _: readonly string[], options: MigrateOptions): Promise<Answer> {
  return migrate(context, 'down', options, options.count ?? 1);
}

async function migrate(
  context: Context,
  direction: Direction,
  options: MigrateOptions,
  maxCount: number | null,
): Promise<Answer> {
  const { output } = context;
  checkSubmitOptions(context, options);
  const prepared = prepareMigrations(context, direction, { after: options.after, maxCount });
  const { content, directory, migrations } = prepared;
  context.client();
  const oneWay = direction === 'up' ? [] : directory.migrations.filter(({ down }) => down === null);
  const plan = { direction, target: `${content.database}/${content.environment}`, migrations, oneWay, maxCount };
  output.note(describePlan(plan, output.noteStyle));
  if (willAsk(context)) await noteFindings(context, content);
  await requireConfirmation(context, direction === 'up' ? 'Apply them?' : 'Revert?');
  const followed = submitMigrations(context, prepared, options);
  const names = new Map(migrations.map(({ version, name }) => [version, name]));
  return deliver(context, followed, { names }, (id) => output.noteStyle.dim(`request ${id} executed`));
}

/**
 * Shows what the review rules find before the confirmation. Silent when the caller may not ask or the server is older; the
 * request itself is judged anyway.
 */
async function noteFindings(
  context: Context,
  { detail: sql, ...target }: { database: string; environment: string; operation: string; detail: string },
) {
  try {
    const body = JSON.stringify({ ...target, sql, include_explain: false });
    const reply = await context.client().call({ method: 'POST', path: ['api', 'preflight'], body, repeatable: false });
    const lines = findingLines(reply.json(), context.output.noteStyle);
    if (lines.length > 0) context.output.note(lines.join('\n'));
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.code === 'interrupted') throw error;
  }
}
