import { z } from 'zod';
import { isVersion, versionPattern } from '../../domain/migration/version.js';
import type { SchemaSnapshot } from '../../domain/snapshot.js';
import { SYNC_STATUSES } from '../../domain/snapshot-sync.js';
import { flag, list, named, text } from '../http/fields.js';

/** What one sync may hold, and so the longest text in it. */
export const maxSyncBytes = 10_485_760;
const long = { maxLength: maxSyncBytes };
const names = (about: string) => list(text('A name.', long), about);
const orNone = <Item extends z.ZodType>(of: Item) => of.nullable().default(null);

export const dialect = z
  .enum(['postgresql', 'mysql'])
  .meta({ description: 'What SQL the database speaks; `mysql` of MariaDB too. Null while that is not known.' });

// Fields that an agent omits default to the value that claims nothing: unknown, none or null.
const column = named('Column', 'A column.', {
  name: text('Its name.', long),
  data_type: z
    .string()
    .default('')
    .meta({ description: 'Its type, as the database spells it.', ...long }),
  nullable: z.boolean().default(true).meta({ description: 'Whether it takes NULL.' }),
  default_value: z.string().meta(long).nullable().default(null).meta({ description: 'The expression of its default.' }),
  is_primary_key: z.boolean().default(false).meta({ description: 'Whether it belongs to the primary key.' }),
});

const action = (event: string) =>
  z
    .enum(['CASCADE', 'SET_NULL', 'RESTRICT', 'NO_ACTION', 'SET_DEFAULT'])
    .nullable()
    .default(null)
    .meta({ description: `Of a foreign key: what happens to these rows on ${event} of the row they point at.` });

const constraint = named('Constraint', 'A constraint.', {
  name: text('Its name.', long),
  constraint_type: z.enum(['primary_key', 'foreign_key', 'unique', 'check']).meta({ description: 'What it demands.' }),
  columns: names('Its columns, in order.').default([]),
  referenced_table: orNone(text('Of a foreign key: the table that it points at.', long)),
  referenced_columns: orNone(names('Of a foreign key: the columns that it points at.')),
  on_delete: action('a delete'),
  on_update: action('an update'),
  referenced_schema: orNone(text('Of a foreign key: the schema of that table.', long)),
});

const index = named('Index', 'An index.', {
  name: text('Its name.', long),
  columns: names('Its columns or expressions, in order.').default([]),
  is_unique: z.boolean().default(false).meta({ description: 'Whether values are unique.' }),
  index_type: z
    .string()
    .default('')
    .meta({ description: 'Its kind, such as `btree`.', ...long }),
});

/** A table as agents report it and as answers show it in full (AP-61, SC-3). */
export const schemaTable = named('Table', 'A table in full.', {
  name: text('Its name.', long),
  schema_name: z
    .string()
    .default('')
    .meta({ description: 'The schema that it is in.', ...long }),
  estimated_rows: z
    .number()
    .default(-1)
    .meta({ description: 'How many rows it has, by the statistics of the database; -1 if it was never analysed.' }),
  transactional: flag('False where ROLLBACK does not undo changes; absent where it does, or where that is not known.').optional(),
  columns: list(column, 'Its columns, in order.').default([]),
  constraints: list(constraint, 'Its constraints.').default([]),
  indexes: list(index, 'Its indexes.').default([]),
  triggers: orNone(names('Triggers and rules that writes to it fire; null where the agent cannot tell.')),
  code: orNone(names('Functions that writes to it call, besides triggers; null where the agent cannot tell.')),
  keys: orNone(list(names('The columns of one.'), 'Sets of columns whose values are unique; null where the agent cannot tell.')),
  has_namesakes: z
    .boolean()
    .default(false)
    .meta({ description: 'Whether a view, foreign table or partition of another schema has the same name.' }),
});

const userCode = z
  .object({
    functions: names('Functions that are named like a built-in.').default([]),
    fields: names('Functions that a field of a row may call.').default([]),
    operators: names('Operators.').default([]),
    casts: names('Casts, such as `mood as integer`.').default([]),
  })
  .meta({ description: 'User-defined code that may run where SQL names a built-in; null if the agent does not report it.' });

const searchPaths = z
  .object({
    read: names('The path of the role that reads.'),
    write: names('The path of the role that writes.'),
    unseen: names('Schemas on these paths whose tables are not listed.').default([]),
  })
  .meta({
    description: 'The schemas in which names without a schema are looked up, in order; null if the agent does not report it.',
  });

const version = z.string().refine(isVersion).meta({ description: 'A version.', pattern: versionPattern.source });

/** The body of `POST /api/agent/schema-sync` (agent.md section 12). */
export const schemaSyncBody = z
  .object({
    database: text('The name of the database.', { maxLength: 63 }),
    environment: text('The environment of the database.', { maxLength: 63 }),
    dialect,
    status: z.enum(SYNC_STATUSES).meta({ description: 'How the sync went.' }),
    snapshot: z
      .object({
        tables: list(schemaTable, 'The tables.').default([]),
        user_code: orNone(userCode),
        search_path: orNone(searchPaths),
        applied_versions: orNone(
          z
            .array(version)
            .max(10_000)
            .meta({ description: 'The migrations that are applied; null where the agent cannot tell.' }),
        ),
      })
      .nullish()
      .meta({ description: 'What the database looks like; needed when `ready`.' }),
    error_message: text('Why the sync is not ready.', long).nullish(),
  })
  .refine(({ status, snapshot }) => status !== 'ready' || snapshot != null, {
    path: ['snapshot'],
    message: 'is required when status is ready',
  })
  .meta({ id: 'SchemaSync', description: 'A schema snapshot of a database, or why there is none.' });

/** Sorts tables by schema and name (AP-61), because agents send any order. */
export const inOrder = (snapshot: SchemaSnapshot): SchemaSnapshot => ({
  ...snapshot,
  tables: snapshot.tables.toSorted((a, b) => compare(a.schema_name, b.schema_name) || compare(a.name, b.name)),
});

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
