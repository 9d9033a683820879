import { resolve } from 'node:path';
import { failure } from '../failure.js';
import type { GlobalOptions } from '../options.js';
import type { Terminal } from '../terminal.js';
import { expand, expandFound, readsEnvironment } from './expansion.js';
import { type FileLayer, readConfigFile } from './file.js';

export type LayerName = 'global' | 'project' | 'environment';

/** A value with its layer; relative paths start at `directory`. */
export interface Layered {
  text: string;
  layer: LayerName;
  where: string;
  directory: string;
}

/** The configuration of CL-03: files, then environment; callers apply the options. */
export interface Layers {
  /** Highest first. */
  files: readonly FileLayer[];
  /** The project file found in the working directory and not named by the user (HD-60), or null. */
  found: FileLayer | null;
  /** Whether a value of the found file, used or not, reads a variable. */
  foundReadsEnvironment: boolean;
  /** The value of a key from its environment variable or the highest file, expanded; undefined when unset. */
  find(key: string): Layered | undefined;
  /** The value of a key's environment variable; an empty variable counts as unset (CL-05). */
  inEnvironment(key: string): Layered | undefined;
  /** The value of a key in one file, expanded. */
  inFile(file: FileLayer, key: string): Layered | undefined;
}

/** Reads the files of CL-03. A missing `--config` or SVC_CONFIG file is `config_error`. */
export function loadLayers(options: GlobalOptions, terminal: Terminal, warn: (text: string) => void): Layers {
  const { environment, directory } = terminal;
  const files = readFiles(options, terminal, warn);
  const inFile = (file: FileLayer, key: string): Layered | undefined => {
    const value = file.values.get(key);
    if (value === undefined) return undefined;
    const where = `${file.path}: ${key}`;
    const text = String(value);
    const expanded = file.isFound ? expandFound(text, where, key, environment) : expand(text, where, environment);
    return { text: expanded, layer: file.kind, where, directory: file.directory };
  };
  const inEnvironment = (key: string): Layered | undefined => {
    const variable = variables[key];
    const text = variable === undefined ? undefined : environment[variable];
    return text ? { text, layer: 'environment', where: variable!, directory } : undefined;
  };
  const found = files.find((file) => file.isFound) ?? null;
  return {
    files,
    found,
    foundReadsEnvironment: [...(found?.values.values() ?? [])].some((value) => readsEnvironment(String(value), environment)),
    inEnvironment,
    inFile,
    find(key) {
      const set = inEnvironment(key);
      if (set) return set;
      for (const file of files) {
        const value = inFile(file, key);
        if (value) return value;
      }
      return undefined;
    },
  };
}

/** The parent folder of the user's own files, such as `svc/config.toml`. */
export function configDirectory(environment: Record<string, string | undefined>, platform: string): string | null {
  if (platform === 'win32') return environment.APPDATA || null;
  if (environment.XDG_CONFIG_HOME) return environment.XDG_CONFIG_HOME;
  return environment.HOME ? `${environment.HOME}/.config` : null;
}

const variables: Record<string, string> = {
  'server.url': 'SVC_SERVER_URL',
  'server.token': 'SVC_TOKEN',
  'server.allow_insecure': 'SVC_ALLOW_INSECURE',
  default_database: 'SVC_DATABASE',
  default_environment: 'SVC_ENV',
};

function readFiles(options: GlobalOptions, terminal: Terminal, warn: (text: string) => void): FileLayer[] {
  const { environment, directory } = terminal;
  const named = options.config ?? (environment.SVC_CONFIG || undefined);
  const project = readConfigFile(
    named === undefined ? resolve(directory, 'svc.toml') : resolve(directory, named),
    { kind: 'project', isFound: named === undefined },
    warn,
  );
  if (named !== undefined && project === null) throw failure('config_error', `${named}: no such file`);
  if (project) warnOfProject(project, warn);
  const base = named === undefined || options.mergeGlobal === true ? configDirectory(environment, process.platform) : null;
  const global = base === null ? null : readConfigFile(resolve(base, 'svc', 'config.toml'), globalFile, warn);
  if (global) warnOfGlobal(global, warn);
  return [project, global].filter((file) => file !== null);
}

const globalFile = { kind: 'global', isFound: false } as const;

/** A reference such as `${CI_TOKEN}` keeps the token out of the file. */
function warnOfProject(file: FileLayer, warn: (text: string) => void): void {
  const token = file.values.get('server.token');
  if (typeof token === 'string' && !token.includes('${'))
    warn(`${file.path}: a token in a project file is easily shared by mistake; use token_file, SVC_TOKEN or the global file`);
}

function warnOfGlobal(file: FileLayer, warn: (text: string) => void): void {
  if (file.values.has('migrations_dir') || file.databases.length > 0)
    warn(`${file.path}: migrations_dir and [databases] belong into a project's svc.toml`);
}
