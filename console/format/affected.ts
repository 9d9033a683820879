import { withCommas } from '../../lib/counts.js';
import type { Schema } from '../http/client.js';
import { counted } from './counts.js';
import { changedRows } from './plan.js';

type Context = Schema['Request']['context'];

/** A table that a text names, as far as it is known. */
export interface AffectedTable {
  name: string;
  rows: number | null;
  /** Tables of which a DELETE takes rows along. */
  cascades: string[];
  hasMoreCascades: boolean;
  hasTriggers: boolean;
}

/** The tables of the context: the objects of the snapshot, or only names (RQ-43). */
export function affectedTables(context: Context): AffectedTable[] {
  return (context.tables ?? []).map((table) => {
    if (typeof table !== 'object' || table === null)
      return { name: String(table), rows: null, cascades: [], hasMoreCascades: false, hasTriggers: false };
    const members = table as Record<string, unknown>;
    const rows = members.estimated_rows;
    return {
      name: nameOf(members),
      rows: typeof rows === 'number' && rows >= 0 ? rows : null,
      cascades: listIn(members.cascade_children).map((child) =>
        typeof child === 'object' && child !== null ? nameOf(child as Record<string, unknown>) : String(child),
      ),
      hasMoreCascades: members.cascade_children_truncated === true,
      hasTriggers: listIn(members.triggers).length > 0,
    };
  });
}

/** Omits the schema `public`. */
function nameOf({ schema_name, name }: Record<string, unknown>): string {
  return [schema_name, name].filter((part) => typeof part === 'string' && part !== '' && part !== 'public').join('.');
}

const listIn = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

export interface RowsExpected {
  text: string;
  /** Whose word it is, or why there is none. */
  source: string;
}

/** On how many rows a request works, by what is known of it. */
export function rowsExpected({
  context,
  max_affected_rows,
  operation,
  detail,
}: Pick<Schema['Request'], 'context' | 'max_affected_rows' | 'operation' | 'detail'>): RowsExpected {
  if (operation.startsWith('migrate_')) return { text: '–', source: 'a migration' };
  const plans = context.explain ?? [];
  const counts = plans.map(({ plan }) => changedRows(plan)).filter((rows) => rows !== null);
  if (counts.length > 0) {
    const sum = withCommas(counts.reduce((sum, rows) => sum + rows, 0));
    if (counts.length === plans.length && isAllOf(detail, plans)) return { text: `about ${sum}`, source: 'by the plan' };
    return { text: `${sum} and more`, source: 'some of its statements have no plan' };
  }
  if (max_affected_rows !== null) return { text: `at most ${withCommas(max_affected_rows)}`, source: 'or it is rolled back' };
  if (context.explain_enabled && context.status === 'collecting') return { text: '…', source: 'waiting for an agent to plan it' };
  return { text: 'not known', source: whyNotKnown(context) };
}

function whyNotKnown(context: Context): string {
  const plans = context.explain ?? [];
  const noPlan = plans.some(({ error }) => error === undefined) ? 'the plan does not tell' : 'there is no plan';
  const largest = Math.max(-1, ...affectedTables(context).map(({ rows }) => rows ?? -1));
  // No bound: a join multiplies the rows of its tables, and each of several statements changes rows of its own.
  if (largest >= 0) return `${noPlan}; the largest table that it names has about ${counted(largest, 'row')}`;
  return plans.length > 0 ? noPlan : 'no plan, and the tables are not known';
}

/** Whether the text has nothing besides these statements. What cannot be planned, such as TRUNCATE, is not among them. */
function isAllOf(text: string, statements: readonly { sql: string }[]): boolean {
  let at = 0;
  const rest: string[] = [];
  for (const { sql } of statements) {
    const found = text.indexOf(sql, at);
    if (found < 0) return false;
    rest.push(text.slice(at, found));
    at = found + sql.length;
  }
  return /^[;\s]*$/.test([...rest, text.slice(at)].join(''));
}

/** How many findings block and warn, in words; null when there are none. */
export function foundText(context: Context): string | null {
  const findings = context.sql_review?.findings ?? [];
  if (findings.length === 0) return null;
  const blocks = findings.filter(({ level }) => level === 'Block').length;
  const warns = findings.length - blocks;
  return [blocks > 0 ? `${blocks} that block` : '', warns > 0 ? (warns === 1 ? '1 warning' : `${warns} warnings`) : '']
    .filter(Boolean)
    .join(', ');
}
