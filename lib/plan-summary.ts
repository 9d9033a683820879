import { isRecord, recordsIn } from './record.js';

/** The few numbers of an EXPLAIN that preflight shows; null where the plan does not give one. */
export interface PlanSummary {
  estimatedRows: number | null;
  estimatedCost: number | null;
  indexUsed: boolean | null;
}

type Node = Record<string, unknown>;

/** Reads a plan of PostgreSQL (`EXPLAIN (FORMAT JSON)`) or of MySQL and MariaDB (`EXPLAIN FORMAT=JSON`); total for any JSON. */
export function summarisePlan(plan: unknown): PlanSummary {
  const top = objectOf(objectOf(Array.isArray(plan) ? plan[0] : plan)?.Plan);
  if (top !== null)
    return { estimatedRows: numberOf(top['Plan Rows']), estimatedCost: numberOf(top['Total Cost']), indexUsed: usesIndex(top) };
  const block = objectOf(objectOf(plan)?.query_block);
  if (block === null) return { estimatedRows: null, estimatedCost: null, indexUsed: null };
  return {
    estimatedRows: mysqlRows(block),
    estimatedCost: numberOf(objectOf(block.cost_info)?.query_cost) ?? numberOf(block.cost),
    indexUsed: usesIndex(block),
  };
}

/** Rows of the last table read: MySQL counts what the join has produced so far, MariaDB counts each table by itself. */
function mysqlRows(block: Node): number | null {
  let node: Node | null = block;
  for (let depth = 0; node !== null && depth < maxWrappers; depth += 1) {
    const loop = Array.isArray(node.nested_loop) ? node.nested_loop : null;
    const table = objectOf(node.table) ?? objectOf(objectOf(loop?.at(-1))?.table);
    if (table !== null) {
      const alone = loop === null || loop.length === 1;
      return (
        numberOf(table.rows_produced_per_join) ??
        (alone ? (numberOf(table.rows) ?? numberOf(table.rows_examined_per_scan)) : null)
      );
    }
    node = wrappers.reduce<Node | null>((found, key) => found ?? objectOf(node?.[key]), null);
  }
  return null;
}

/** Nodes that MySQL and MariaDB put between a query and its tables. They sort and group, so they never raise the number of rows. */
const wrappers = [
  'ordering_operation',
  'grouping_operation',
  'duplicates_removal',
  'filesort',
  'temporary_table',
  'read_sorted_file',
];
const maxWrappers = 10;

/** Whether any node names an index: PostgreSQL's `Index Name`, MySQL's `key` of a table. */
function usesIndex(top: Node): boolean {
  for (const node of recordsIn(top)) {
    if (typeof node['Index Name'] === 'string') return true;
    if (typeof node.table_name === 'string' && typeof node.key === 'string') return true;
  }
  return false;
}

function objectOf(value: unknown): Node | null {
  return isRecord(value) ? value : null;
}

/** MySQL writes costs as text. */
function numberOf(value: unknown): number | null {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}
