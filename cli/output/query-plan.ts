import { isPermissionError } from '../../domain/plan-error.js';
import { withCommas } from '../../lib/counts.js';
import { databaseError } from '../../lib/database-error.js';
import type { JsonText } from '../../lib/json/read.js';
import { changesIn } from '../../lib/plan-changes.js';
import { visible } from '../../lib/visible.js';
import { count } from './numbers.js';
import type { Style } from './style.js';
import { cutToWidth } from './width.js';

const maxLines = 20;
const maxDepth = 12;

const states: Record<string, string> = {
  disabled_by_policy: 'switched off by the workflow policy',
  not_available: 'no agent is online',
  timeout: 'no agent answered in time',
  error: 'the database could not plan the statement',
};

/** What preflight says about the plan: rows, cost, index, and the nodes of PostgreSQL or the tables of MySQL (CL-30). */
export function planLines(impact: JsonText | undefined, sql: string, style: Style): string[] {
  const status = impact?.get('status')?.string() ?? '';
  if (impact === undefined || status === '' || status === 'skipped') return [];
  if (status !== 'completed') {
    const why = impact.get('error')?.string();
    if (why == null) return [`no plan: ${visible(states[status] ?? status)}`];
    return isPermissionError(why) ? [noRight, style.dim(worded(why, sql))] : [`no plan: ${worded(why, sql)}`];
  }
  const rows = rowsOf(impact, 'estimated_rows');
  const cost = impact.get('estimated_cost');
  const index = { true: 'an index is used', false: 'no index is used' }[impact.get('index_used')?.text ?? ''] ?? '';
  const parts = [rows && `about ${rows}`, cost?.kind === 'number' ? `cost ${cost.text}` : '', index];
  const summary = parts.filter((part) => part !== '').join(', ');
  return [...(summary === '' ? [] : [summary]), ...planTree(impact.get('explain_plan'), style)];
}

/** The database's words where it knows no such table or column, so that the text cannot run; else null (CL-19). */
export function unknownName(answer: JsonText, sql: string): string | null {
  const impact = answer.get('impact');
  if (impact?.get('unknown_name')?.text !== 'true') return null;
  const why = impact.get('error')?.string();
  return why == null ? 'unknown table or column' : worded(why, sql);
}

function worded(error: string, sql: string): string {
  const { message, hint } = databaseError(error, sql);
  return visible(hint === null ? message : `${message}. ${hint}`);
}

/** How many rows the plan expects a statement to change or, if it changes none, to read. */
export function changedRows(impact: JsonText | undefined): string {
  if (impact?.get('status')?.string() !== 'completed') return '';
  const changes = changesIn(JSON.parse(impact.get('explain_plan')?.text ?? 'null'));
  const rows =
    changes === null ? rowsOf(impact, 'estimated_rows') : changes.rows === null ? '' : rowsText(withCommas(changes.rows));
  return rows === '' ? '' : `about ${rows}, by the plan`;
}

/**
 * The plans of a request's statements, or why there are none (RQ-43); with several statements, each plan follows its statement.
 */
export function explainLines(context: JsonText | undefined, style: Style): string[] {
  const plans = context?.get('explain')?.items() ?? [];
  const status = context?.get('status')?.string();
  if (plans.length === 0 && context?.get('explain_enabled')?.text === 'true')
    return [status === 'collecting' ? 'waiting for an agent' : 'no agent answered in time'];
  return plans.flatMap((entry) => {
    const whole = visible((entry.get('sql')?.string() ?? '').replace(/[ \t\r\n]+/g, ' ').replace(/^ | $/g, ''));
    const sql = style.isTerminal ? cutToWidth(whole, 76) : whole;
    if (sql !== whole) style.tellCut();
    const lines = explained(entry, style);
    return plans.length === 1 ? lines : [sql, ...lines.map((line) => `  ${line}`)];
  });
}

function explained(entry: JsonText, style: Style): string[] {
  const error = entry.get('error')?.string();
  if (error == null) {
    const tree = planTree(entry.get('plan'), style);
    return tree.length === 0 ? ['an unknown plan'] : tree;
  }
  const told = databaseError(error, entry.get('sql')?.string() ?? null);
  if (isPermissionError(error)) return [noRight, style.dim(visible(told.message))];
  const hint = told.hint ?? entry.get('hint')?.string();
  return [`no plan: ${visible(told.message)}`, ...(hint == null ? [] : [`${style.cyan('hint:')} ${visible(hint)}`])];
}

/** Usual for writes, which the agent plans as a role that only reads (HD-1). */
const noRight = 'no plan: the role that makes plans (read_url) may not do this; the request runs as the role of url';

function planTree(plan: JsonText | undefined, style: Style): string[] {
  const nodes: string[] = [];
  collect(plan, 0, 0, nodes);
  const shown = nodes.slice(0, maxLines).map((line) => style.dim(line));
  return nodes.length > maxLines ? [...shown, style.dim(`... ${nodes.length - maxLines} more`)] : shown;
}

/** Adds lines for nodes, indented by their depth among nodes; `level` also counts the objects between them. */
function collect(value: JsonText | undefined, depth: number, level: number, lines: string[]): void {
  if (value === undefined || level > 3 * maxDepth || lines.length > 1000) return;
  for (const item of value.items()) collect(item, depth, level + 1, lines);
  if (value.kind !== 'object') return;
  const line = nodeLine(value);
  if (line !== null) lines.push(`${'  '.repeat(Math.min(depth, maxDepth))}${line}`);
  for (const [, member] of value.entries())
    if (member.kind === 'object' || member.kind === 'array') collect(member, line === null ? depth : depth + 1, level + 1, lines);
}

function nodeLine(node: JsonText): string | null {
  const text = (key: string) => visible(node.get(key)?.string() ?? '');
  const part = (word: string, key: string) => (text(key) === '' ? '' : ` ${word} ${text(key)}`);
  if (text('Node Type') !== '')
    return `${text('Node Type')}${part('by', 'Index Name')}${part('on', 'Relation Name')}${after(rowsOf(node, 'Plan Rows'))}`;
  if (text('table_name') === '') return null;
  const rows = rowsOf(node, 'rows_produced_per_join') || rowsOf(node, 'rows') || rowsOf(node, 'rows_examined_per_scan');
  return `${text('access_type') || 'scan'}${part('by', 'key')} on ${text('table_name')}${after(rows)}`;
}

const after = (rows: string) => (rows === '' ? '' : `, ${rows}`);

/** Omits 0: PostgreSQL reports 0 for every write that returns no rows, whatever it changes. */
function rowsOf(node: JsonText, key: string): string {
  const rows = count(node.get(key));
  return rows === '' || rows === '0' ? '' : rowsText(rows);
}

const rowsText = (count: string) => `${count} ${count === '1' ? 'row' : 'rows'}`;
