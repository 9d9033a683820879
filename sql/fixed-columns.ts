import type { FixedColumn } from '../domain/statement.js';
import type { Condition } from './condition.js';

/** The columns of the written table that a condition compares with a constant, in parts that must all hold (HD-96). */
export function fixedColumns(condition: Condition, textAs: 'text' | 'untyped'): FixedColumn[] {
  if (condition.kind === 'and' || (condition.kind === 'or' && condition.parts.length === 1))
    return condition.parts.flatMap((part) => fixedColumns(part, textAs));
  if (condition.kind !== 'compare' || condition.operator !== '=') return [];
  const { left, right } = condition;
  return [...fixed(left, right, textAs), ...fixed(right, left, textAs)];
}

function fixed(column: Condition, value: Condition, textAs: string): FixedColumn[] {
  if (column.kind !== 'column' || column.of !== 'target' || column.table !== null) return [];
  const cast = value.kind === 'cast' ? value.type : null;
  const bare = value.kind === 'cast' ? value.part : value;
  if (bare.kind !== 'constant' || bare.value === null || bare.literal === 'other') return [];
  const as = bare.literal === 'text' ? textAs : bare.literal;
  return [{ name: column.name, as: cast === null ? as : (types[cast] ?? cast) }];
}

/** Snapshot spellings of the types that PostgreSQL's grammar names differently. */
const types: Readonly<Record<string, string>> = {
  int2: 'smallint',
  int4: 'integer',
  int8: 'bigint',
  bool: 'boolean',
  varchar: 'character varying',
  timestamptz: 'timestamp with time zone',
  timestamp: 'timestamp without time zone',
};
