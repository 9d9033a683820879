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
