import { join } from 'node:path';
import { bundleText, chosenMigrations, type Direction, maxBundleBytes, maxMigrations } from '../../domain/migration/bundle.js';
import { isVersion } from '../../domain/migration/version.js';
import { databaseName, environmentName, migrationsDirectory } from '../config/target.js';
import type { Context } from '../context.js';
import { CommandFailure, failure } from '../failure.js';
import type { Followed } from '../follow/outcome.js';
import { type Content, type SubmitOptions, submit } from '../follow/submit.js';
import { type LocalMigration, type MigrationDirectory, readMigrations } from './directory.js';

export interface Prepared {
  content: Content & { operation: string };
  directory: MigrationDirectory;
  /** Those that are sent. */
  migrations: LocalMigration[];
}

/** The files of a run as the content of its request (MI-10). A null `maxCount` sets no limit. */
export function prepareMigrations(
  context: Context,
  direction: Direction,
  { after, maxCount }: { after: string | undefined; maxCount: number | null },
): Prepared {
  const { terminal, what } = context;
  if (after !== undefined && !isVersion(after)) throw failure('usage', `${what}: --after ${after} is not a version`);
  const layers = context.layers();
  const database = databaseName(layers, context.options);
  const environment = environmentName(layers, context.options);
  const directory = readMigrations(what, migrationsDirectory(layers, context.options, terminal.directory), terminal.directory);
  const migrations = chosenMigrations(directory.migrations, direction, after);
  refuseCount(what, { direction, directory, chosen: migrations.length, after });
  const detail = bundleText(migrations, direction, { dirSha256: directory.sha256, maxCount });
  refuseSize(what, detail);
  return { content: { database, environment, operation: `migrate_${direction}`, detail }, directory, migrations };
}

/** Creates the request and follows it. A refusal of one migration names its file. */
export async function submitMigrations(context: Context, prepared: Prepared, options: SubmitOptions): Promise<Followed> {
  try {
    return await submit(context, prepared.content, options);
  } catch (error) {
    throw error instanceof CommandFailure ? withFile(error, prepared) : error;
  }
}

function withFile(error: CommandFailure, prepared: Prepared): CommandFailure {
  const { code, message, exit, data } = error;
  const hint = fileHint(prepared, placeIn(error.hint));
  return hint === null ? error : new CommandFailure(code, message, { hint, exit, data });
}

/** The server names the position in the request; people know the file. */
export function fileHint({ directory, migrations }: Prepared, place: number | null): string | null {
  const migration = place === null ? undefined : migrations[place];
  return migration === undefined ? null : `in ${join(directory.path, migration.fileName)}`;
}

/** The position of the migration that a hint names. */
export function placeIn(hint: string | null): number | null {
  const at = /^migrations\[(\d+)\]/.exec(hint ?? '')?.[1];
  return at === undefined ? null : Number(at);
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
