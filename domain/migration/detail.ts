import { type Json, readJson } from '../canonical-json.js';
import { invalid } from '../errors.js';
import { type Direction, maxMigrations } from './bundle.js';
import { checkCanonical } from './canonical-check.js';
import { isVersion } from './version.js';

export interface Migration {
  version: string;
  /** In a `down` bundle, the down part (MI-10). */
  sql: string;
  transactional: boolean;
}

/** The detail of `migrate_up` or `migrate_down` (migrations.md section 2). */
export interface MigrationBundle {
  direction: Direction;
  /** In ascending file order, in both directions. */
  migrations: Migration[];
  dirSha256: string;
  /** Null = no cap. */
  maxCount: number | null;
}

/** The detail of `migrate_repair` (MI-14). */
export interface MigrationRepair {
  action: 'mark_applied' | 'remove';
  version: string;
}

/**
 * The checked bundle of a detail text. Throws `validation.failed` for a breach of MI-15 or MI-17; the hint is the path of the value, such as
 * `migrations[3].sql`, or `place` for the text as a whole.
 */
export function readBundle(detail: string, direction: Direction, place = whole): MigrationBundle {
  const members = readMembers(detail, place);
  if (stringOf(members.get('format'), 'format') !== 'v2') throw invalid('format must be v2', 'format');
  if (stringOf(members.get('direction'), 'direction') !== direction)
    throw invalid(`direction must be ${direction}, as the operation says`, 'direction');
  const migrations = itemsOf(members.get('migrations'), 'migrations').map(migrationOf);
  if (migrations.length === 0 || migrations.length > maxMigrations)
    throw invalid(`migrations must hold 1 to ${maxMigrations} entries`, 'migrations');
  checkOrder(migrations);
  checkVersions(members.get('versions'), migrations);
  const dirSha256 = stringOf(members.get('dir_sha256'), 'dir_sha256');
  return { direction, migrations, dirSha256, maxCount: maxCountOf(members.get('max_count'), direction) };
}

/** The checked detail of a repair. Throws as `readBundle` does. */
export function readRepair(detail: string): MigrationRepair {
  const members = readMembers(detail);
  const action = stringOf(members.get('action'), 'action');
  if (action !== 'mark_applied' && action !== 'remove') throw invalid('action must be mark_applied or remove', 'action');
  return { action, version: versionOf(members.get('version'), 'version') };
}

/** `migrate_status` takes no parameters (MI-14). */
export function checkStatusDetail(detail: string): void {
  if (detail !== '' && readMembers(detail).size > 0) throw invalid('detail of migrate_status must be empty or {}', whole);
}

/** Where the text as a whole stands in a creation. */
const whole = 'body.detail';

function readMembers(detail: string, place = whole): Map<string, Json> {
  const value = readJson(detail);
  if (value?.kind !== 'object') throw invalid('detail must be a JSON object of at most 200 levels', place);
  checkCanonical(value, place);
  return new Map(value.members);
}

function migrationOf(value: Json, index: number): Migration {
  const path = `migrations[${index}]`;
  if (value.kind !== 'object') throw invalid('must be an object', path);
  const members = new Map(value.members);
  const sql = stringOf(members.get('sql'), `${path}.sql`);
  if (sql.trim() === '') throw invalid('sql must not be blank', `${path}.sql`);
  return {
    version: versionOf(members.get('version'), `${path}.version`),
    sql,
    transactional: transactionalOf(members.get('transactional'), `${path}.transactional`),
  };
}

/** MI-02. */
function versionOf(value: Json | undefined, path: string): string {
  const version = stringOf(value, path);
  if (!isVersion(version)) throw invalid('a version has 1 to 255 characters of A-Z a-z 0-9 . -', path);
  return version;
}

function transactionalOf(value: Json | undefined, path: string): boolean {
  if (value === undefined) return true;
  if (value.kind !== 'scalar' || typeof value.value !== 'boolean') throw invalid('transactional must be true or false', path);
  return value.value;
}

/** Checks that files are in byte order of their names, where `_` follows the version (MI-01, MI-02). */
function checkOrder(migrations: readonly Migration[]): void {
  const seen = new Set<string>();
  for (const [index, { version }] of migrations.entries()) {
    const path = `migrations[${index}].version`;
    if (seen.has(version)) throw invalid('a version appears twice', path);
    seen.add(version);
    const before = migrations[index - 1];
    if (before !== undefined && !(`${before.version}_` < `${version}_`))
      throw invalid('migrations must stand in ascending order of their files', path);
  }
}

function checkVersions(value: Json | undefined, migrations: readonly Migration[]): void {
  const versions = itemsOf(value, 'versions');
  const differs = migrations.findIndex(({ version }, index) => {
    const listed = versions[index];
    return listed?.kind !== 'scalar' || listed.value !== version;
  });
  if (differs !== -1) throw invalid('versions must be those of migrations, in the same order', `versions[${differs}]`);
  if (versions.length > migrations.length)
    throw invalid('versions must be those of migrations, in the same order', `versions[${migrations.length}]`);
}

/** A number too large for JavaScript to count exactly caps nothing, so rounding it is harmless. */
function maxCountOf(value: Json | undefined, direction: Direction): number | null {
  const absent = value === undefined || (value.kind === 'scalar' && value.value === null);
  if (absent && direction === 'up') return null;
  const count = value?.kind === 'number' ? Number(value.text) : 0;
  if (count < 1) throw invalid('max_count must be an integer of at least 1', 'max_count');
  return Math.min(count, Number.MAX_SAFE_INTEGER);
}

function stringOf(value: Json | undefined, path: string): string {
  if (value?.kind !== 'scalar' || typeof value.value !== 'string') throw invalid('must be a string', path);
  return value.value;
}

function itemsOf(value: Json | undefined, path: string): Json[] {
  if (value?.kind !== 'array') throw invalid('must be an array', path);
  return value.items;
}
