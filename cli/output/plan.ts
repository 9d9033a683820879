import type { JsonText } from './json-text.js';
import type { Style } from './style.js';
import { visible } from './visible.js';

const maxLines = 20;
const maxDepth = 12;

const states: Record<string, string> = {
  disabled_by_policy: 'switched off by the workflow policy',
  not_available: 'no agent is there to ask',
  timeout: 'no agent answered in time',
  error: 'the database could not plan it',
};

/** What preflight says of the plan: rows, cost, index, and the nodes of PostgreSQL's or the tables of MySQL's (CL-30). */
export function planLines(impact: JsonText | undefined, style: Style): string[] {
  const status = impact?.get('status')?.string() ?? '';
  if (impact === undefined || status === '' || status === 'skipped') return [];
  if (status !== 'completed') return [states[status] ?? visible(status)];
  const value = (key: string) => impact.get(key)?.text ?? 'null';
  const known = (key: string, label: string) => (value(key) === 'null' ? [] : [`${label} ${value(key)}`]);
  const index = { true: ['an index is used'], false: ['no index is used'] }[value('index_used')] ?? [];
  const summary = [...known('estimated_rows', 'rows'), ...known('estimated_cost', 'cost'), ...index].join(', ');
  const nodes: string[] = [];
  collect(impact.get('explain_plan'), 0, 0, nodes);
  const shown = nodes.slice(0, maxLines).map((line) => style.dim(line));
  const more = nodes.length > maxLines ? [style.dim(`... ${nodes.length - maxLines} more`)] : [];
  return [...(summary === '' ? [] : [summary]), ...shown, ...more];
}

/** Lines of nodes, indented by how deep they are among nodes; `level` also counts what stands between them. */
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
  if (text('Node Type') !== '') {
    const on = text('Relation Name') === '' ? '' : ` on ${text('Relation Name')}`;
    const by = text('Index Name') === '' ? '' : ` by ${text('Index Name')}`;
    return `${text('Node Type')}${by}${on}`;
  }
  if (text('table_name') === '') return null;
  const key = text('key') === '' ? '' : ` by ${text('key')}`;
  return `${text('access_type') || 'scan'}${key} on ${text('table_name')}`;
}
