import type { OutputMode } from './output/output.js';

/** Forms of standard output that CI systems read. */
export type FileFormat = 'github' | 'sarif';

/** Options of every client command (cli.md section 1). */
export interface GlobalOptions {
  config?: string;
  mergeGlobal?: boolean;
  database?: string;
  environment?: string;
  /** `github` and `sarif` are of `migrate lint` only. */
  format?: OutputMode | FileFormat;
  json?: boolean;
  allowInsecure?: boolean;
  yes?: boolean;
  color?: boolean;
  pager?: boolean;
}

/** The output mode according to the unparsed words, for errors before parsing (CL-01). */
export function modeOf(argv: readonly string[]): OutputMode {
  const words = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
  const given = words.flatMap((word, index) =>
    word === '--format' ? [words[index + 1]] : word.startsWith('--format=') ? [word.slice(9)] : [],
  );
  if (words.includes('--json')) return 'json';
  const last = given.at(-1);
  return last === 'json' || last === 'quiet' ? last : 'human';
}

/** With a format for CI systems, errors and notes are still written for people. */
export function outputMode({ json, format }: GlobalOptions): OutputMode {
  if (json === true) return 'json';
  return format === 'json' || format === 'quiet' ? format : 'human';
}

/** `--yes` or SVC_YES (CL-18). */
export function saysYes(options: GlobalOptions, environment: Record<string, string | undefined>): boolean {
  return options.yes === true || ['1', 'true', 'yes'].includes(environment.SVC_YES ?? '');
}

/** The words of a command line that are neither global options nor their values. */
export function plainWords(argv: readonly string[]): string[] {
  return argv.filter((word, index) => !word.startsWith('-') && !valueOptions.has(argv[index - 1] ?? ''));
}

const valueOptions = new Set(['--config', '--database', '-d', '--environment', '-e', '--format']);
