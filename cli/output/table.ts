import { cutToWidth, displayWidth, padToWidth } from './width.js';

export interface TableOptions {
  /** Columns that start at the right edge. */
  rightAligned?: ReadonlySet<number>;
  /** Cells wider than this are cut with `...`; 60 by CL-14. */
  maxCell?: number;
  paintHeader?: (text: string) => string;
  /** Paints one cell after it was cut and padded. */
  paintCell?: (padded: string, row: number, column: number) => string;
}

/** Columns padded by display width under an underlined header, two blanks between; cells must hold no control characters (CL-14). */
export function renderTable(header: readonly string[], rows: readonly (readonly string[])[], options: TableOptions = {}): string {
  const cut = (cell: string) => cutToWidth(cell, options.maxCell ?? 60);
  const names = header.map(cut);
  const cells = rows.map((row) => row.map(cut));
  const widths = names.map((name, column) =>
    cells.reduce((most, row) => Math.max(most, displayWidth(row[column] ?? '')), displayWidth(name)),
  );
  const line = (row: readonly string[], paint: (text: string, column: number) => string) =>
    widths
      .map((width, column) => paint(padCell(row[column] ?? '', width, column, widths.length, options), column))
      .join('  ')
      .trimEnd();
  const lines = [
    line(names, (text) => options.paintHeader?.(text) ?? text),
    widths.map((width) => '-'.repeat(width)).join('  '),
    ...cells.map((row, index) => line(row, (text, column) => options.paintCell?.(text, index, column) ?? text)),
  ];
  return lines.map((text) => `${text}\n`).join('');
}

/** The last column is not padded, so that no line ends in blanks. */
function padCell(cell: string, width: number, column: number, columns: number, options: TableOptions): string {
  const right = options.rightAligned?.has(column) === true;
  return column === columns - 1 && !right ? cell : padToWidth(cell, width, right);
}
