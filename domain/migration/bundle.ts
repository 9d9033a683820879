import type { MigrationFile } from './file.js';
import { compareVersions } from './version.js';

/** Size of the whole text (MI-13). */
export const maxBundleBytes = 1_048_576;
export const maxMigrations = 10_000;

export type Direction = 'up' | 'down';

/** The migrations to send for this direction, in file order: those after a version; for `down`, those with a down part (MI-10). */
export function chosenMigrations<M extends MigrationFile>(
  all: readonly M[],
  direction: Direction,
  after: string | undefined,
): M[] {
  return all.filter(
    (migration) =>
      (direction === 'up' || migration.down !== null) && (after === undefined || compareVersions(migration.version, after) > 0),
  );
}

/** The `detail` of `migrate_up` and `migrate_down` as JSON text (section 2 of the rules). */
export function bundleText(
  migrations: readonly MigrationFile[],
  direction: Direction,
  more: { dirSha256: string; maxCount: number | null },
): string {
  return JSON.stringify({
    format: 'v2',
    direction,
    versions: migrations.map(({ version }) => version),
    migrations: migrations.flatMap((migration) => {
      const part = migration[direction];
      return part === null ? [] : { version: migration.version, sql: part.sql, transactional: part.transactional };
    }),
    dir_sha256: more.dirSha256,
    ...(more.maxCount === null ? {} : { max_count: more.maxCount }),
  });
}
