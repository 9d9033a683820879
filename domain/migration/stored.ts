import type { Operation } from '../policies.js';
import type { Migration } from './detail.js';

type StoredMigration = Omit<Migration, 'transactional'> & { transactional?: boolean };

/**
 * The migrations of a bundle that is stored, whose text was checked when it came: plain parsing takes 2 ms for 1 MiB, checking it again up to 50. Null for
 * a text that somebody has changed in the database into another form.
 */
export function storedMigrations(detail: string): Migration[] | null {
  try {
    const { migrations } = JSON.parse(detail) as { migrations: StoredMigration[] };
    return migrations.map(({ version, sql, transactional = true }) => ({ version, sql, transactional }));
  } catch {
    return null;
  }
}

/** Whether a stored request may apply or revert only so many migrations over all its attempts (MI-I6). A text that somebody has changed is not judged here. */
export function hasCap({ operation, detail }: { operation: Operation; detail: string }): boolean {
  if (operation !== 'migrate_up') return operation === 'migrate_down';
  try {
    return ((JSON.parse(detail) as { max_count?: unknown }).max_count ?? null) !== null;
  } catch {
    return false;
  }
}
