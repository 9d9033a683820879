import { indexCascades } from '../cascade.js';
import type { Operation } from '../policies.js';
import { indexTables, type SchemaSnapshot, type SnapshotTable, shownName } from '../snapshot.js';
import type { StatementFacts } from '../statement.js';

/** What a DELETE in the text would also delete (SQ-94). */
interface Cascading {
  cascade_children: { schema_name: string; name: string; estimated_rows: number; depth: number }[];
  cascade_children_truncated: boolean;
}

export type NamedTable = string | SnapshotTable | (SnapshotTable & Cascading);

/** RQ-43: each table that a text names, once: as in the snapshot if it is there, else by its name. */
export function namedTables(
  facts: readonly StatementFacts[],
  snapshot: SchemaSnapshot | null,
  operation: Operation,
): NamedTable[] {
  const named = facts.flatMap((statement) => statement.named);
  const nameOf = ({ schema, name }: (typeof named)[number]) => shownName(schema, name);
  if (snapshot === null) return [...new Set(named.map(nameOf))];
  const lookup = indexTables(snapshot, operation);
  const deletedFrom = new Set(facts.flatMap((statement) => statement.deletedFrom).flatMap(lookup));
  const found = new Set<string | SnapshotTable>();
  for (const table of named) for (const meant of orElse(lookup(table), nameOf(table))) found.add(meant);
  const cascadeOf = deletedFrom.size === 0 ? null : indexCascades(snapshot);
  return [...found].map((table) => {
    if (typeof table === 'string' || cascadeOf === null || !deletedFrom.has(table)) return table;
    const { children, truncated } = cascadeOf(table);
    if (children.length === 0) return table;
    const shown = children.map(({ table: { schema_name, name, estimated_rows }, depth }) => ({
      schema_name,
      name,
      estimated_rows,
      depth,
    }));
    return { ...table, cascade_children: shown, cascade_children_truncated: truncated };
  });
}

const orElse = (tables: readonly SnapshotTable[], name: string) => (tables.length === 0 ? [name] : tables);
