import type { Dialect, UsedName, Uses } from '../domain/statement.js';
import { builtInOfMysql } from './mysql/built-ins.js';
import { builtInOfPostgres } from './postgres/built-ins.js';

export const noUses = (): Uses => ({
  functions: [],
  operators: [],
  types: [],
  fields: [],
  columns: [],
  valueQuery: false,
  lookup: false,
});

/**
 * The names that are not built-ins known to have no effect (HD-21); what they do at run time is unknown. A name without a schema is taken for the
 * built-in of that name; only the target can tell for sure.
 */
export const usesWithEffects = (dialect: Dialect, uses: Uses): string[] =>
  namesWhere(dialect, uses, (builtIn) => builtIn === null);

/** The names that are not built-ins known only to compute (HD-1). Planning a statement with them could read data for somebody without approval. */
export const usesBeyondComputing = (dialect: Dialect, uses: Uses): string[] =>
  namesWhere(dialect, uses, (builtIn) => builtIn !== 'computes');

function namesWhere(dialect: Dialect, uses: Uses, counts: (builtIn: 'computes' | 'looks' | null) => boolean): string[] {
  const kinds = ['functions', 'operators', 'types'] as const;
  const found = kinds.flatMap((kind) =>
    uses[kind].filter((used) => counts(builtInOf(dialect, kind, used))).map((used) => shownName(kind, used)),
  );
  return [...new Set(found)];
}

function builtInOf(dialect: Dialect, kind: 'functions' | 'operators' | 'types', { schema, name }: UsedName) {
  if (dialect === 'mysql') return schema === null ? builtInOfMysql(kind, name) : null;
  return schema === null || schema === 'pg_catalog' ? builtInOfPostgres(kind, name) : null;
}

/** The name in messages. */
export function shownName(kind: 'functions' | 'operators' | 'types', { schema, name }: UsedName): string {
  const full = schema === null || schema === '' || schema === 'pg_catalog' ? name : `${schema}.${name}`;
  return kind === 'functions' ? `${full}()` : full;
}

export function distinctUses({ functions, operators, types, fields, columns, ...rest }: Uses): Uses {
  return {
    ...rest,
    functions: distinct(functions),
    operators: distinct(operators),
    types: distinct(types),
    fields: [...new Set(fields)],
    columns: columns && [...new Set(columns)],
  };
}

function distinct(names: readonly UsedName[]): UsedName[] {
  return [...new Map(names.map((used) => [JSON.stringify([used.schema, used.name]), used])).values()];
}
