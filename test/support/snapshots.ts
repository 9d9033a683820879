import type { SnapshotTable, UserCode } from '../../domain/snapshot.js';

/** A table of a snapshot with one key column. */
export function table(name: string, over: Partial<SnapshotTable> = {}): SnapshotTable {
  return {
    name,
    schema_name: 'public',
    estimated_rows: 1200,
    columns: [{ name: 'id', data_type: 'bigint', nullable: false, default_value: null, is_primary_key: true }],
    constraints: [
      {
        name: `${name}_pkey`,
        constraint_type: 'primary_key',
        columns: ['id'],
        referenced_table: null,
        referenced_columns: null,
        on_delete: null,
        on_update: null,
        referenced_schema: null,
      },
    ],
    indexes: [{ name: `${name}_pkey`, columns: ['id'], is_unique: true, index_type: 'btree' }],
    triggers: [],
    code: [],
    keys: [['id']],
    has_namesakes: false,
    ...over,
  };
}

/** The code of users in a database where nobody made a function, an operator or a cast. */
export const noUserCode: UserCode = { functions: [], fields: [], operators: [], casts: [] };
