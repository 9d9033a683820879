import { chosenMigrations, type Direction } from '../../domain/migration/bundle.js';
import { isVersion } from '../../domain/migration/version.js';
import { countOf } from '../../lib/counts.js';
import { databaseName, environmentName, migrationsDirectory } from '../config/target.js';
import type { Context } from '../context.js';
import { CommandFailure, failure } from '../failure.js';
import { readMigrations } from '../migrations/directory.js';
import { type LintFinding, lintDirection } from '../migrations/lint.js';
import { githubText, lintText, sarifText } from '../output/lint-format.js';
import type { Answer } from '../output/output.js';

export interface LintOptions {
  direction?: Direction;
  after?: string;
  strict?: boolean;
}

/** `svc migrate lint` (MI-53): what the review rules find in the files; exit 1 when one blocks, with `--strict` when there is any. */
export async function lintMigrations(context: Context, _: readonly string[], options: LintOptions): Promise<Answer> {
  const { what, terminal } = context;
  const { after } = options;
  if (after !== undefined && !isVersion(after)) throw failure('usage', `${what}: --after ${after} is not a version`);
  const layers = context.layers();
  const [database, environment] = [databaseName(layers, context.options), environmentName(layers, context.options)];
  const directory = readMigrations(what, migrationsDirectory(layers, context.options, terminal.directory), terminal.directory);
  const files = chosenMigrations(directory.migrations, 'up', after);
  const linted = { database, environment, path: directory.path, dirSha256: directory.sha256 };
  const directions: Direction[] = options.direction === undefined ? ['up', 'down'] : [options.direction];
  const findings: LintFinding[] = [];
  for (const direction of directions) findings.push(...(await lintDirection(context, linted, direction, files)));
  findings.sort((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line));
  return ending(context, { findings, files: files.length, strict: options.strict === true });
}

interface Ending {
  findings: LintFinding[];
  files: number;
  strict: boolean;
}

function ending(context: Context, { findings, files, strict }: Ending): Answer {
  const blocking = findings.filter(({ action }) => action === 'block').length;
  const blocked = blocking > 0 || (strict && findings.length > 0);
  const data = JSON.stringify({ files, findings, blocked });
  const human = () => textOf(context, findings);
  const summary = `${countOf(files, 'file')}, ${countOf(findings.length, 'finding')}`;
  if (!blocked) return { data, human, note: summary };
  const why = blocking > 0 ? `${blocking} of them blocking` : 'and --strict allows none';
  throw new CommandFailure('blocked', `${context.what}: ${summary}, ${why}`, {
    exit: 1,
    data,
    human,
  });
}

function textOf({ options, output }: Context, findings: readonly LintFinding[]): string {
  if (options.format === 'github') return githubText(findings);
  return options.format === 'sarif' ? sarifText(findings) : lintText(findings, output.style);
}
