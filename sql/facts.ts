import type { ReviewRule } from '../domain/policies.js';
import type { StatementFacts, TableName } from '../domain/statement.js';
import { folded } from './reserved-table.js';
import { noUses } from './uses.js';

/** The rules in the order of SQ-75. `mixed_ddl_dml` is missing: it belongs to the batch. */
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

/** An IN list with more elements makes a finding. */
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

/** The table in which agents and other tools record applied migrations; a row there keeps a migration from running (MI-20). */
const TRACKING_TABLE = 'schema_migrations';

/**
 * Sorts the hits in the order of SQ-75 and adds everything changed or created to the named tables. `names` gives every name in the statement, and may
 * give more.
 */
export function completeFacts(facts: StatementFacts, names: () => Iterable<string>): StatementFacts {
  // No count of rows tells what a version row implies for schema and later migrations, so such a text is never safe by itself.
  const tracks = [...facts.changed, ...facts.created].some(({ name }) => isTracking(name));
  return {
    ...facts,
    writesUnknown: facts.writesUnknown || tracks,
    // Nor is one that takes the table's place: agents would read versions from a view too.
    safeForm: facts.safeForm && ![...names()].some(isTracking),
    hits: facts.hits.toSorted((a, b) => ruleOrder.indexOf(a) - ruleOrder.indexOf(b)),
    changed: distinct(facts.changed),
    created: distinct(facts.created),
    deletedFrom: distinct(facts.deletedFrom),
    insertedInto: distinct(facts.insertedInto),
    // A table that is named again in the text may be read as a whole there.
    fixed: facts.fixed.filter(({ table }) => facts.named.filter(({ name }) => name === table.name).length <= 1),
    named: distinct([...facts.named, ...facts.changed, ...facts.created]),
  };
}

const isTracking = (name: string): boolean => folded(name) === TRACKING_TABLE;

function distinct(tables: readonly TableName[]): TableName[] {
  return [...new Map(tables.map((table) => [JSON.stringify([table.schema, table.name]), table])).values()];
}
