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

/** Why newer tables than the shown ones are missing; null when the last sync brought them. */
export function syncText({ status, error_message }: Pick<Schema['DatabaseSchema'], 'status' | 'error_message'>): string | null {
  if (status === 'ready') return null;
  const why = error_message === null ? '' : ` (${error_message})`;
  return `The last schema sync ${status === 'partial' ? 'was partial' : 'failed'}${why}. These are the tables that the one before found.`;
}
