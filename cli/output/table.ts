import { cutToWidth, displayWidth, padToWidth } from './width.js';

export interface TableOptions {
  /** Right-aligned columns. */
  rightAligned?: ReadonlySet<number>;
  /** Truncates wider cells with `...`; 60 by CL-14. */
  maxCell?: number;
  paintHeader?: (text: string) => string;
  /** Colours one cell after truncation and padding. */
  paintCell?: (padded: string, row: number, column: number) => string;
}

/**
 * Pads columns by display width under an underlined header, two spaces between; cells must hold no control characters (CL-14).
 */
export function renderTable(header: readonly string[], rows: readonly (readonly string[])[], options: TableOptions = {}): string {
  const cut = (cell: string) => cutToWidth(cell, options.maxCell ?? 60);
  const names = header.map(cut);
  const cells = rows.map((row) => row.map(cut));
  const widths = names.map((name, column) =>
    cells.reduce((most, row) => Math.max(most, displayWidth(row[column] ?? '')), displayWidth(name)),
  );
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
    line(names, (text) => options.paintHeader?.(text) ?? text),
    widths.map((width) => '-'.repeat(width)).join('  '),
    ...cells.map((row, index) => line(row, (text, column) => options.paintCell?.(text, index, column) ?? text)),
  ];
  return lines.map((text) => `${text}\n`).join('');
}
