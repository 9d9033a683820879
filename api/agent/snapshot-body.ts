import { z } from 'zod';
import { isVersion } from '../../domain/migration/version.js';
import type { SchemaSnapshot } from '../../domain/snapshot.js';
import { SYNC_STATUSES } from '../../domain/snapshot-sync.js';

const names = z.array(z.string());

// Fields that an agent omits default to the value that claims nothing: unknown, none or null.
const column = z.object({
  name: z.string(),
  data_type: z.string().default(''),
  nullable: z.boolean().default(true),
  default_value: z.string().nullable().default(null),
  is_primary_key: z.boolean().default(false),
});

const action = z.enum(['CASCADE', 'SET_NULL', 'RESTRICT', 'NO_ACTION', 'SET_DEFAULT']).nullable().default(null);

const constraint = z.object({
  name: z.string(),
  constraint_type: z.enum(['primary_key', 'foreign_key', 'unique', 'check']),
  columns: names.default([]),
  referenced_table: z.string().nullable().default(null),
  referenced_columns: names.nullable().default(null),
  on_delete: action,
  on_update: action,
  referenced_schema: z.string().nullable().default(null),
});

const index = z.object({
  name: z.string(),
  columns: names.default([]),
  is_unique: z.boolean().default(false),
  index_type: z.string().default(''),
});

/** A table as agents report it and as answers show it in full (AP-61, SC-3). */
export const schemaTable = z.object({
  name: z.string(),
  schema_name: z.string().default(''),
  estimated_rows: z.number().default(-1),
  transactional: z.boolean().optional(),
  columns: z.array(column).default([]),
  constraints: z.array(constraint).default([]),
  indexes: z.array(index).default([]),
  triggers: names.nullable().default(null),
  code: names.nullable().default(null),
  keys: z.array(names).nullable().default(null),
  has_namesakes: z.boolean().default(false),
});

const userCode = z.object({
  functions: names.default([]),
  fields: names.default([]),
  operators: names.default([]),
  casts: names.default([]),
});

const searchPaths = z.object({ read: names, write: names, unseen: names.default([]) });

/** The body of `POST /api/agent/schema-sync` (agent.md section 12). */
export const schemaSyncBody = z
  .object({
    database: z.string(),
    environment: z.string(),
    dialect: z.enum(['postgresql', 'mysql']),
    status: z.enum(SYNC_STATUSES),
    snapshot: z
      .object({
        tables: z.array(schemaTable).default([]),
        user_code: userCode.nullable().default(null),
        search_path: searchPaths.nullable().default(null),
        applied_versions: z.array(z.string().refine(isVersion)).max(10_000).nullable().default(null),
      })
      .nullish(),
    error_message: z.string().nullish(),
  })
  .refine(({ status, snapshot }) => status !== 'ready' || snapshot != null, {
    path: ['snapshot'],
    message: 'is required when status is ready',
  });

/** Sorts tables by schema and name (AP-61), because agents send any order. */
export const inOrder = (snapshot: SchemaSnapshot): SchemaSnapshot => ({
  ...snapshot,
  tables: snapshot.tables.toSorted((a, b) => compare(a.schema_name, b.schema_name) || compare(a.name, b.name)),
});

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
