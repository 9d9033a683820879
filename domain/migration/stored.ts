import type { Operation } from '../policies.js';
import type { Dialect } from '../statement.js';
import type { Migration, MigrationBundle } from './detail.js';

type StoredMigration = Omit<Migration, 'transactional'> & { transactional?: boolean };

/**
 * A bundle that is stored, whose text was checked when it came: plain parsing takes 2 ms for 1 MiB, checking it again up to 50. Null for a text that
 * somebody has changed in the database into another form.
 */
export function storedBundle(detail: string): Pick<MigrationBundle, 'migrations' | 'maxCount'> | null {
  try {
    const { migrations, max_count: maxCount = null } = JSON.parse(detail) as {
      migrations: StoredMigration[];
      max_count?: number | null;
    };
    return {
      migrations: migrations.map(({ version, sql, transactional = true }) => ({ version, sql, transactional })),
      maxCount,
    };
  } catch {
    return null;
  }
}

/** Whether a stored request may apply or revert only so many migrations over all its attempts (MI-I6). A text that somebody has changed is not judged here. */
export const hasCap = ({ operation, detail }: { operation: Operation; detail: string }): boolean =>
  operation === 'migrate_down' || (operation === 'migrate_up' && (storedBundle(detail)?.maxCount ?? null) !== null);

/**
 * Whether a failed run may have left one of its migrations applied in part: where a migration is no transaction (MI-38, MI-39). A database of unknown
 * dialect may be MySQL: an agent that sends no snapshot, or one that is too large, never tells.
 */
export const mayStayHalfDone = (request: { operation: Operation; dialect: Dialect | null; detail: string }): boolean =>
  (request.operation === 'migrate_up' || request.operation === 'migrate_down') &&
  (request.dialect !== 'postgresql' ||
    storedBundle(request.detail)?.migrations.some(({ transactional }) => !transactional) === true);
