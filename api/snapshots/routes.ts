import { z } from 'zod';
import { SYNC_STATUSES } from '../../domain/snapshot-sync.js';
import { dialect, maxSyncBytes, schemaSyncBody, schemaTable } from '../agent/snapshot-body.js';
import { syncSchema } from '../agent/snapshot-sync.js';
import { count, databaseName, instant, named, nothing, pair, text } from '../http/fields.js';
import { booleanParam, textParam } from '../http/query.js';
import { type Route, route } from '../http/route.js';
import { showSchema } from './show.js';

const tableSummary = named('TableSummary', 'A table in a list.', {
  name: text('The name of the table.'),
  schema_name: text('The schema that it is in.'),
  estimated_rows: z
    .number()
    .meta({ description: 'How many rows it has, by the statistics of the database; -1 if it was never analysed.' }),
  column_count: count('How many columns it has.'),
  constraint_count: count('How many constraints it has.'),
  index_count: count('How many indexes it has.'),
});

const schema = named('DatabaseSchema', 'The last good schema snapshot of a database.', {
  ...pair,
  dialect,
  status: z
    .enum(SYNC_STATUSES)
    .meta({ description: 'How the last sync went. If it was not `ready`, an earlier snapshot is shown.' }),
  error_message: text('Why the last sync was not ready.').nullable(),
  collected_at: instant('When the snapshot was made.'),
  tables: z
    .union([z.array(tableSummary), z.array(schemaTable)])
    .optional()
    .meta({ description: 'The tables by schema and name, unless one was asked for; in full with `summary=false`.' }),
  table: schemaTable.optional().meta({ description: 'The table that was asked for.' }),
});

/** Agents report schema snapshots (agent.md section 12), and callers read them (preflight.md section 5). */
export const schemaRoutes: Route[] = [
  route({
    operationId: 'syncSchema',
    method: 'post',
    path: '/api/agent/schema-sync',
    summary: 'Report the tables of a database',
    description: 'Only `ready` replaces the last good snapshot.',
    tag: 'agents',
    access: 'agent',
    body: schemaSyncBody,
    bodyLimit: maxSyncBytes,
    status: 200,
    response: nothing,
    errors: ['validation.failed', 'auth.forbidden', 'payload.too_large'],
    handle: syncSchema,
  }),
  route({
    operationId: 'getSchema',
    method: 'get',
    path: '/api/schemas/:database',
    summary: 'Read the last good schema snapshot of a database',
    tag: 'schemas',
    access: 'request.view',
    params: z.object({ database: databaseName }),
    query: z.object({
      environment: textParam(
        'The environment. If absent the first that you may view and that has a snapshot: `production`, `staging`, `development`, then by name.',
        {
          maxLength: 63,
        },
      ),
      table: textParam('One table, `name` or `schema.name`, exactly as it is spelt.', { maxLength: 255 }),
      summary: booleanParam(true, 'Whether a list tells only how many columns, constraints and indexes each table has.'),
    }),
    status: 200,
    response: schema,
    errors: ['validation.failed', 'auth.forbidden', 'database.not_found', 'schema.not_found', 'table.not_found'],
    handle: showSchema,
  }),
];
