import { indexReferences } from './references.js';
import type { SchemaSnapshot, SnapshotTable } from './snapshot.js';

export interface CascadeChild {
  readonly table: SnapshotTable;
  /** 1 for a table whose foreign key names the target itself. */
  readonly depth: number;
}

export interface Cascade {
  /** Sorted by schema and name, each once at its smallest depth. */
  readonly children: readonly CascadeChild[];
  /** There are further children below the maximum depth. */
  readonly truncated: boolean;
}

const maxDepth = 3;

/** Indexes a snapshot once. The returned function lists the tables whose rows a DELETE on a target may also delete (SQ-94). */
export function indexCascades(snapshot: SchemaSnapshot): (target: SnapshotTable) => Cascade {
  const referencesTo = indexReferences(snapshot);
  const childrenOf = (table: SnapshotTable) =>
    referencesTo(table).flatMap((reference) => (reference.key.on_delete === 'CASCADE' ? reference.table : []));
  return (target) => walkCascade(target, childrenOf);
}

function walkCascade(target: SnapshotTable, childrenOf: (table: SnapshotTable) => readonly SnapshotTable[]): Cascade {
  const found = new Map<SnapshotTable, number>();
  let level: readonly SnapshotTable[] = [target];
  for (let depth = 1; depth <= maxDepth; depth += 1) {
    const next = new Set(level.flatMap(childrenOf));
    // The target counts as its own child only by a direct reference.
    level = [...next].filter((table) => !found.has(table) && (table !== target || depth === 1));
    for (const table of level) found.set(table, depth);
  }
  const isSeen = (table: SnapshotTable): boolean => found.has(table) || table === target;
  const children = [...found].map(([table, depth]) => ({ table, depth }));
  return {
    children: children.sort((a, b) => compare(a.table, b.table)),
    truncated: level.flatMap(childrenOf).some((table) => !isSeen(table)),
  };
}

function compare(a: SnapshotTable, b: SnapshotTable): number {
  if (a.schema_name !== b.schema_name) return a.schema_name < b.schema_name ? -1 : 1;
  return a.name === b.name ? 0 : a.name < b.name ? -1 : 1;
}
