/** One database's schema as an agent sends it and as it is stored (AP-61, AP-62). */
export interface SchemaSnapshot {
  readonly tables: readonly SnapshotTable[];
}

export interface SnapshotTable {
  readonly name: string;
  readonly schema_name: string;
  /** -1 = never analysed. */
  readonly estimated_rows: number;
  /** False where no ROLLBACK takes changes back; absent where they are, or where it is not known. */
  readonly transactional?: boolean | undefined;
  readonly columns: readonly SnapshotColumn[];
  readonly constraints: readonly SnapshotConstraint[];
  readonly indexes: readonly SnapshotIndex[];
}

interface SnapshotColumn {
  readonly name: string;
  readonly data_type: string;
  readonly nullable: boolean;
  readonly default_value: string | null;
  readonly is_primary_key: boolean;
}

/** `on_delete` and all `referenced_*` are null unless it is a foreign key. */
export interface SnapshotConstraint {
  readonly name: string;
  readonly constraint_type: 'primary_key' | 'foreign_key' | 'unique' | 'check';
  readonly columns: readonly string[];
  readonly referenced_table: string | null;
  readonly referenced_columns: readonly string[] | null;
  readonly on_delete: 'CASCADE' | 'SET_NULL' | 'RESTRICT' | 'NO_ACTION' | 'SET_DEFAULT' | null;
  readonly referenced_schema: string | null;
}

interface SnapshotIndex {
  readonly name: string;
  readonly columns: readonly string[];
  readonly is_unique: boolean;
  readonly index_type: string;
}

/** A table as a text names it; schema null when the text names none. */
export interface WrittenName {
  readonly schema: string | null;
  readonly name: string;
}

/** The tables that a name may mean: one when it is resolved, none or several when not (SQ-81). */
export type TableLookup = (name: WrittenName) => readonly SnapshotTable[];

/** Reads a snapshot once, for any number of names and calls. */
export function indexTables(snapshot: SchemaSnapshot): TableLookup {
  const known = lookups.get(snapshot) ?? buildLookup(snapshot);
  lookups.set(snapshot, known);
  return known;
}

/** A snapshot of thousands of tables is judged against again and again until the next sync replaces it. */
const lookups = new WeakMap<SchemaSnapshot, TableLookup>();

function buildLookup(snapshot: SchemaSnapshot): TableLookup {
  const byName = new Map<string, SnapshotTable[]>();
  for (const table of snapshot.tables) {
    const same = byName.get(table.name);
    if (same === undefined) byName.set(table.name, [table]);
    else same.push(table);
  }
  return ({ schema, name }) => (byName.get(name) ?? []).filter((table) => schema === null || table.schema_name === schema);
}

/** The name of a table as shown: with its schema unless that is `public` (SQ-93). */
export function shownName(schema: string | null, name: string): string {
  return schema === null || schema === 'public' ? name : `${schema}.${name}`;
}
