import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Root of the clone that holds these sources, or the programs built from them. */
export const clone = resolve(fileURLToPath(new URL('..', import.meta.url)));

/** Where one development gateway keeps its files (DV-3). */
export interface Layout {
  data: string;
  state: string;
  postgres: string;
  temporalDb: string;
  tokens: string;
  passwords: string;
  /** Exists once the play has run to its end. */
  played: string;
  run: string;
  lock: string;
}

/** The demo's folder; for a given `server.toml` a folder beside it, so that two gateways never share a database. */
export function defaultData(config: string | undefined): string {
  if (config === undefined) return join(clone, '.svc');
  return join(dirname(resolve(config)), '.svc', `for-${basename(config, '.toml')}`);
}

export function layoutOf(data: string): Layout {
  return {
    data,
    state: join(data, 'state'),
    postgres: join(data, 'postgres'),
    temporalDb: join(data, 'temporal.db'),
    tokens: join(data, 'tokens'),
    passwords: join(data, 'passwords.json'),
    played: join(data, 'played'),
    run: join(data, 'run'),
    lock: join(data, 'run', 'lock'),
  };
}
