import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatProblem, loadConfig } from '../../config/index.js';
import type { Config, LoadedConfig } from '../../config/types.js';

/** The shortest file that loads; tests add to it. */
export const MINIMAL = 'state_dir = "state"\n[database]\nurl = "postgres://svc:pw@localhost/svc"\n';

type Environment = Record<string, string | undefined>;

/** Loads a text as `server.toml` in a folder of its own, with other files beside it. */
export function load(text: string, environment: Environment = {}, prepare: (directory: string) => void = () => {}): LoadedConfig {
  const directory = mkdtempSync(join(tmpdir(), 'svc-config-'));
  try {
    writeFileSync(join(directory, 'server.toml'), text);
    prepare(directory);
    return loadConfig(join(directory, 'server.toml'), environment);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** The configuration of a text that must be valid. */
export function configOf(text: string, environment: Environment = {}): Config {
  const loaded = load(text, environment);
  if (!loaded.ok) throw new Error(loaded.errors.map(formatProblem).join('\n'));
  return loaded.config;
}

/** The errors of a text in the form of CF-60, with the folder left out. */
export function errorsOf(text: string, environment: Environment = {}): string[] {
  const loaded = load(text, environment);
  return loaded.ok ? [] : loaded.errors.map((error) => formatProblem({ ...error, file: 'server.toml' }));
}

export function warningsOf(text: string, environment: Environment = {}): string[] {
  return load(text, environment).warnings.map(({ key, message }) => `${key}: ${message}`);
}
