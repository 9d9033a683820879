import type { Style } from './style.js';
import { cutToWidth, displayWidth, padToWidth } from './width.js';

export interface TableOptions {
  /** Right-aligned columns. */
  rightAligned?: ReadonlySet<number>;
  /** On a terminal, wider cells are cut with `...`; 60 by CL-14. */
  maxCell?: number;
  /** Where the table goes: only a terminal gets cut cells and a bold header. */
  style: Style;
  /** Colours one cell after truncation and padding. */
  paintCell?: (padded: string, row: number, column: number) => string;
}

/**
 * Pads columns by display width under an underlined header, two spaces between; cells must hold no control characters (CL-14).
 */
export function renderTable(header: readonly string[], rows: readonly (readonly string[])[], options: TableOptions): string {
  const { style, maxCell = 60 } = options;
  const cut = (cell: string) => {
    const shown = style.isTerminal ? cutToWidth(cell, maxCell) : cell;
    if (shown !== cell) style.tellCut();
    return shown;
  };
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
    line(names, style.bold),
    widths.map((width) => '-'.repeat(width)).join('  '),
    ...cells.map((row, index) => line(row, (text, column) => options.paintCell?.(text, index, column) ?? text)),
  ];
  return lines.map((text) => `${text}\n`).join('');
}
