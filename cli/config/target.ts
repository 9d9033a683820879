import { resolve } from 'node:path';
import { failure } from '../failure.js';
import type { GlobalOptions } from '../options.js';
import { type ResultFormat, resultFormats } from '../output/result-format.js';
import type { Layers } from './layers.js';

/** The database of CL-09; none, or one that `[databases]` does not list, is `config_error`. */
export function databaseName(layers: Layers, options: GlobalOptions): string {
  const listed = [...new Set(layers.files.flatMap((file) => file.databases))];
  const name = options.database ?? layers.find('default_database')?.text ?? (listed.length === 1 ? listed[0] : undefined);
  if (name === undefined)
    throw failure('config_error', 'no database is named', {
      hint: 'use --database, SVC_DATABASE, or default_database in svc.toml',
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

/** `[results] format`, else `table`; another text is `config_error` (CL-14). */
export function defaultResultFormat(layers: Layers): ResultFormat {
  const value = layers.find('results.format');
  if (!value) return 'table';
  const format = resultFormats.find((known) => known === value.text);
  if (!format) throw failure('config_error', `${value.where}: must be one of ${resultFormats.join(', ')}`);
  return format;
}

/** The folder that keeps results (CL-17), or null. */
export function resultsDirectory(layers: Layers): string | null {
  const value = layers.find('results.dir');
  return value ? resolve(value.directory, value.text) : null;
}
