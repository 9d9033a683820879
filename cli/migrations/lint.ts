import { join } from 'node:path';
import { bundleText, type Direction, maxBundleBytes, maxMigrations } from '../../domain/migration/bundle.js';
import type { JsonText } from '../../lib/json/read.js';
import type { Context } from '../context.js';
import { failure } from '../failure.js';
import { findingsOf } from '../output/findings.js';
import type { LocalMigration } from './directory.js';
import { placeIn } from './prepare.js';

/** What the review says of one statement of a file. */
export interface LintFinding {
  file: string;
  line: number;
  direction: Direction;
  version: string;
  code: string;
  action: 'block' | 'warn';
  message: string;
}

interface Linted {
  database: string;
  environment: string;
  /** The directory as shown to people. */
  path: string;
  dirSha256: string;
}

/** The findings of one direction, by preflights of as many files as a request takes (HD-95). Nothing is created. */
export async function lintDirection(
  context: Context,
  linted: Linted,
  direction: Direction,
  all: readonly LocalMigration[],
): Promise<LintFinding[]> {
  const chosen = all.filter((migration) => migration[direction] !== null);
  const findings: LintFinding[] = [];
  for (const bundle of bundles(chosen, direction, linted))
    findings.push(...(await lintBundle(context, linted, direction, bundle)));
  return findings;
}

/** Cuts the files so that each part fits into a request. */
function bundles(chosen: readonly LocalMigration[], direction: Direction, { dirSha256 }: Linted): LocalMigration[][] {
  const bytesOf = (migrations: LocalMigration[]) =>
    Buffer.byteLength(bundleText(migrations, direction, { dirSha256, maxCount: 1 }));
  const cut: { files: LocalMigration[]; bytes: number }[] = [];
  for (const migration of chosen) {
    // A file alone counts the frame again, so a part never exceeds the limit.
    const bytes = bytesOf([migration]);
    const last = cut.at(-1);
    if (last !== undefined && last.bytes + bytes <= maxBundleBytes && last.files.length < maxMigrations) {
      last.files.push(migration);
      last.bytes += bytes;
    } else cut.push({ files: [migration], bytes });
  }
  return cut.map(({ files }) => files);
}

/** How many files that do not parse are found one after another. */
const maxRefused = 20;

/** A file that is refused hides the others of its bundle, so it is left out of the next try. */
async function lintBundle(
  context: Context,
  linted: Linted,
  direction: Direction,
  bundle: readonly LocalMigration[],
): Promise<LintFinding[]> {
  const refused: LintFinding[] = [];
  let rest = [...bundle];
  while (rest.length > 0) {
    const answer = await ask(context, linted, direction, rest);
    const place = refusedAt(answer);
    const migration = place === null ? undefined : rest[place];
    if (migration === undefined) {
      refuseUnplaced(context, answer);
      return [...refused, ...findingsOf(answer).flatMap((finding) => locate(linted, direction, rest, finding))];
    }
    const first = findingsOf(answer)[0];
    if (first !== undefined) refused.push(found(linted, direction, migration, first));
    if (refused.length === maxRefused) return refused;
    rest = rest.filter((other) => other !== migration);
  }
  return refused;
}

async function ask(context: Context, linted: Linted, direction: Direction, files: LocalMigration[]): Promise<JsonText> {
  const { database, environment, dirSha256 } = linted;
  const sql = bundleText(files, direction, { dirSha256, maxCount: direction === 'down' ? 1 : null });
  const body = JSON.stringify({ database, environment, operation: `migrate_${direction}`, sql, include_explain: false });
  return (await context.client().call({ method: 'POST', path: ['api', 'preflight'], body, repeatable: true })).json();
}

/** Which file of the bundle is refused: its place is the hint of the refusal (PF-20). */
export function refusedAt(answer: JsonText): number | null {
  return placeIn(answer.get('fix_hints')?.items()[1]?.string() ?? null);
}

/** A refusal of the whole, such as no workflow policy for the pair. */
function refuseUnplaced({ what }: Context, answer: JsonText): void {
  const first = findingsOf(answer)[0];
  if (first !== undefined && ['rejected', 'parse_failure'].includes(first.get('code')?.string() ?? ''))
    throw failure('blocked', `${what}: ${first.get('message')?.string() ?? 'refused'}`);
}

function locate(linted: Linted, direction: Direction, files: readonly LocalMigration[], finding: JsonText): LintFinding[] {
  const version = finding.get('version')?.string();
  const migration = files.find((one) => one.version === version);
  return migration === undefined ? [] : [found(linted, direction, migration, finding)];
}

function found({ path }: Linted, direction: Direction, migration: LocalMigration, finding: JsonText): LintFinding {
  const text = (key: string) => finding.get(key)?.string() ?? '';
  const within = Number(finding.get('line')?.text ?? 1);
  return {
    file: join(path, migration.fileName),
    line: (migration[direction]?.line ?? 1) + within - 1,
    direction,
    version: migration.version,
    code: text('code'),
    action: text('action') === 'block' ? 'block' : 'warn',
    message: text('message'),
  };
}
