import type { JsonText } from '../../lib/json/read.js';
import { cellText } from './export.js';

const numeric = /^(int\d*|float\d*|numeric|decimal|double|bigint|smallint|tinyint|mediumint|integer|real|money|oid|year)\b/i;

/** Whether the values of a column are numbers: by its type, else by the first rows. */
export function isNumeric(type: string | undefined, rows: readonly (readonly JsonText[])[], column: number): boolean {
  if (type) return numeric.test(type);
  const kinds = rows.slice(0, sampled).map((row) => row[column]?.kind);
  return kinds.includes('number') && kinds.every((kind) => kind === 'number' || kind === 'null' || kind === undefined);
}

const sampled = 100;
const narrowest = 6;
const widest = 42;

/** How many characters wide a column is, by its name and first rows. */
export function columnWidth(name: string, rows: readonly (readonly JsonText[])[], column: number): number {
  const lengths = rows.slice(0, sampled).map((row) => cellText(row[column])?.length ?? 4);
  return Math.min(widest, Math.max(narrowest, name.length + 1, ...lengths));
}

/** The rows of which some cell has the text, whatever its case. */
export function filtered<Row extends readonly JsonText[]>(rows: readonly Row[], wanted: string): readonly Row[] {
  const text = wanted.trim().toLowerCase();
  if (text === '') return rows;
  return rows.filter((row) => row.some((value) => (cellText(value) ?? 'null').toLowerCase().includes(text)));
}

export interface Place {
  row: number;
  column: number;
}

const pageRows = 15;

/** Where a key leads in a grid; null if it leads nowhere. */
export function moved({ row, column }: Place, key: string, rows: number, columns: number): Place | null {
  const steps: Record<string, Place> = {
    ArrowDown: { row: row + 1, column },
    ArrowUp: { row: row - 1, column },
    ArrowRight: { row, column: column + 1 },
    ArrowLeft: { row, column: column - 1 },
    PageDown: { row: row + pageRows, column },
    PageUp: { row: row - pageRows, column },
    Home: { row, column: 0 },
    End: { row, column: columns - 1 },
    'Control+Home': { row: 0, column: 0 },
    'Control+End': { row: rows - 1, column: columns - 1 },
  };
  const to = Object.hasOwn(steps, key) ? steps[key] : undefined;
  if (to === undefined) return null;
  const within = (value: number, count: number) => Math.min(count - 1, Math.max(0, value));
  return { row: within(to.row, rows), column: within(to.column, columns) };
}
