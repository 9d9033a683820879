import type { Direction } from '../../domain/migration/bundle.js';
import type { JsonText } from '../../lib/json/read.js';
import { objectText } from '../../lib/json/write.js';
import { visible } from '../../lib/visible.js';
import { requireAnswer, requireConfirmation, willAsk } from '../confirmation.js';
import type { Context } from '../context.js';
import { failure } from '../failure.js';
import { deliver } from '../follow/deliver.js';
import { checkSubmitOptions, type SubmitOptions } from '../follow/submit.js';
import { askPreflight } from '../look-first.js';
import { describePlan } from '../migrations/confirm-text.js';
import { refusedAt } from '../migrations/lint.js';
import { fileHint, type Prepared, prepareMigrations, submitMigrations } from '../migrations/prepare.js';
import { saysYes } from '../options.js';
import { type Applied, readApplied } from '../output/applied.js';
import { findingLines, whyBlocked } from '../output/findings.js';
import { detailInstant } from '../output/instant.js';
import type { Answer } from '../output/output.js';

export interface MigrateOptions extends SubmitOptions {
  count?: number;
  after?: string;
  preflight?: boolean;
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
  const looked = options.preflight === false || options.idempotencyKey !== undefined ? null : await look(context, content);
  const applied = readApplied(looked);
  const target = `${content.database}/${content.environment}`;
  if (direction === 'up' && applied !== null && migrations.every(({ version }) => applied.versions.has(version)))
    return nothingToDo(context, applied, migrations.length, target);
  if (options.emergency !== true) refuseBlocked(context, prepared, looked);
  requireAnswer(context);
  const plan = { direction, target, migrations, oneWay, maxCount, applied };
  output.note(describePlan(plan, output.noteStyle));
  if (willAsk(context) && looked !== null) noteFindings(context, looked);
  await requireConfirmation(context, direction === 'up' ? 'Apply them?' : 'Revert?');
  const followed = submitMigrations(context, prepared, options);
  const names = new Map(migrations.map(({ version, name }) => [version, name]));
  return deliver(context, followed, { names }, ({ id }) => output.noteStyle.dim(`request ${id} executed`));
}

/** What the server says of the bundle (HD-95, MI-45). */
const look = (context: Context, { detail: sql, ...target }: Prepared['content']): Promise<JsonText | null> =>
  askPreflight(context, { ...target, sql, include_explain: false });

/** Says what is wrong before `--yes` is asked for. With `--yes` the creation refuses it in its own words. */
function refuseBlocked({ what, options, terminal }: Context, prepared: Prepared, looked: JsonText | null): void {
  if (looked?.get('status')?.string() !== 'blocked' || saysYes(options, terminal.environment)) return;
  throw failure('blocked', `${what}: blocked: ${whyBlocked(looked)}`, {
    hint: fileHint(prepared, refusedAt(looked)) ?? 'nothing was sent; svc migrate lint shows more',
  });
}

function noteFindings({ output }: Context, looked: JsonText): void {
  const lines = findingLines(looked, output.noteStyle);
  if (lines.length > 0) output.note(lines.join('\n'));
}

/** An agent saw that every version is applied, so no request is made. What was reverted since then without the gateway, only `--no-preflight` finds. */
function nothingToDo({ output }: Context, { seenAt }: Applied, count: number, target: string): Answer {
  return {
    data: objectText({ nothing_to_do: true, seen_at: seenAt, migrations: count }),
    human: () =>
      `Nothing to do: ${count === 1 ? 'the migration' : `all ${count} migrations`} for ${target} ${count === 1 ? 'is' : 'are'} applied, seen at ${detailInstant(visible(seenAt), output.style)}.\n`,
    note: output.noteStyle.dim('no request was made; --no-preflight makes one'),
  };
}
