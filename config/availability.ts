import type { Path } from './positions.js';
import type { Findings } from './problems.js';

/** Sections and keys that are read and checked, but whose feature this version lacks (CF-5). */
const NOT_AVAILABLE: readonly Path[] = [['tracing']];

/** Warns of each of them that the file sets and that has no effect in this version. */
export function warnNotAvailable(file: unknown, findings: Findings): void {
  for (const path of NOT_AVAILABLE) {
    if (valueAt(file, path) !== undefined) findings.warning({ path, message: 'not available in this version', at: 'key' });
  }
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (table, part) => (typeof table === 'object' && table !== null ? (table as Record<string, unknown>)[part] : undefined),
    value,
  );
}
