import type { TableName } from '../../domain/statement.js';
import { type Tree, taggedOf } from '../tree.js';
import { tableOf } from './walk-names.js';

/** The schemas of tables that a statement reads beside the written one, where only they tell the two apart: `one.t` and `two.t`. */
export function namesakesIn(sources: readonly Tree[], table: TableName): string[] {
  return sources.flatMap((source) => {
    const { tag, body } = taggedOf(source);
    if (tag === 'JoinExpr') return namesakesIn([body.larg ?? null, body.rarg ?? null], table);
    const { schema = null, name } = tableOf(body) ?? {};
    return schema !== null && name === table.name && body.alias === undefined ? [schema] : [];
  });
}

/** The written table, and the schemas of what `namesakesIn` found. */
interface Named {
  readonly table: TableName;
  readonly namesakes: readonly string[];
}

/** Whether a column's schema, if it has one, can be that of the written table. */
export function isOwnSchema(schema: string | null, { table, namesakes }: Named): boolean {
  return schema === null || (table.schema === null ? !namesakes.includes(schema) : schema === table.schema);
}
