import { compareVersions } from './version.js';

export type MigrationState = 'applied' | 'pending' | 'out of order' | 'missing file';

/** The state of each known version, in version order: the files joined with what the database has applied (MI-51). */
export function joinStatus(
  versions: readonly string[],
  applied: readonly string[],
): { version: string; state: MigrationState }[] {
  const files = new Set(versions);
  const done = new Set(applied);
  const latest = applied.reduce((most, version) => (compareVersions(version, most) > 0 ? version : most), '');
  const stateOf = (version: string): MigrationState => {
    if (done.has(version)) return files.has(version) ? 'applied' : 'missing file';
    return compareVersions(version, latest) < 0 ? 'out of order' : 'pending';
  };
  return [...new Set([...versions, ...applied])].sort(compareVersions).map((version) => ({ version, state: stateOf(version) }));
}
