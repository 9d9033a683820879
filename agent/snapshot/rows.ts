import { SnapshotTooLarge } from './no-snapshot.js';

/** One row of the database's catalogue. */
export type Row = (string | null)[];

/** With more rows of one kind the snapshot cannot fit into a body of 10 MiB: each takes more than 55 bytes. */
export const MAX_ROWS = 200_000;

/** Throws SnapshotTooLarge when a query reached that limit. */
export function checkSize(results: readonly (readonly Row[])[]): void {
  if (results.some((rows) => rows.length >= MAX_ROWS)) throw new SnapshotTooLarge();
}

/** Groups rows by their first column, the table; keeps their order. */
export function byTable<T>(rows: readonly Row[], read: (row: Row) => T): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const [table, ...row] of rows) {
    const same = found.get(text(table));
    if (same) same.push(read(row));
    else found.set(text(table), [read(row)]);
  }
  return found;
}

export const text = (value: string | null | undefined): string => value ?? '';
