import { formatProblem, type Lookup, loadConfigForUse } from '../../config/index.js';
import type { ConfigProblem } from '../../config/types.js';
import { GatewayError } from '../../domain/errors.js';
import { countOf } from '../../lib/counts.js';
import { ConfigError, StartError } from '../start-error.js';
import { type Changes, checkOnline } from './online-check.js';
import { type Say, standardStreams } from './say.js';

export interface ConfigCheckOptions {
  config: string;
  /** Also runs the checks that need the database. */
  online?: boolean | undefined;
  /** Warnings also make the exit code 1. */
  strict?: boolean | undefined;
  format: 'human' | 'json';
  /** How hosts of webhooks are looked up; default the system's resolver. */
  lookup?: Lookup;
}

interface Report {
  ok: boolean;
  errors: readonly ConfigProblem[];
  warnings: readonly ConfigProblem[];
  changes: Changes | null;
}

/** `svc config check` (CF-61): prints what a start or reload would find, and changes nothing. The exit code is 0 for a valid file, otherwise 1. */
export async function runConfigCheck(
  options: ConfigCheckOptions,
  environment: Record<string, string | undefined> = process.env,
  say: Say = standardStreams,
): Promise<number> {
  const { config: file, strict = false, format } = options;
  const found = await check(options, environment);
  const report = { ok: found.errors.length === 0 && !(strict && found.warnings.length > 0), ...found };
  if (format === 'json') say.out(JSON.stringify(report));
  else tell(report, file, say);
  return report.ok ? 0 : 1;
}

async function check(
  { config: file, online = false, lookup }: ConfigCheckOptions,
  environment: Record<string, string | undefined>,
): Promise<Omit<Report, 'ok'>> {
  const loaded = await loadConfigForUse(file, environment, lookup);
  const { warnings } = loaded;
  if (!loaded.ok) return { errors: loaded.errors, warnings, changes: null };
  if (!online) return { errors: [], warnings, changes: null };
  try {
    const seen = await checkOnline({ ...loaded.config, file }, loaded.positions);
    return { errors: [], warnings: [...warnings, ...seen.warnings], changes: seen.changes };
  } catch (error) {
    return { errors: problemsOf(error, file), warnings, changes: null };
  }
}

function problemsOf(error: unknown, file: string): readonly ConfigProblem[] {
  if (error instanceof ConfigError) return error.problems;
  const at = { file, line: 1, column: 1, key: '', hint: null };
  if (error instanceof GatewayError) return [{ ...at, message: 'the gateway database went away during the check' }];
  if (error instanceof StartError) return error.lines.map((line) => ({ ...at, message: line.replace(`${file}: `, '') }));
  throw error;
}

function tell({ ok, errors, warnings, changes }: Report, file: string, { out }: Say): void {
  for (const error of errors) out(formatProblem(error));
  for (const warning of warnings) out(`warning: ${formatProblem(warning)}`);
  if (changes !== null) describe(changes).forEach(out);
  out(ok ? `${file}: valid` : `${file}: ${countOf(errors.length, 'error')}, ${countOf(warnings.length, 'warning')}`);
}

function describe({ in_force, next, sections, removed_groups }: Changes): string[] {
  if (next === null) return [`no change to what all processes share: generation ${in_force} stays in force`];
  const from = in_force === null ? 'no generation is in force' : `generation ${in_force} is in force`;
  return [
    `${from}; this file makes generation ${next}${sections.length === 0 ? '' : `: ${sections.join(', ')}`}`,
    ...removed_groups.map(({ group, members }) => `group ${group} is removed: ${countOf(members, 'member')} will lose it`),
  ];
}
