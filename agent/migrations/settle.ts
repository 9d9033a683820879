import { compareVersions } from '../../domain/migration/version.js';
import type { MarkerRow } from '../marker.js';
import type { Direction, Migration, MigrationRun } from './task.js';

/** What earlier attempts of the request are known to have done. */
export interface Settled {
  /** Versions they applied or reverted, each once. */
  versions: readonly string[];
  /** The newest attempt that did one of them; null if none. */
  fence: number | null;
}

export type Settlement = ({ kind: 'settled' } & Settled) | { kind: 'doubtful'; version: string };

/**
 * What the marker rows of this fence and the unresolved ones prove (MI-35). An open row of mode `auto` is proof too once the
 * version row records the migration: somebody has looked and repaired it.
 */
export function settleAttempts(
  rows: readonly MarkerRow[],
  { fence, unresolvedFences }: { fence: number; unresolvedFences: readonly number[] },
  direction: Direction,
  applied: ReadonlySet<string>,
): Settlement {
  const versions = new Set<string>();
  let newest: number | null = null;
  for (const row of rows) {
    if (row.step === '' || (row.fence !== fence && !unresolvedFences.includes(row.fence))) continue;
    if (row.state !== 'done') {
      if (row.mode !== 'auto') continue;
      if (applied.has(row.step) !== (direction === 'up')) return { kind: 'doubtful', version: row.step };
    }
    versions.add(row.step);
    newest = Math.max(newest ?? 0, row.fence);
  }
  const sorted = [...versions].sort(compareVersions);
  return { kind: 'settled', versions: direction === 'up' ? sorted : sorted.reverse(), fence: newest };
}

/** `version` is the one that keeps the run from starting. */
export type Plan = { ok: true; todo: readonly Migration[] } | { ok: false; version: string; why: string };

/**
 * The migrations to run now, in order (MI-32, MI-33). `settled` are those of earlier attempts: they count against the cap, and run
 * no second time, whatever others have done to them since (MI-35).
 */
export function planRun(run: MigrationRun, applied: ReadonlySet<string>, settled: readonly string[]): Plan {
  const { direction, migrations, maxCount } = run;
  const cap = maxCount === null ? Number.POSITIVE_INFINITY : Math.max(0, maxCount - settled.length);
  if (direction === 'down') return planDown(migrations, applied, settled, cap);
  const done = new Set([...applied, ...settled]);
  return { ok: true, todo: migrations.filter(({ version }) => !done.has(version)).slice(0, cap) };
}

function planDown(migrations: readonly Migration[], applied: ReadonlySet<string>, settled: readonly string[], cap: number): Plan {
  const again = cap === 0 ? undefined : settled.find((version) => applied.has(version));
  if (again !== undefined) {
    const why = `${again} is applied again since an earlier attempt reverted it; make a new request`;
    return { ok: false, version: again, why };
  }
  const byVersion = new Map(migrations.map((migration) => [migration.version, migration]));
  const todo: Migration[] = [];
  for (const version of [...applied].sort(compareVersions).reverse().slice(0, cap)) {
    const migration = byVersion.get(version);
    if (!migration) return { ok: false, version, why: `cannot revert ${version}: no down part in the request` };
    todo.push(migration);
  }
  return { ok: true, todo };
}

/** The versions applied after a higher one (MI-32); `versions` are in order of application, `before` was applied already. */
export function outOfOrder(versions: readonly string[], before: Iterable<string>): string[] {
  let latest: string | null = null;
  const note = (version: string) => {
    if (latest === null || compareVersions(version, latest) > 0) latest = version;
  };
  for (const version of before) note(version);
  return versions.filter((version) => {
    const late = latest !== null && compareVersions(version, latest) < 0;
    note(version);
    return late;
  });
}
