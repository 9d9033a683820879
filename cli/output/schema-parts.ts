import type { JsonText } from '../../lib/json/read.js';
import { visible } from '../../lib/visible.js';
import { detailInstant } from './instant.js';
import { count } from './numbers.js';
import { indentedStyle, type Style } from './style.js';
import { renderTable } from './table.js';
import { displayWidth, padToWidth } from './width.js';

/** `shop/production, postgresql, 3 tables, seen at 2026-05-01 08:00:00 UTC (3 min ago)`. */
export function headLine(answer: JsonText, tables: number, style: Style): string {
  const text = textOf(answer);
  const size = tables === 1 ? '1 table' : `${tables} tables`;
  return `${text('database')}/${text('environment')}, ${text('dialect')}, ${size}, seen at ${detailInstant(text('collected_at'), style)}`;
}

/** One table in full: its columns, then its constraints and indexes. */
export function tablePage(table: JsonText, style: Style): string {
  const text = textOf(table);
  const rows = count(table.get('estimated_rows'));
  const size = rows === '' ? '' : style.dim(`  about ${rows} ${rows === '1' ? 'row' : 'rows'}`);
  const columns = (table.get('columns')?.items() ?? []).map(columnRow);
  const header = ['COLUMN', 'TYPE', 'NULL', 'DEFAULT', 'KEY'];
  const parts = [
    columns.length === 0 ? 'no columns\n' : renderTable(header, columns, { style: indentedStyle(style, 2) }),
    block('Constraints', (table.get('constraints')?.items() ?? []).map(constraintRow), style),
    block('Indexes', (table.get('indexes')?.items() ?? []).map(indexRow), style),
  ];
  const title = [text('schema_name'), text('name')].filter((part) => part !== '').join('.');
  return `${style.bold(title)}${size}\n${parts.map(indented).join('')}`;
}

function columnRow(column: JsonText): string[] {
  const text = textOf(column);
  const isSet = (key: string) => column.get(key)?.text === 'true';
  return [
    text('name'),
    text('data_type'),
    isSet('nullable') ? 'yes' : 'no',
    text('default_value'),
    isSet('is_primary_key') ? 'primary' : '',
  ];
}

const kinds: Record<string, string> = {
  primary_key: 'primary key',
  foreign_key: 'foreign key',
  unique: 'unique',
  check: 'check',
};

function constraintRow(constraint: JsonText): [string, string] {
  const text = textOf(constraint);
  const kind = kinds[text('constraint_type')] ?? text('constraint_type');
  const line = `${kind} (${list(constraint.get('columns'))})`;
  if (constraint.get('referenced_table')?.string() == null) return [text('name'), line];
  const action = text('on_delete').replace('_', ' ').toLowerCase();
  const target = [text('referenced_schema'), text('referenced_table')].filter((part) => part !== '').join('.');
  return [text('name'), `${line} to ${target} (${list(constraint.get('referenced_columns'))}), on delete ${action}`];
}

function indexRow(index: JsonText): [string, string] {
  const text = textOf(index);
  const unique = index.get('is_unique')?.text === 'true' ? 'unique ' : '';
  return [text('name'), `${unique}${text('index_type')} (${list(index.get('columns'))})`];
}

function block(title: string, rows: readonly [string, string][], style: Style): string {
  const width = Math.max(0, ...rows.map(([name]) => displayWidth(name)));
  const lines = rows.map(([name, what]) => `  ${padToWidth(name, width)}  ${what}\n`);
  return lines.length === 0 ? '' : `${style.dim(title)}\n${lines.join('')}`;
}

const indented = (text: string) => text.replace(/^(?=.)/gm, '  ');
const textOf = (object: JsonText) => (key: string) => visible(object.get(key)?.string() ?? '');
const list = (value: JsonText | undefined) => (value?.items() ?? []).map((item) => visible(item.string() ?? '')).join(', ');
