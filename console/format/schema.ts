import type { Schema } from '../http/client.js';

type Table = Schema['Table'];

/** Omits the schema `public`. */
export const shownName = ({ schema_name, name }: Pick<Table, 'schema_name' | 'name'>) =>
  schema_name === 'public' ? name : `${schema_name}.${name}`;

/** The foreign keys of other tables, and its own, that lead to a table. */
export function pointingAt(table: Table, all: readonly Table[]): { from: Table; key: Schema['Constraint'] }[] {
  return all.flatMap((from) =>
    from.constraints
      .filter(
        ({ constraint_type, referenced_table, referenced_schema }) =>
          constraint_type === 'foreign_key' &&
          referenced_table === table.name &&
          (referenced_schema ?? from.schema_name) === table.schema_name,
      )
      .map((key) => ({ from, key })),
  );
}
