import { loadConfig } from './index.js';
import { formatProblem } from './problems.js';

export interface ConfigCheckOptions {
  /** The file; `server.toml` of the working directory by default (CF-1). */
  config?: string | undefined;
  /** Warnings too make the exit code 1. */
  strict?: boolean | undefined;
  format?: 'human' | 'json' | undefined;
  online?: boolean | undefined;
}

/** What the check reads and where it writes; the defaults are those of the process. */
export interface ConfigCheckSurroundings {
  environment: Record<string, string | undefined>;
  print(line: string): void;
  printError(line: string): void;
}

/** `svc config check` (CF-61): prints the findings of start and reload and changes nothing; answers the exit code: 0 valid, 1 errors, 2 usage. */
export async function runConfigCheck(options: ConfigCheckOptions, surroundings = ofProcess()): Promise<number> {
  const { config: file = 'server.toml', strict = false, format = 'human', online = false } = options;
  const { environment, print, printError } = surroundings;
  if (online) {
    printError('svc config check --online is not available in this version');
    return 2;
  }
  if (format !== 'human' && format !== 'json') {
    printError('--format must be human or json');
    return 2;
  }
  const loaded = loadConfig(file, environment);
  const errors = loaded.ok ? [] : loaded.errors;
  const { warnings } = loaded;
  const ok = errors.length === 0 && !(strict && warnings.length > 0);
  if (format === 'json') print(JSON.stringify({ ok, errors, warnings, changes: null }));
  else {
    for (const error of errors) print(formatProblem(error));
    for (const warning of warnings) print(`warning: ${formatProblem(warning)}`);
    print(ok ? `${file}: valid` : `${file}: ${count(errors.length, 'error')}, ${count(warnings.length, 'warning')}`);
  }
  return ok ? 0 : 1;
}

const ofProcess = (): ConfigCheckSurroundings => ({
  environment: process.env,
  print: (line) => void process.stdout.write(`${line}\n`),
  printError: (line) => void process.stderr.write(`${line}\n`),
});

const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'}`;
