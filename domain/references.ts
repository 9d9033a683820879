import type { SchemaSnapshot, SnapshotConstraint, SnapshotTable } from './snapshot.js';

/** A foreign key and the table that has it. */
export interface Reference {
  readonly table: SnapshotTable;
  readonly key: SnapshotConstraint;
}

/** Indexes a snapshot once. The returned function lists the foreign keys to a table. */
export function indexReferences(snapshot: SchemaSnapshot): (target: SnapshotTable) => readonly Reference[] {
  const known = byTarget.get(snapshot) ?? groupByTarget(snapshot);
  byTarget.set(snapshot, known);
  return ({ schema_name, name }) => known.get(keyOf(schema_name, name)) ?? [];
}

const byTarget = new WeakMap<SchemaSnapshot, ReadonlyMap<string, Reference[]>>();

function groupByTarget(snapshot: SchemaSnapshot): ReadonlyMap<string, Reference[]> {
  const grouped = new Map<string, Reference[]>();
  for (const table of snapshot.tables) {
    for (const key of table.constraints) {
      if (key.constraint_type !== 'foreign_key' || key.referenced_table === null) continue;
      const target = keyOf(key.referenced_schema ?? table.schema_name, key.referenced_table);
      const others = grouped.get(target);
      if (others === undefined) grouped.set(target, [{ table, key }]);
      else others.push({ table, key });
    }
  }
  return grouped;
}

const keyOf = (schema: string, name: string): string => JSON.stringify([schema, name]);
