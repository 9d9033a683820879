import { isVersion } from '../../domain/migration/version.js';
import { type Row, text } from './rows.js';

/** Above this none are sent; a bundle holds no more (MI-15). */
export const MAX_VERSIONS = 10_000;

/**
 * The applied versions of a tracking table (MI-45). Values that no file can have are left out: a table of that name may hold other data. Null where
 * there are too many.
 */
export function appliedVersions(rows: readonly Row[]): string[] | null {
  if (rows.length > MAX_VERSIONS) return null;
  return rows.map(([version]) => text(version)).filter(isVersion);
}
