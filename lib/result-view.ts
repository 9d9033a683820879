import type { JsonText } from './json/read.js';

/** The parts of an envelope (results.md section 2) to display; numbers are exact texts. */
export interface ResultView {
  columns: string[];
  /** Null when the statement returned no row set. */
  rows: JsonText[][] | null;
  rowsAffected: string | null;
  truncated: boolean;
  truncationReason: string | null;
  data: JsonText | null;
}

/** Reads an envelope for display (CL-15, CL-16); missing keys and keys of the wrong type count as absent. */
export function viewResult(envelope: JsonText): ResultView {
  const data = envelope.get('result_data') ?? null;
  const rows = data?.get('rows');
  const hasRows = rows?.kind === 'array';
  const items = hasRows ? rows.items() : [];
  const columns = hasRows ? columnNames(data?.get('columns'), items[0]) : [];
  return {
    columns,
    rows: hasRows ? items.map((row) => cellsOf(row, columns)) : null,
    rowsAffected: numberText(envelope.get('rows_affected')) ?? numberText(data?.get('rows_affected')),
    truncated: envelope.get('truncated')?.text === 'true' || data?.get('truncated')?.text === 'true',
    truncationReason: data?.get('truncation_reason')?.string() ?? null,
    data,
  };
}

function columnNames(given: JsonText | undefined, firstRow: JsonText | undefined): string[] {
  if (given?.kind === 'array')
    return given.items().map((item, index) => item.string() ?? item.get('name')?.string() ?? `column_${index + 1}`);
  if (firstRow?.kind === 'object') return firstRow.entries().map(([name]) => name);
  return firstRow?.items().map((_, index) => `column_${index + 1}`) ?? [];
}

/** Cells in column order. Repeated names take their members in order, so that none is lost. */
function cellsOf(row: JsonText, columns: readonly string[]): JsonText[] {
  if (row.kind !== 'object') return row.items();
  const entries = row.entries();
  if (entries.length === columns.length && entries.every(([name], index) => name === columns[index]))
    return entries.map(([, value]) => value);
  const byName = new Map<string, JsonText[]>();
  for (const [name, value] of entries) byName.set(name, [...(byName.get(name) ?? []), value]);
  return columns.map((name) => byName.get(name)?.shift() ?? absent);
}

const absent: JsonText = {
  kind: 'null',
  text: 'null',
  entries: () => [],
  items: () => [],
  get: () => undefined,
  string: () => null,
};

function numberText(value: JsonText | undefined): string | null {
  return value?.kind === 'number' ? value.text : null;
}
