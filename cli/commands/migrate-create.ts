import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileNameOf, newVersion } from '../../domain/migration/version.js';
import { fileFault } from '../../lib/file-fault.js';
import { migrationsDirectory } from '../config/target.js';
import type { Context } from '../context.js';
import { failure } from '../failure.js';
import { migrationNames } from '../migrations/directory.js';
import type { Answer } from '../output/output.js';

/** `svc migrate create NAME` (MI-06): creates the directory and an empty migration; never overwrites a file. */
export async function createMigration(context: Context, [name]: readonly string[]): Promise<Answer> {
  const { terminal, what, layers, options } = context;
  if (!name?.trim() || name.length > 200) throw failure('usage', `${what}: a name has 1 to 200 characters`);
  const directory = migrationsDirectory(layers(), options, terminal.directory);
  const shown = relative(terminal.directory, directory) || '.';
  const taken = new Set(migrationNames(what, directory, shown, true).map((file) => file.split('_', 1)[0]!));
  const version = newVersion(terminal.now(), taken);
  const path = join(shown, fileNameOf(version, name));
  try {
    mkdirSync(directory, { recursive: true });
    // `wx` fails for a file created in the meantime.
    writeFileSync(join(directory, fileNameOf(version, name)), empty, { flag: 'wx' });
  } catch (error) {
    throw failure('config_error', `${what}: ${path} cannot be written (${fileFault(error)})`);
  }
  return {
    data: JSON.stringify({ version, path }),
    human: () => `${path}\n`,
    note: 'Write the SQL below each of the two marker lines, then: svc migrate up',
  };
}

const empty = '-- migrate:up\n\n\n-- migrate:down\n\n';
