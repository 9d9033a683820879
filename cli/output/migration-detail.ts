import { countOf } from '../../lib/counts.js';
import { type JsonText, readJson } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import { type Applied, foldedText } from './applied.js';
import { digits } from './numbers.js';
import { highlightSql } from './sql.js';
import type { Style } from './style.js';

/** Which migrations a reader sees without their SQL, and what shows it. */
export interface Folding {
  applied: Applied | null;
  hint: string;
}

/**
 * A migrate request's detail for its approvers: each version with its SQL; null for other operations and shapes. Applied ones are folded, with a word of
 * where they stand: they are approved too, and would run if they were reverted before this runs.
 */
export function migrationDetailLines(
  operation: string,
  detail: string,
  { applied, hint }: Folding,
  style: Style,
): string[] | null {
  if (operation === 'migrate_status') return [];
  const bundle = readDetail(operation, detail);
  if (bundle === null) return null;
  if (operation === 'migrate_repair') return [repairLine(bundle)];
  const sum = bundle.get('dir_sha256')?.string();
  const isDone = (migration: JsonText) => applied?.versions.has(migration.get('version')?.string() ?? '') === true;
  const all = migrationsOf(bundle);
  const done = all.filter(isDone).map((migration) => textOf(migration, 'version'));
  const folded = `${foldedText(done, applied?.seenAt ?? '', style)}; ${hint}`;
  return [
    ruleLine(bundle),
    ...(sum == null ? [] : [style.dim(`directory hash ${visible(sum)}`)]),
    ...(done.length === 0 ? [] : [style.dim(folded)]),
    ...all
      .filter((migration) => !isDone(migration))
      .flatMap((migration) => ['', headLine(migration, style), ...sqlLines(migration, style)]),
  ];
}

/** The same on one line: `up: 20260101, 20260102`; null for other operations and shapes. */
export function migrationDetailLine(operation: string, detail: string): string | null {
  if (operation === 'migrate_status') return 'which versions are applied';
  const bundle = readDetail(operation, detail);
  if (bundle === null) return null;
  if (operation === 'migrate_repair') return repairLine(bundle);
  const versions = migrationsOf(bundle).map((migration) => textOf(migration, 'version'));
  return `${textOf(bundle, 'direction')}: ${versions.length > 2 ? `${versions.length} files to ` : ''}${versions.slice(versions.length > 2 ? -1 : 0).join(', ')}`;
}

function readDetail(operation: string, detail: string): JsonText | null {
  if (!operation.startsWith('migrate_')) return null;
  try {
    const value = readJson(detail);
    return value.kind === 'object' ? value : null;
  } catch {
    return null;
  }
}

const migrationsOf = (bundle: JsonText) => bundle.get('migrations')?.items() ?? [];
const textOf = (object: JsonText, key: string) => visible(object.get(key)?.string() ?? '');

const repairLine = (repair: JsonText) => `${textOf(repair, 'action').replaceAll('_', ' ')} ${textOf(repair, 'version')}`;

function ruleLine(bundle: JsonText): string {
  const cap = digits(bundle.get('max_count'));
  const files = migrationsOf(bundle).length;
  const sent = countOf(files, 'file');
  if (textOf(bundle, 'direction') === 'down') return `reverts the ${cap ?? '1'} latest applied of ${sent}`;
  return `applies the pending ones of ${sent}${cap === undefined ? '' : `, at most ${cap}`}`;
}

function headLine(migration: JsonText, style: Style): string {
  const without = migration.get('transactional')?.text === 'false' ? style.yellow('  (without a transaction)') : '';
  return `${style.bold(textOf(migration, 'version'))}${without}`;
}

const sqlLines = (migration: JsonText, style: Style) =>
  highlightSql(migration.get('sql')?.string() ?? '', style)
    .split('\n')
    .map((line) => `  ${line}`);
