import { isRecord, recordsIn } from '../lib/record.js';
import { words } from '../lib/words.js';
import { notPlanned } from './plan-error.js';

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * The part of a MySQL or MariaDB plan that is passed on (HD-2): for each table its name, access type, keys, rows, filtered and cost, and how tables
 * are joined. Messages, conditions, sort keys and fields of later versions are dropped, since they can hold values. Total for any JSON.
 */
export function reducedMysqlPlan(plan: unknown): Json {
  const node = objectOf(plan);
  if (node === null) return {};
  const kept: Record<string, Json> = {};
  for (const [key, value] of Object.entries(node)) {
    if (holders.has(key)) kept[key] = Array.isArray(value) ? value.map(reducedMysqlPlan) : reducedMysqlPlan(value);
    else if (numbers.has(key) && isNumeric(value)) kept[key] = value;
    else if (names.has(key) && typeof value === 'string') kept[key] = value;
    else if (lists.has(key) && Array.isArray(value)) kept[key] = value.filter((each) => typeof each === 'string');
    else if (flags.has(key) && typeof value === 'boolean') kept[key] = value;
  }
  return kept;
}

/**
 * Whether the server read rows to make the plan. It reads a table that can match at most one row and puts that row's values into everything else,
 * estimates included; or it answers from an index and leaves a message in place of the table.
 */
export function readsRowsToPlan(plan: unknown): boolean {
  let oneRow = false;
  let isStored = false;
  for (const node of recordsIn(plan)) {
    if (reading.test(String(node.message ?? ''))) return true;
    oneRow ||= node.access_type === 'const' || node.access_type === 'system';
    // The result of a subquery in FROM is named `<derived2>`; if it is made of constants, it reveals nothing.
    isStored ||= typeof node.table_name === 'string' && !node.table_name.startsWith('<');
  }
  return oneRow && isStored;
}

/** The plan as people may see it: PostgreSQL's, a list, unchanged; MySQL's and MariaDB's, an object, reduced. */
export function shownPlan(text: string): { plan: string } | { error: string } {
  const plan: unknown = JSON.parse(text);
  if (objectOf(plan) === null) return { plan: text };
  return readsRowsToPlan(plan) && !isAlike(plan) ? { error: readsRows } : { plan: JSON.stringify(reducedMysqlPlan(plan)) };
}

export const readsRows = notPlanned('the server reads rows while it plans this');

/** Stands in for a plan, the same whether or not the row exists. */
export const alikePlan = (table: string): object => ({
  query_block: { select_id: 1, table: { table_name: table, access_type: 'const', rows: 1 } },
});

const isAlike = (plan: unknown): boolean => {
  const name = objectOf(objectOf(objectOf(plan)?.query_block)?.table)?.table_name;
  return typeof name === 'string' && JSON.stringify(plan) === JSON.stringify(alikePlan(name));
};

/** Matches every plan message except those for statements without tables or conditions, and for conditions that are false in themselves. */
const reading =
  /^(?!$|No tables used$|Impossible (WHERE|HAVING)$|Zero limit$|Deleting all rows$|No matching rows after partition pruning$)/i;

const holders = words(`query_block nested_loop table materialized materialized_from_subquery ordering_operation grouping_operation
  duplicates_removal filesort temporary_table read_sorted_file block-nl-join hash-join union_result unary_result query_specifications cost_info
  insert_from buffer_result windowing windows window_functions_computation recursive_union sub_select rowid_filter range-checked-for-each-record`);
const numbers =
  words(`select_id rows rows_examined_per_scan rows_produced_per_join filtered cost query_cost read_cost eval_cost prefix_cost
  sort_cost nested_loop_cost selectivity_pct`);
const names = words('table_name access_type key key_length join_type');
const lists = words('possible_keys used_key_parts partitions');
const flags = words('using_index using_filesort using_temporary_table insert update delete replace');

const isNumeric = (value: Json): boolean =>
  typeof value === 'number' || (typeof value === 'string' && /^-?[\d.]+(e[+-]?\d+)?$/i.test(value));

function objectOf(value: unknown): { readonly [key: string]: Json } | null {
  return isRecord(value) ? (value as { readonly [key: string]: Json }) : null;
}
