import type { Schema } from '../http/client.js';

/** What kind of change an operation is, in a few words. */
const operationWords = {
  execute_select: 'read',
  execute_dml: 'write',
  migrate_up: 'migrate up',
  migrate_down: 'migrate down',
  migrate_status: 'migration status',
  migrate_repair: 'migration repair',
} as const satisfies Record<Schema['Request']['operation'], string>;

export const operations = Object.entries(operationWords);

const words: ReadonlyMap<string, string> = new Map(operations);

export const operationText = (operation: string) => words.get(operation) ?? operation.replaceAll('_', ' ');

export const isMigration = (operation: string) => operation.startsWith('migrate_');

/** One line that says what a request is about: the first of the SQL that is no comment, or the versions of a migration. */
export function subjectOf(operation: string, detail: string): string {
  if (operation === 'migrate_status') return 'which versions are applied';
  if (isMigration(operation)) return migrationLine(readBundle(operation, detail)) ?? detail.slice(0, 200);
  const lines = detail.split('\n').map((line) => line.trim());
  const start = lines.findIndex((line) => line !== '' && !line.startsWith('--'));
  return (start === -1 ? lines : lines.slice(start)).join(' ').replace(/\s+/g, ' ').slice(0, 300);
}

export interface Bundle {
  direction: string;
  maxCount: number | null;
  hash: string | null;
  migrations: { version: string; sql: string; transactional: boolean }[];
  /** Of a repair. */
  repair: string | null;
}

/**
 * The files of a migration, or what a repair does; null for what is no bundle. The operation says which of the two runs: a bundle may hold keys that nothing
 * reads (MI-15), also those of a repair.
 */
export function readBundle(operation: string, detail: string): Bundle | null {
  const value = parsed(detail);
  if (value === null) return null;
  const migrations = Array.isArray(value.migrations) ? value.migrations : [];
  const { action, version } = value;
  return {
    direction: String(value.direction ?? ''),
    maxCount: typeof value.max_count === 'number' ? value.max_count : null,
    hash: typeof value.dir_sha256 === 'string' ? value.dir_sha256 : null,
    migrations: migrations.map((one: Record<string, unknown>) => ({
      version: String(one.version ?? ''),
      sql: String(one.sql ?? ''),
      transactional: one.transactional !== false,
    })),
    repair: operation === 'migrate_repair' ? `${String(action ?? '').replaceAll('_', ' ')} ${String(version ?? '')}` : null,
  };
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

function migrationLine(bundle: Bundle | null): string | null {
  if (bundle === null) return null;
  if (bundle.repair !== null) return bundle.repair;
  const versions = bundle.migrations.map(({ version }) => version);
  if (versions.length === 0) return null;
  return versions.length > 2
    ? `${bundle.direction}: ${versions.length} files to ${versions.at(-1)}`
    : `${bundle.direction}: ${versions.join(', ')}`;
}

/** What a migration does with its files, in a sentence. */
export function migrationRule({ direction, migrations, maxCount }: Bundle): string {
  const sent = `${migrations.length} ${migrations.length === 1 ? 'file' : 'files'}`;
  if (direction === 'down') return `reverts the ${maxCount ?? 1} latest applied of ${sent}`;
  return `applies what is not applied yet of ${sent}${maxCount === null ? '' : `, at most ${maxCount}`}`;
}
