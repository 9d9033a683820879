import type { TableName } from '../../domain/statement.js';
import { folded } from '../reserved-table.js';
import type { TableReference } from './tables.js';

/** What a statement calls a table. */
export const shownAs = ({ alias, name }: TableReference): string => alias ?? name;

/** The same for a table of the same letters in the same database only. */
export const keyOf = (table: TableReference): string => `${table.schema ?? ''}.${shownAs(table)}`;

/**
 * The tables that a name can mean. Whether case counts depends on the server, so of several it is the one in the same letters, then the one in the same
 * database. A name without a database may mean a table of any.
 */
export function meantBy({ schema, name }: TableName, tables: readonly TableReference[]): TableReference[] {
  const isOf = (table: TableReference) => schema === null || table.schema === null || isAlike(table.schema, schema);
  const rank = (table: TableReference) => (shownAs(table) === name ? 2 : 0) + (table.schema === schema ? 1 : 0);
  const alike = tables.filter((table) => isAlike(shownAs(table), name) && isOf(table));
  const best = Math.max(...alike.map(rank));
  return alike.filter((table) => rank(table) === best);
}

/** The one table that a name can mean; undefined if there are several, or none. */
export function onlyMeantBy(named: TableName, tables: readonly TableReference[]): TableReference | undefined {
  const [only, another] = meantBy(named, tables);
  return another === undefined ? only : undefined;
}

/** Whether a server may take both names for one. */
export const isAlike = (one: string, another: string): boolean => folded(one) === folded(another);
