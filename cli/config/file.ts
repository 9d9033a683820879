import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { isTable, kindOfConfig, misplaced } from '../../lib/config-kind.js';
import { fileFault } from '../../lib/file-fault.js';
import { nearest } from '../../lib/nearest.js';
import { failure } from '../failure.js';

/** One configuration file as written: known keys by their dotted path, unexpanded (CL-04). */
export interface FileLayer {
  kind: 'global' | 'project';
  /** Found in the working directory, not named by the user: a stranger may have written it (HD-60). */
  isFound: boolean;
  path: string;
  directory: string;
  values: ReadonlyMap<string, string | boolean>;
  /** The names under `[databases]`, in file order. */
  databases: readonly string[];
  hasOidc: boolean;
}

/** Reads a configuration file; null when missing. Bad TOML and wrong types are `config_error`; unknown keys give a warning. */
export function readConfigFile(
  path: string,
  { kind, isFound }: Pick<FileLayer, 'kind' | 'isFound'>,
  warn: (text: string) => void,
): FileLayer | null {
  const text = readText(path);
  if (text === null) return null;
  const root = parseToml(text, path);
  const own = kindOfConfig(root);
  if (!isFound && (own === 'server.toml' || own === 'agent.toml')) throw failure('config_error', `${path}: ${misplaced[own]}`);
  const values = new Map<string, string | boolean>();
  const databases: string[] = [];
  walk(root, [], (keys, value) => {
    const name = keys.join('.');
    const known = keys[0] === 'databases' && keys.length === 3 ? `databases.*.${keys[2]}` : name;
    if (keys[0] === 'databases' && keys.length === 2 && isTable(value)) return databases.push(keys[1]!);
    if (tables.has(name) && isTable(value)) return;
    if (!textKeys.has(known) && known !== 'server.allow_insecure') return warn(`${path}: unknown key ${name}${meant(name)}`);
    if (typeof value !== 'string' && !(known === 'server.allow_insecure' && typeof value === 'boolean'))
      throw failure('config_error', `${path}: ${name} must be a ${known === 'server.allow_insecure' ? 'boolean' : 'string'}`);
    values.set(name, value);
  });
  if (values.has('server.token') && values.has('server.token_file'))
    throw failure('config_error', `${path}: server.token and server.token_file cannot both be set`);
  return {
    kind,
    isFound,
    path,
    directory: dirname(resolve(path)),
    values,
    databases,
    hasOidc: isTable((root.server as Table | undefined)?.oidc),
  };
}

type Table = Record<string, unknown>;

const tables = new Set(['server', 'server.oidc', 'databases', 'results']);

const textKeys = new Set([
  'default_database',
  'default_environment',
  'migrations_dir',
  'server.url',
  'server.token',
  'server.token_file',
  'server.ca_file',
  'server.oidc.issuer',
  'server.oidc.client_id',
  'server.oidc.discovery_url',
  'server.oidc.backchannel_url',
  'server.oidc.browser_url',
  'server.oidc.scopes',
  'server.oidc.bearer',
  'databases.*.migrations_dir',
  'results.dir',
  'results.format',
]);

function meant(name: string): string {
  const near = nearest(name, [...textKeys, ...tables, 'server.allow_insecure']);
  return near === null ? '' : ` (did you mean ${near}?)`;
}

function readText(path: string): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(readFileSync(path)));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    const reason = code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'it is not UTF-8' : fileFault(error);
    throw failure('config_error', `${path}: cannot be read: ${reason}`);
  }
}

/** Shows only the first line of the parser's message: the rest quotes the file, which may hold a token (CL-02). */
function parseToml(text: string, path: string): Table {
  try {
    return parse(text) as Table;
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    throw failure('config_error', `${path}:${error.line}:${error.column}: ${error.message.split('\n')[0]}`);
  }
}

/** Visits tables before their members; visits an unknown table once and does not enter it. */
function walk(table: Table, keys: readonly string[], visit: (keys: readonly string[], value: unknown) => void): void {
  for (const [key, value] of Object.entries(table)) {
    const path = [...keys, key];
    visit(path, value);
    const isKnown = tables.has(path.join('.')) || (path[0] === 'databases' && path.length === 2);
    if (isTable(value) && isKnown) walk(value, path, visit);
  }
}
