/** What an agent saw of a database's tables, with the keys of the wire (AP-61); tables by schema and name. */
export interface SchemaSnapshot {
  tables: SchemaTable[];
}

export interface SchemaTable {
  name: string;
  schema_name: string;
  /** -1 = unknown. */
  estimated_rows: number;
  columns: SchemaColumn[];
  constraints: SchemaConstraint[];
  indexes: SchemaIndex[];
}

export interface SchemaColumn {
  name: string;
  data_type: string;
  nullable: boolean;
  default_value: string | null;
  is_primary_key: boolean;
}

export const CONSTRAINT_TYPES = ['primary_key', 'foreign_key', 'unique', 'check'] as const;
export type ConstraintType = (typeof CONSTRAINT_TYPES)[number];

export const DELETE_ACTIONS = ['CASCADE', 'SET_NULL', 'RESTRICT', 'NO_ACTION', 'SET_DEFAULT'] as const;
export type DeleteAction = (typeof DELETE_ACTIONS)[number];

export interface SchemaConstraint {
  name: string;
  constraint_type: ConstraintType;
  /** In key order. */
  columns: string[];
  /** This and the following are null unless it is a foreign key (AP-62). */
  referenced_table: string | null;
  referenced_columns: string[] | null;
  on_delete: DeleteAction | null;
  referenced_schema: string | null;
}

export interface SchemaIndex {
  name: string;
  /** In key order; an expression stands as its text. */
  columns: string[];
  is_unique: boolean;
  index_type: string;
}

/** The names and sizes of SC-3. */
export interface TableSummary {
  name: string;
  schema_name: string;
  estimated_rows: number;
  column_count: number;
  constraint_count: number;
  index_count: number;
}

/** Sync states of a pair (AG-72 to AG-74). */
export const SYNC_STATUSES = ['ready', 'failed', 'partial'] as const;
export type SyncStatus = (typeof SYNC_STATUSES)[number];
