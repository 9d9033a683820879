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
  /** Where the table goes: only a terminal gets cut cells and a bold header. */
  style: Style;
  /** Colours one cell after truncation and padding. */
  paintCell?: (padded: string, row: number, column: number) => string;
}

/**
 * Pads columns by display width under an underlined header, two spaces between; cells must hold no control characters (CL-14).
 * On a terminal the columns shrink until a line fits, the widest first;
 * numbers do not.
 */
export function renderTable(header: readonly string[], rows: readonly (readonly string[])[], options: TableOptions): string {
  const { style } = options;
  const widths = widthsOf(header, rows, options);
  const cut = (cell: string, column: number) => {
    const shown = style.isTerminal ? cutToWidth(cell, widths[column]!) : cell;
    if (shown !== cell) style.tellCut();
    return shown;
  };
  const names = header.map(cut);
  const cells = rows.map((row) => row.map(cut));
  // Does not pad the last column, so that no line ends in spaces.
  const pad = (cell: string, width: number, column: number) => {
    const right = options.rightAligned?.has(column) === true;
    return column === widths.length - 1 && !right ? cell : padToWidth(cell, width, right);
  };
  const line = (row: readonly string[], paint: (text: string, column: number) => string) =>
    widths
      .map((width, column) => paint(pad(row[column] ?? '', width, column), column))
      .join('  ')
      .trimEnd();
  const lines = [
    line(names, style.bold),
    widths.map((width) => '-'.repeat(width)).join('  '),
    ...cells.map((row, index) => line(row, (text, column) => options.paintCell?.(text, index, column) ?? text)),
  ];
  return lines.map((text) => `${text}\n`).join('');
}

function widthsOf(header: readonly string[], rows: readonly (readonly string[])[], options: TableOptions): number[] {
  const { style, maxCell = 60, whole, rightAligned } = options;
  const widths = header.map((name, column) =>
    rows.reduce((most, row) => Math.max(most, displayWidth(row[column] ?? '')), displayWidth(name)),
  );
  if (!style.isTerminal) return widths;
  const most = widths.map((width, column) => (whole?.has(column) ? width : Math.min(width, maxCell)));
  const isKept = (column: number) => whole?.has(column) || rightAligned?.has(column);
  const least = most.map((width, column) => (isKept(column) ? width : Math.min(width, leastWidth(header[column]!))));
  const room = style.columns - 2 * (widths.length - 1);
  const yielded = least.map((width, column) =>
    options.yielding === undefined || options.yielding.has(column) ? width : most[column]!,
  );
  return sumOf(yielded) <= room ? fitted(most, yielded, room) : fitted(yielded, least, room);
}

const sumOf = (widths: readonly number[]) => widths.reduce((sum, width) => sum + width, 0);

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
