import type { Style } from './style.js';
import { cutToWidth, displayWidth, padToWidth } from './width.js';

export interface TableOptions {
  /** Right-aligned columns. */
  rightAligned?: ReadonlySet<number>;
  /** On a terminal, wider cells are cut with `...`, however much room there is; 60 by CL-14. */
  maxCell?: number;
  /** Columns that are never cut: a part of them is of no use. */
  whole?: ReadonlySet<number>;
  /** Columns that shrink before the others, such as reasons. */
  yielding?: ReadonlySet<number>;
  /** Columns that are left out, in this order, before others that do not yield are cut to less than what can be read. */
  spare?: readonly number[];
  /** Columns that are left out after these, only where the table would be too wide otherwise. */
  spareLast?: readonly number[];
  /** Where the table goes: only a terminal gets cut cells and a bold header. */
  style: Style;
  /** Colours one cell after truncation and padding. */
  paintCell?: (padded: string, row: number, column: number) => string;
}

/**
 * Pads columns by display width under an underlined header, two spaces between; cells must hold no control characters (CL-14).
 * On a terminal the columns shrink until a line fits, the widest first; numbers do not.
 */
export function renderTable(header: readonly string[], rows: readonly (readonly string[])[], options: TableOptions): string {
  const { style } = options;
  const columns = columnsOf(header, rows, options);
  header.forEach((name, at) => {
    if (!columns.some((column) => column.at === at)) style.tellCut(name);
  });
  const cut = (cell: string, width: number) => {
    const shown = style.isTerminal ? cutToWidth(cell, width) : cell;
    if (shown !== cell) style.tellCut();
    return shown;
  };
  // Does not pad the last column, so that no line ends in spaces.
  const pad = (cell: string, { at, width }: Column) => {
    const right = options.rightAligned?.has(at) === true;
    return at === columns.at(-1)?.at && !right ? cell : padToWidth(cell, width, right);
  };
  const line = (row: readonly string[], paint: (text: string, column: number) => string) =>
    columns
      .map((column) => paint(pad(cut(row[column.at] ?? '', column.width), column), column.at))
      .join('  ')
      .trimEnd();
  const lines = [
    line(header, style.bold),
    columns.map(({ width }) => '-'.repeat(width)).join('  '),
    ...rows.map((row, index) => line(row, (text, column) => options.paintCell?.(text, index, column) ?? text)),
  ];
  return lines.map((text) => `${text}\n`).join('');
}

/** A column that is shown: its place in a row, and its width. */
interface Column {
  at: number;
  width: number;
}

function columnsOf(header: readonly string[], rows: readonly (readonly string[])[], options: TableOptions): Column[] {
  const { style, maxCell = 60, whole, rightAligned, yielding, spare = [], spareLast = [] } = options;
  const natural = header.map((name, at) => ({
    at,
    width: rows.reduce((most, row) => Math.max(most, displayWidth(row[at] ?? '')), displayWidth(name)),
  }));
  if (!style.isTerminal) return natural;
  const mostOf = ({ at, width }: Column) => (whole?.has(at) ? width : Math.min(width, maxCell));
  const isKept = (at: number) => whole?.has(at) || rightAligned?.has(at);
  const leastOf = (column: Column) => Math.min(mostOf(column), isKept(column.at) ? Infinity : leastWidth(header[column.at]!));
  const readableOf = (column: Column) =>
    yielding?.has(column.at) ? leastOf(column) : Math.max(leastOf(column), Math.min(mostOf(column), readableWidth));
  const readable = withoutSpare(natural, readableOf, spare, style);
  const columns = withoutSpare(readable, leastOf, spareLast, style);
  const most = columns.map(mostOf);
  const least = columns.map(leastOf);
  const yielded = columns.map(({ at }, index) => (yielding === undefined || yielding.has(at) ? least[index]! : most[index]!));
  const room = style.columns - gapsOf(columns);
  const widths = sumOf(yielded) <= room ? fitted(most, yielded, room) : fitted(yielded, least, room);
  return columns.map(({ at }, index) => ({ at, width: widths[index]! }));
}

function withoutSpare(columns: Column[], widthOf: (column: Column) => number, spare: readonly number[], style: Style): Column[] {
  const fits = (shown: Column[]) => sumOf(shown.map(widthOf)) + gapsOf(shown) <= style.columns;
  return spare.reduce((shown, column) => (fits(shown) ? shown : shown.filter(({ at }) => at !== column)), columns);
}

const gapsOf = (columns: readonly Column[]) => 2 * (columns.length - 1);

const sumOf = (widths: readonly number[]) => widths.reduce((sum, width) => sum + width, 0);

/** Enough for most names, events and times. */
const readableWidth = 16;

/** Enough to tell cells apart, and for the usual header. */
const leastWidth = (name: string) => Math.max(8, Math.min(displayWidth(name), 12));

/** The widths under the largest common limit with which they need at most `room`; `least`, when there is none. */
function fitted(most: readonly number[], least: readonly number[], room: number): number[] {
  const limited = (limit: number) => most.map((width, column) => Math.min(width, Math.max(limit, least[column]!)));
  const fits = (limit: number) => sumOf(limited(limit)) <= room;
  let low = 0;
  let high = Math.max(0, ...most);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return limited(low);
}
