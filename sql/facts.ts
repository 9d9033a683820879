import type { ReviewRule } from '../domain/policies.js';
import { noUses, type Uses } from './uses.js';

/** A table as written and folded as its database folds names (SQ-81); schema null when the text names none. */
export interface TableName {
  schema: string | null;
  name: string;
}

/** What review (section 8) and risk (section 9) need of one top-level statement. */
export interface StatementFacts {
  /** The rules that fire, in the order of SQ-75, `mixed_ddl_dml` apart; once for each DELETE, UPDATE and list, else once. */
  hits: ReviewRule[];
  /** Runs INSERT, UPDATE, DELETE, MERGE or REPLACE at any depth. */
  changesRows: boolean;
  /** Calls a listed function anywhere, in definitions too (SQ-44). */
  listedCall: boolean;
  /** Changes the schema (SQ-23, SQ-24, SQ-41). */
  ddl: boolean;
  /** One of the forms of SQ-82. */
  safeForm: boolean;
  /** `allow_ddl` may lift blocks of it (BG-3). */
  bypassable: boolean;
  /** Tables that are written, altered or dropped. */
  changed: TableName[];
  created: TableName[];
  /** Tables with a DELETE at any depth or TRUNCATE CASCADE (SQ-90); a MERGE or REPLACE that may delete counts. */
  deletedFrom: TableName[];
  /** Tables into which rows are only inserted, without an UPDATE of those in the way. */
  insertedInto: TableName[];
  /** Tables named once whose written rows the text tells one by one (HD-96). */
  fixed: FixedTable[];
  /** All tables that the text names, those above included. */
  named: TableName[];
  /** Writes where the text does not say: a procedure, a listed function, a whole database. */
  writesUnknown: boolean;
  /** Functions, operators and types (HD-1, HD-21); none for a definition in MySQL. */
  uses: Uses;
  /** Of `uses`, the names that are no built-ins without side effects (HD-21). */
  unlisted: string[];
}

/** The columns that the condition compares with constants; null for an INSERT … VALUES. */
export interface FixedTable {
  table: TableName;
  columns: readonly FixedColumn[] | null;
}

export interface FixedColumn {
  name: string;
  /** How the constant is written: `integer`, `number`, `text`, `untyped` (a text of PostgreSQL), or the type it is cast to. */
  as: string;
}

/** The rules in the order of SQ-75; `mixed_ddl_dml` belongs to the batch. */
export const ruleOrder = [
  'no_where_delete',
  'no_where_update',
  'drop_table',
  'drop_column',
  'drop_index',
  'drop_view',
  'drop_sequence',
  'create_sequence',
  'not_null_without_default',
  'create_index_not_concurrently',
  'alter_column_type',
  'truncate',
  'large_in_list',
  'mixed_ddl_dml',
] as const satisfies readonly ReviewRule[];

/** More elements than this in one IN list make a finding. */
export const maxListElements = 100;

export function noFacts(): StatementFacts {
  return {
    hits: [],
    changesRows: false,
    listedCall: false,
    ddl: false,
    safeForm: false,
    bypassable: false,
    changed: [],
    created: [],
    deletedFrom: [],
    insertedInto: [],
    fixed: [],
    named: [],
    writesUnknown: false,
    uses: noUses(),
    unlisted: [],
  };
}

/** Where agents and other tools keep which migrations are applied: a row there makes a migration not run (MI-20). */
const TRACKING_TABLE = 'schema_migrations';

/** Hits in the order of SQ-75, and everything that is changed or created among the named. */
export function completeFacts(facts: StatementFacts): StatementFacts {
  // What a version row says of schema and later migrations, no count of rows tells: such a text is never safe by itself.
  const tracks = [...facts.changed, ...facts.created].some(({ name }) => name.toLowerCase() === TRACKING_TABLE);
  return {
    ...facts,
    writesUnknown: facts.writesUnknown || tracks,
    safeForm: facts.safeForm && !tracks,
    hits: facts.hits.toSorted((a, b) => ruleOrder.indexOf(a) - ruleOrder.indexOf(b)),
    changed: distinct(facts.changed),
    created: distinct(facts.created),
    deletedFrom: distinct(facts.deletedFrom),
    insertedInto: distinct(facts.insertedInto),
    // A table that stands in the text again may be read as a whole there.
    fixed: facts.fixed.filter(({ table }) => facts.named.filter(({ name }) => name === table.name).length <= 1),
    named: distinct([...facts.named, ...facts.changed, ...facts.created]),
  };
}

function distinct(tables: readonly TableName[]): TableName[] {
  return [...new Map(tables.map((table) => [JSON.stringify([table.schema, table.name]), table])).values()];
}
