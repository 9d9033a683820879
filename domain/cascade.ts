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
  const inbound = inbounds.get(snapshot) ?? indexInbound(snapshot);
  inbounds.set(snapshot, inbound);
  return (target) => walkCascade(inbound, target);
}

const inbounds = new WeakMap<SchemaSnapshot, Inbound>();

function walkCascade(inbound: Inbound, target: SnapshotTable): Cascade {
  const childrenOf = (table: SnapshotTable): readonly SnapshotTable[] => inbound.get(keyOf(table.schema_name, table.name)) ?? [];
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

/** Keyed by the referenced table: the tables with an ON DELETE CASCADE foreign key to it. */
type Inbound = ReadonlyMap<string, readonly SnapshotTable[]>;

function indexInbound(snapshot: SchemaSnapshot): Inbound {
  const inbound = new Map<string, SnapshotTable[]>();
  for (const table of snapshot.tables) {
    for (const { constraint_type, on_delete, referenced_schema, referenced_table } of table.constraints) {
      if (constraint_type !== 'foreign_key' || on_delete !== 'CASCADE' || referenced_table === null) continue;
      const key = keyOf(referenced_schema ?? table.schema_name, referenced_table);
      const tables = inbound.get(key);
      if (tables === undefined) inbound.set(key, [table]);
      else tables.push(table);
    }
  }
  return inbound;
}

const keyOf = (schema: string, name: string): string => JSON.stringify([schema, name]);

function compare(a: SnapshotTable, b: SnapshotTable): number {
  if (a.schema_name !== b.schema_name) return a.schema_name < b.schema_name ? -1 : 1;
  return a.name === b.name ? 0 : a.name < b.name ? -1 : 1;
}
