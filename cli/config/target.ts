import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { failure } from '../failure.js';
import type { GlobalOptions } from '../options.js';
import { type ResultFormat, resultFormats } from '../output/result-format.js';
import { isBelow } from './credential.js';
import type { Layers } from './layers.js';

/** The database of CL-09; `config_error` when there is none or `[databases]` does not list it. */
export function databaseName(layers: Layers, options: GlobalOptions): string {
  const listed = listedDatabases(layers);
  const name = options.database ?? layers.find('default_database')?.text ?? (listed.length === 1 ? listed[0] : undefined);
  if (name === undefined)
    throw failure('config_error', 'no database is named', {
      hint: 'use --database, SVC_DATABASE, or default_database in svc.toml; svc databases lists those that you can see',
    });
  if (listed.length > 0 && !listed.includes(name))
    throw failure('config_error', `the database ${name} is not listed under [databases]`, {
      hint: `listed: ${listed.join(', ')}`,
    });
  return name;
}

/** The environment of CL-09. */
export function environmentName(layers: Layers, options: GlobalOptions): string {
  return options.environment ?? layers.find('default_environment')?.text ?? 'development';
}

/** `[results] format`, else `table`; other values are `config_error` (CL-14). */
export function defaultResultFormat(layers: Layers): ResultFormat {
  const value = layers.find('results.format');
  if (!value) return 'table';
  const format = resultFormats.find((known) => known === value.text);
  if (!format) throw failure('config_error', `${value.where}: must be one of ${resultFormats.join(', ')}`);
  return format;
}

/** The folder where results are kept (CL-17), or null. A file that was found may name one below its own folder only: a stranger may have written it (HD-60). */
export function resultsDirectory(layers: Layers): string | null {
  const value = layers.find('results.dir');
  if (!value) return null;
  const directory = resolve(value.directory, value.text);
  if (layers.found !== null && value.layer === 'project' && !isBelow(realpathSync(value.directory), whereItLies(directory)))
    throw failure('config_error', `${value.where}: ${directory} is outside the folder of the file that names it`, {
      hint: 'choose a folder below it, or set results.dir in your own config.toml',
    });
  return directory;
}

/** The path without symbolic links, as far as it exists. */
function whereItLies(path: string): string {
  if (existsSync(path) || dirname(path) === path) return realpathSync(path);
  return join(whereItLies(dirname(path)), basename(path));
}

/**
 * The folder with a database's migrations (CL-09): its own; else the common one, with a subfolder for each database when several
 * are configured. Without a name, the folder of the only configured database.
 */
export function migrationsDirectory(layers: Layers, options: GlobalOptions, workingDirectory: string): string {
  const listed = listedDatabases(layers);
  const isNamed = options.database !== undefined || layers.find('default_database') !== undefined || listed.length > 0;
  const name = isNamed ? databaseName(layers, options) : null;
  const own = name === null ? undefined : layers.find(`databases.${name}.migrations_dir`);
  if (own) return resolve(own.directory, own.text);
  const common = layers.find('migrations_dir') ?? { directory: workingDirectory, text: 'migrations' };
  return resolve(common.directory, common.text, ...(listed.length > 1 ? [name!] : []));
}

const listedDatabases = (layers: Layers) => [...new Set(layers.files.flatMap((file) => file.databases))];
