import type { ReviewRule } from './policies.js';

export type Dialect = 'postgresql' | 'mysql';

export type StatementClass = 'read' | 'write' | 'ddl' | 'write+ddl' | 'setting';

export type StatementKind = 'query' | 'show' | 'explain' | 'setting' | 'dml' | 'utility' | 'ddl';

export interface ClassifiedStatement {
  /** The exact slice of the judged text (SQ-6). */
  text: string;
  class: StatementClass;
  /** The verb of SQ-65; a setting counts as SELECT. */
  type: string;
  kind: StatementKind;
  /** A query, SHOW, EXPLAIN, or a writing statement with RETURNING. */
  producesRows: boolean;
  /** The main verb is INSERT, UPDATE, DELETE or MERGE (AP-36). */
  countsRows: boolean;
  /** Cannot run in a transaction (SQ-62). */
  outsideTransaction: boolean;
  /** Plain EXPLAIN is offered for it (AP-60). */
  explainable: boolean;
}

/** A table as written and folded as its database folds names (SQ-81); schema null when the text names none. */
export interface TableName {
  schema: string | null;
  name: string;
}

/** What review and risk (sql-safety.md sections 8 and 9) need of one top-level statement. */
export interface StatementFacts {
  /**
   * The rules that fire, in the order of SQ-75, without `mixed_ddl_dml`. A rule appears once per DELETE, UPDATE or list it fires on, other rules
   * once.
   */
  hits: ReviewRule[];
  /** Runs INSERT, UPDATE, DELETE, MERGE or REPLACE at any depth. */
  changesRows: boolean;
  /** Calls a listed function anywhere, definitions included (SQ-44). */
  listedCall: boolean;
  /** Changes the schema (SQ-23, SQ-24, SQ-41). */
  ddl: boolean;
  /** One of the forms of SQ-82. */
  safeForm: boolean;
  /** `allow_ddl` may lift its blocks (BG-3). */
  bypassable: boolean;
  /** Tables that are written, altered or dropped. */
  changed: TableName[];
  created: TableName[];
  /** Tables with a DELETE at any depth or TRUNCATE CASCADE (SQ-90). A MERGE or REPLACE that may delete counts. */
  deletedFrom: TableName[];
  /** Tables that are only inserted into, without updating conflicting rows. */
  insertedInto: TableName[];
  /** Tables named once whose written rows the text lists one by one (HD-96). */
  fixed: FixedTable[];
  /** All tables that the text names, including those above. */
  named: TableName[];
  /** Writes that the text does not spell out: by a procedure, a listed function, or on a whole database. */
  writesUnknown: boolean;
  /** Functions, operators and types (HD-1, HD-21); none for a definition in MySQL. */
  uses: Uses;
  /** The names in `uses` that are not built-ins without side effects (HD-21). */
  unlisted: string[];
}

/** The columns that the condition compares with constants; null for an INSERT … VALUES. */
export interface FixedTable {
  table: TableName;
  columns: readonly FixedColumn[] | null;
}

export interface FixedColumn {
  name: string;
  /** How the constant is written: `integer`, `number`, `text`, `untyped` (a PostgreSQL string literal), or the type it is cast to. */
  as: string;
}

/** A name as the parser resolved it; schema null when the text names none. */
export interface UsedName {
  schema: string | null;
  name: string;
}

/** What a statement uses besides tables, wherever it stands and however it is spelled; each name once. */
export interface Uses {
  /**
   * Calls, including those written as a field of a value (`(x).f`); a sampling method counts as one. An empty schema means that MySQL parses the call
   * as a stored function because of its spelling.
   */
  functions: UsedName[];
  /** Includes those behind BETWEEN, IN, LIKE, USING and the like. Those of ORDER BY, GROUP BY and DISTINCT come with the column's type. */
  operators: UsedName[];
  /** Types that are written: in casts, constants and column definitions of a function. */
  types: UsedName[];
  /** Fields of what may be a table (`t.f`): a column, or else a call of the function `f` with the row. */
  fields: string[];
  /** The columns that may be used, of any table; null when not all are written out (`*`, by position, a whole row). */
  columns: string[] | null;
  /** MySQL: a subquery stands outside FROM; the server may run it while planning. */
  valueQuery: boolean;
  /** MySQL: a query of one table that only compares columns with constants, so that no row can make it fail. */
  lookup: boolean;
}
