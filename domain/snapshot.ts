import type { Operation } from './policies.js';

/** One database's schema as an agent sends it and as it is stored (AP-61, AP-62). */
export interface SchemaSnapshot {
  readonly tables: readonly SnapshotTable[];
  /** Null or absent where the agent did not report it: it is too old, or there is more than it sends. */
  readonly user_code?: UserCode | null;
  /** Null or absent where names have no path, or the agent did not report it. */
  readonly search_path?: SearchPaths | null;
  /** The versions in the tracking table of migrations (MI-45). Null or absent where the agent cannot tell. */
  readonly applied_versions?: readonly string[] | null;
}

/** The schemas searched for unqualified names, in this order (HD-31). */
export interface SearchPaths {
  /** The path of the role that reads. */
  readonly read: readonly string[];
  /** The path of the role that writes. */
  readonly write: readonly string[];
  /** Schemas on these paths whose tables the snapshot does not list. */
  readonly unseen: readonly string[];
}

/** The schemas in which a job of the operation looks up unqualified names; null where unknown. */
export function searchPathOf(snapshot: SchemaSnapshot | null, operation: Operation): readonly string[] | null {
  return snapshot?.search_path?.[operation === 'execute_select' ? 'read' : 'write'] ?? null;
}

/**
 * User-made code that may run where a text names a built-in, or names nothing at all (HD-21). C and internal functions need a superuser, so they are
 * not listed.
 */
export interface UserCode {
  /** Functions named like a built-in. */
  readonly functions: readonly string[];
  /** Functions that a field of a row may call. */
  readonly fields: readonly string[];
  readonly operators: readonly string[];
  /** `mood as integer` */
  readonly casts: readonly string[];
}

export interface SnapshotTable {
  readonly name: string;
  readonly schema_name: string;
  /** -1 = never analysed. */
  readonly estimated_rows: number;
  /** False where ROLLBACK does not undo changes; absent where it does, or where this is unknown. */
  readonly transactional?: boolean | undefined;
  readonly columns: readonly SnapshotColumn[];
  readonly constraints: readonly SnapshotConstraint[];
  readonly indexes: readonly SnapshotIndex[];
  /** Triggers and rules that writes to it fire; null or absent where the agent cannot tell. */
  readonly triggers?: readonly string[] | null;
  /** Functions that writes to it call: in defaults, checks, domains, indexes and policies. Null or absent where the agent cannot tell. */
  readonly code?: readonly string[] | null;
  /** Column sets with unique values (HD-96). */
  readonly keys?: readonly (readonly string[])[] | null;
  /** A view, foreign table or partition of another schema has the same name. */
  readonly has_namesakes?: boolean;
}

interface SnapshotColumn {
  readonly name: string;
  readonly data_type: string;
  readonly nullable: boolean;
  readonly default_value: string | null;
  readonly is_primary_key: boolean;
}

type Action = 'CASCADE' | 'SET_NULL' | 'RESTRICT' | 'NO_ACTION' | 'SET_DEFAULT';

/** `on_delete`, `on_update` and all `referenced_*` are null unless it is a foreign key. */
export interface SnapshotConstraint {
  readonly name: string;
  readonly constraint_type: 'primary_key' | 'foreign_key' | 'unique' | 'check';
  readonly columns: readonly string[];
  readonly referenced_table: string | null;
  readonly referenced_columns: readonly string[] | null;
  readonly on_delete: Action | null;
  readonly on_update?: Action | null;
  readonly referenced_schema: string | null;
}

interface SnapshotIndex {
  readonly name: string;
  readonly columns: readonly string[];
  readonly is_unique: boolean;
  readonly index_type: string;
}

/** A table as a text names it; schema null when the text gives none. */
export interface WrittenName {
  readonly schema: string | null;
  readonly name: string;
}

/** The tables that a name may mean: one when it resolves, none or several when it does not (SQ-81). */
export type TableLookup = (name: WrittenName) => readonly SnapshotTable[];

/** Resolves the names of a text as a job of the operation would. Indexes a snapshot once, for any number of texts. */
export function indexTables(snapshot: SchemaSnapshot, operation: Operation): TableLookup {
  const known = byNames.get(snapshot) ?? groupByName(snapshot);
  byNames.set(snapshot, known);
  const path = searchPathOf(snapshot, operation);
  return ({ schema, name }) => {
    const same = known.get(name) ?? [];
    if (schema !== null) return same.filter((table) => table.schema_name === schema);
    return path === null ? same : firstOnPath(same, path, snapshot.search_path?.unseen ?? []);
  };
}

/** A schema missing from the snapshot may hide everything after it. */
function firstOnPath(same: readonly SnapshotTable[], path: readonly string[], unseen: readonly string[]): SnapshotTable[] {
  const meant = path.find((schema) => unseen.includes(schema) || same.some((table) => table.schema_name === schema));
  return same.filter((table) => table.schema_name === meant);
}

/** Cached: a snapshot of thousands of tables is used for many texts until the next sync replaces it. */
const byNames = new WeakMap<SchemaSnapshot, ReadonlyMap<string, SnapshotTable[]>>();

function groupByName(snapshot: SchemaSnapshot): ReadonlyMap<string, SnapshotTable[]> {
  const byName = new Map<string, SnapshotTable[]>();
  for (const table of snapshot.tables) {
    const same = byName.get(table.name);
    if (same === undefined) byName.set(table.name, [table]);
    else same.push(table);
  }
  return byName;
}

/** The name of a table as shown: with its schema unless that is `public` (SQ-93). */
export function shownName(schema: string | null, name: string): string {
  return schema === null || schema === 'public' ? name : `${schema}.${name}`;
}
