import { join } from 'node:path';
import { bundleText, chosenMigrations, type Direction, maxBundleBytes, maxMigrations } from '../../domain/migration/bundle.js';
import { isVersion } from '../../domain/migration/version.js';
import { databaseName, environmentName, migrationsDirectory } from '../config/target.js';
import { requireConfirmation, willAsk } from '../confirmation.js';
import type { Context } from '../context.js';
import { CommandFailure, failure } from '../failure.js';
import { deliver } from '../follow/deliver.js';
import { checkSubmitOptions, type SubmitOptions, submit } from '../follow/submit.js';
import { describePlan } from '../migrations/confirm-text.js';
import { type LocalMigration, type MigrationDirectory, readMigrations } from '../migrations/directory.js';
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
  const { terminal, output, what } = context;
  const { after } = options;
  checkSubmitOptions(context, options);
  if (after !== undefined && !isVersion(after)) throw failure('usage', `${what}: --after ${after} is no version`);
  const layers = context.layers();
  const database = databaseName(layers, context.options);
  const environment = environmentName(layers, context.options);
  const directory = readMigrations(what, migrationsDirectory(layers, context.options, terminal.directory), terminal.directory);
  const migrations = chosenMigrations(directory.migrations, direction, after);
  refuseCount(what, { direction, directory, chosen: migrations.length, after });
  const detail = bundleText(migrations, direction, { dirSha256: directory.sha256, maxCount });
  refuseSize(what, detail);
  context.client();
  const oneWay = direction === 'up' ? [] : directory.migrations.filter(({ down }) => down === null);
  const plan = { direction, target: `${database}/${environment}`, migrations, oneWay, maxCount };
  output.note(describePlan(plan, output.noteStyle));
  const content = { database, environment, operation: `migrate_${direction}`, detail };
  if (willAsk(context)) await noteFindings(context, content);
  await requireConfirmation(context, direction === 'up' ? 'Apply them?' : 'Revert?');
  const followed = submit(context, content, options).catch((error: unknown) => {
    throw error instanceof CommandFailure ? withFile(error, directory.path, migrations) : error;
  });
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

/** The server names the position in the request; people know the file. */
function withFile(error: CommandFailure, path: string, migrations: readonly LocalMigration[]): CommandFailure {
  const { code, message, hint, exit, data } = error;
  const at = /^migrations\[(\d+)\]/.exec(hint ?? '')?.[1];
  const migration = at === undefined ? undefined : migrations[Number(at)];
  return migration
    ? new CommandFailure(code, message, { hint: `${hint}: ${join(path, migration.fileName)}`, exit, data })
    : error;
}

function refuseCount(
  what: string,
  {
    direction,
    directory: { path, migrations },
    chosen,
    after,
  }: { direction: Direction; directory: MigrationDirectory; chosen: number; after: string | undefined },
): void {
  if (chosen > maxMigrations)
    throw failure('config_error', `${what}: ${chosen} migrations; a request takes at most ${maxMigrations}`, { hint: afterHint });
  if (chosen > 0) return;
  const which = direction === 'down' && migrations.length > 0 ? ' with a down part' : '';
  throw failure(
    'config_error',
    `${what}: ${path} has no migration${which}${after === undefined ? '' : ` after ${after}`}; nothing was sent`,
  );
}

function refuseSize(what: string, detail: string): void {
  const bytes = Buffer.byteLength(detail);
  if (bytes > maxBundleBytes)
    throw failure('config_error', `${what}: the migrations take ${bytes} bytes; a request takes at most ${maxBundleBytes}`, {
      hint: afterHint,
    });
}

const afterHint = '--after VERSION sends only the files after that one; name the last one that is applied everywhere';
