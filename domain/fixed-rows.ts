import type { SnapshotTable, TableLookup } from './snapshot.js';
import type { FixedColumn, StatementFacts } from './statement.js';

/**
 * The tables whose written rows a one-statement text lists one by one (HD-96): an INSERT … VALUES, or an UPDATE or DELETE that compares all columns
 * of a key with constants.
 */
export function fixedTables(facts: readonly StatementFacts[], lookup: TableLookup): ReadonlySet<SnapshotTable> {
  const [only] = facts;
  if (facts.length !== 1 || only === undefined) return new Set();
  const tables = only.fixed.flatMap(({ table, columns }) => {
    const [meant, ...others] = lookup(table);
    if (meant === undefined || others.length > 0) return [];
    return columns === null || holdsKey(meant, columns) ? [meant] : [];
  });
  return new Set(tables);
}

function holdsKey({ keys, columns }: SnapshotTable, fixed: readonly FixedColumn[]): boolean {
  const isFixed = (name: string) => {
    const type = columns.find((column) => column.name === name)?.data_type;
    return type !== undefined && fixed.some((each) => isNamed(each.name, name) && fits(type, each.as));
  };
  return (keys ?? []).some((key) => key.length > 0 && key.every(isFixed));
}

/** MySQL compares column names without case; no two columns of a table differ only in case there. */
const isNamed = (written: string, name: string): boolean => written === name || written === name.toLowerCase();

/**
 * Whether at most one value of the column equals a constant of this kind. MySQL compares a text with a number as floating-point numbers, and many
 * of those are equal; so a string constant is `text` in MySQL, never `untyped`.
 */
function fits(type: string, as: string): boolean {
  if (as === 'integer' || as === 'number') return (as === 'integer' ? whole : exact).test(type);
  if (as === 'text') return textual.test(type);
  return as === 'untyped' ? untyped.test(type) : type === as;
}

const whole = /^((small|big|tiny|medium)?int(eger)?|numeric|decimal)\b/;
const exact = /^(numeric|decimal)\b/;
const textual = /^((var)?char|character|text|(var)?binary|uuid)\b/;
const untyped =
  /^((small|big)?int(eger)?|numeric(\(.*\))?|text|character( varying)?(\(.*\))?|uuid|boolean|date|bytea|inet|cidr|macaddr8?|timestamp(\(\d\))? with(out)? time zone)$/;
