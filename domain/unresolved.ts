import { shownName, type TableLookup, type WrittenName } from './snapshot.js';
import type { StatementFacts } from './statement.js';

export type TableFactor = { name: 'table_unresolved' | 'never_analysed'; tables: string[] };

export const isUnnamed = (factors: readonly TableFactor[]) => factors.every(({ tables }) => tables.length === 0);

/** SQ-86: nothing when every table is known; a factor without tables when the text does not say what it writes (SQ-I7). */
export function findUnresolved(facts: readonly StatementFacts[], lookup: TableLookup): TableFactor[] {
  const created = new Set<string>();
  const unresolved = new Set<string>();
  const unanalysed = new Set<string>();
  for (const { changed, created: made, changesRows, named } of facts) {
    const written = new Set(changed.map(keyOf));
    // A view that a write reads may call anything (HD-21).
    for (const table of changesRows
      ? [...changed, ...named.filter((each) => !made.some((one) => keyOf(one) === keyOf(each)))]
      : changed) {
      const [only, ...others] = lookup(table);
      const isMeant = only !== undefined && others.length === 0 && (table.schema !== null || only.has_namesakes !== true);
      const isCounted = isMeant && (only.estimated_rows >= 0 || !written.has(keyOf(table)));
      if (isCounted || created.has(keyOf(table))) continue;
      (isMeant ? unanalysed : unresolved).add(shownName(table.schema, table.name));
    }
    for (const table of made) created.add(keyOf(table));
  }
  const isOpen = unresolved.size > 0 || facts.some(({ writesUnknown }) => writesUnknown);
  return [
    ...(isOpen ? [{ name: 'table_unresolved' as const, tables: [...unresolved] }] : []),
    ...(unanalysed.size > 0 ? [{ name: 'never_analysed' as const, tables: [...unanalysed] }] : []),
  ];
}

const keyOf = ({ schema, name }: WrittenName): string => JSON.stringify([schema, name]);
