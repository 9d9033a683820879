import { withCommas } from '../../lib/counts.js';
import { databaseError } from '../../lib/database-error.js';
import { changesIn } from '../../lib/plan-changes.js';
import { summarisePlan } from '../../lib/plan-summary.js';
import type { Schema } from '../http/client.js';

/** A step of a plan: PostgreSQL's nodes and MySQL's tables, as `svc` words them (CL-30). */
export interface PlanNode {
  what: string;
  on: string;
  by: string;
  /** What the database expects; null where it does not say. */
  rows: number | null;
  filter: string;
  parts: PlanNode[];
}

const maxDepth = 60;
const maxNodes = 1000;

/** The nodes of a plan in JSON, as a tree. Objects between them are left out. */
export function planTree(plan: unknown): PlanNode[] {
  let left = maxNodes;
  const visit = (value: unknown, depth: number): PlanNode[] => {
    if (typeof value !== 'object' || value === null || depth > maxDepth || left <= 0) return [];
    if (Array.isArray(value)) return value.flatMap((item) => visit(item, depth + 1));
    const node = nodeOf(value as Members);
    if (node !== null) left -= 1;
    const parts = Object.values(value).flatMap((member) => visit(member, depth + 1));
    return node === null ? parts : [{ ...node, parts }];
  };
  return visit(plan, 0);
}

/** How many rows the plan expects to be changed or, if it changes none, to be read. */
export function changedRows(plan: unknown): number | null {
  const changes = changesIn(plan);
  const rows = changes === null ? summarisePlan(plan).estimatedRows : changes.rows;
  return rows === 0 ? null : rows;
}

const unplanned: Record<string, string> = {
  disabled_by_policy: 'the workflow policy switches plans off',
  not_available: 'no agent is online',
  timeout: 'no agent answered in time',
  error: 'the database could not plan the statement',
};

/**
 * Why preflight has no plan. The request may run nevertheless, so that is said first: plans are made with fewer rights. What names a table that there is
 * not cannot run.
 */
export function noPlanText({ status, error, unknown_name }: Schema['Preflight']['impact'], sql: string): string {
  if (error === undefined) return `No plan: ${unplanned[status] ?? status}.`;
  const { message, hint } = databaseError(error, sql);
  return `${unknown_name ? '' : 'No plan: '}${[message, hint].filter(Boolean).join('. ')}`;
}

type Members = Record<string, unknown>;

function nodeOf(members: Members): Omit<PlanNode, 'parts'> | null {
  const text = (...keys: string[]) => keys.map((key) => members[key]).find((value) => typeof value === 'string') ?? '';
  const filter = text('Filter', 'Index Cond', 'Hash Cond', 'attached_condition') as string;
  if (text('Node Type') !== '')
    return {
      what: text('Node Type') as string,
      on: text('Relation Name') as string,
      by: text('Index Name') as string,
      rows: rowsIn(members, 'Plan Rows'),
      filter,
    };
  if (text('table_name') === '') return null;
  return {
    what: (text('access_type') || 'scan') as string,
    on: text('table_name') as string,
    by: text('key') as string,
    rows: rowsIn(members, 'rows_produced_per_join', 'rows', 'rows_examined_per_scan'),
    filter,
  };
}

/** 0 is no estimate: PostgreSQL reports it for every write that returns no rows, whatever it changes. */
function rowsIn(members: Members, ...keys: string[]): number | null {
  return keys.map((key) => numberIn(members, key)).find((rows) => rows !== null && rows > 0) ?? null;
}

function numberIn(members: Members, key: string): number | null {
  const value = members[key];
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** `Seq Scan on orders, about 4,000 rows`. */
export function nodeText({ what, on, by, rows }: PlanNode): string {
  const parts = [what, by && `by ${by}`, on && `on ${on}`].filter(Boolean).join(' ');
  return rows === null ? parts : `${parts}, about ${withCommas(rows)} ${rows === 1 ? 'row' : 'rows'}`;
}
