import { csvField } from '../../lib/csv.js';
import { compactJson, type JsonText } from '../../lib/json/read.js';
import { arrayText, objectWriter } from '../../lib/json/write.js';

export interface Grid {
  columns: readonly string[];
  rows: readonly (readonly JsonText[])[];
}

export interface SheetOptions {
  /** Puts an apostrophe before what a spreadsheet would take for a formula. */
  neutralised: boolean;
}

/** A cell as plain text: strings as they are, numbers with all their digits, other values as JSON; null for NULL. */
export function cellText(value: JsonText | undefined): string | null {
  if (value === undefined || value.kind === 'null') return null;
  return value.string() ?? compactJson(value.text);
}

/** RFC 4180. NULL is unquoted and the text "NULL" quoted, as `svc` writes them. */
export function csvText({ columns, rows }: Grid, { neutralised }: SheetOptions): string {
  const alone = columns.length === 1;
  const cell = (value: string) => csvField(neutralised ? neutral(value) : value, alone);
  const lines = [columns.map(cell), ...rows.map((row) => row.map((value) => orNull(cellText(value), cell)))];
  return lines.map((line) => `${line.join(',')}\r\n`).join('');
}

const orNull = (text: string | null, cell: (text: string) => string) => (text === null ? 'NULL' : cell(text));

/** Also behind what some spreadsheets take for the end of a cell: where the comma is the decimal sign, they separate at `;` and heed no quotes. */
const neutral = (text: string) => (isNumber.test(text) ? text : text.replace(/(^|[;\t\r\n])(?=[=+\-@\t\r])/g, "$1'"));

const isNumber = /^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$/;

/** For a paste into a spreadsheet: a tab or the end of a line inside a cell would begin another. */
export function tsvText({ columns, rows }: Grid, { neutralised }: SheetOptions): string {
  const cell = (text: string) => (neutralised ? neutral(text) : text).replace(/[\t\r\n]+/g, ' ');
  const lines = [columns.map(cell), ...rows.map((row) => row.map((value) => cell(cellText(value) ?? 'NULL')))];
  return lines.map((line) => `${line.join('\t')}\n`).join('');
}

/** An array of the rows, each with the names of its columns; of an array where two columns share a name. */
export const jsonText = (grid: Grid): string => `${arrayText(recordsOf(grid))}\n`;

export const ndjsonText = (grid: Grid): string =>
  recordsOf(grid)
    .map((line) => `${line}\n`)
    .join('');

function recordsOf({ columns, rows }: Grid): string[] {
  const isUnique = new Set(columns).size === columns.length;
  const write = isUnique ? objectWriter(columns) : arrayText;
  return rows.map((row) => write(columns.map((_, index) => compactJson(row[index]?.text ?? 'null'))));
}
