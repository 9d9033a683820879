import { csvField } from '../../lib/csv.js';
import { compactJson, type JsonText } from '../../lib/json/read.js';
import { arrayText, objectText } from '../../lib/json/write.js';
import type { ResultView } from '../../lib/result-view.js';
import { visible, visibleJson } from '../../lib/visible.js';
import type { Style } from './style.js';
import { renderTable } from './table.js';

export const resultFormats = ['table', 'csv', 'vertical', 'json'] as const;
export type ResultFormat = (typeof resultFormats)[number];

/** The result as text that ends with a newline (CL-14 to CL-16). On a terminal, control characters are escaped in csv and json too. */
export function renderResult(view: ResultView, format: ResultFormat, style: Style): string {
  const toTerminal = style.isTerminal;
  if (format === 'json') return toTerminal ? visibleJson(jsonOf(view)) : jsonOf(view);
  if (view.rows === null) return view.rowsAffected === null ? 'OK\n' : `Rows affected: ${view.rowsAffected}\n`;
  if (format === 'csv') return csvOf(view.columns, view.rows, toTerminal);
  return format === 'vertical' ? verticalOf(view.columns, view.rows) : tableOf(view.columns, view.rows, style);
}

/** A cell as plain text: NULL for null, strings raw, other values as compact JSON with exact digits (CL-15). */
export function cellText(value: JsonText): string {
  if (value.kind === 'null') return 'NULL';
  return value.string() ?? compactJson(value.text);
}

function tableOf(columns: readonly string[], rows: readonly JsonText[][], style: Style): string {
  const cells = rows.map((row) => row.map((value) => visible(cellText(value))));
  const isNumber = (column: number) =>
    rows.some((row) => row[column]?.kind === 'number') &&
    rows.every((row) => ['number', 'null', undefined].includes(row[column]?.kind));
  const rightAligned = new Set(columns.flatMap((_, column) => (isNumber(column) ? [column] : [])));
  const table = columns.length === 0 ? '' : renderTable(columns.map(visible), cells, { rightAligned, style });
  return `${table}${rowCount(rows.length)}\n`;
}

function rowCount(count: number): string {
  return count === 1 ? '(1 row)' : `(${count} rows)`;
}

function verticalOf(columns: readonly string[], rows: readonly JsonText[][]): string {
  if (rows.length === 0) return `${rowCount(0)}\n`;
  const blocks = rows.map((row, index) =>
    [
      `*** Row ${index + 1} ***`,
      ...columns.map((name, column) => `${visible(name)}: ${visible(row[column] ? cellText(row[column]) : 'NULL')}`),
    ]
      .map((line) => `${line}\n`)
      .join(''),
  );
  return blocks.join('\n');
}

function csvOf(columns: readonly string[], rows: readonly JsonText[][], toTerminal: boolean): string {
  const clean = (line: string) => (toTerminal ? line.split('\n').map(visible).join('\n') : line);
  const lines = [
    columns.map((name) => csvField(name, columns.length === 1)),
    ...rows.map((row) => row.map((value) => csvCell(value, row.length === 1))),
  ];
  return lines.map((line) => `${clean(line.join(','))}\r\n`).join('');
}

/** NULL is unquoted; the text "NULL" is quoted, which tells them apart. */
function csvCell(value: JsonText, alone: boolean): string {
  return value.kind === 'null' ? 'NULL' : csvField(cellText(value), alone);
}

function jsonOf(view: ResultView): string {
  const rows = (view.rows ?? []).map((row) => arrayText(row.map((value) => compactJson(value.text))));
  const { columns, truncated } = view;
  const raw = { rows: arrayText(rows), rows_affected: view.rowsAffected ?? 'null' };
  return `${objectText({ columns, rows, rows_affected: null, truncated }, raw)}\n`;
}
