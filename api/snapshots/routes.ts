import { z } from 'zod';
import { SYNC_STATUSES } from '../../domain/snapshot-sync.js';
import { schemaSyncBody, schemaTable } from '../agent/snapshot-body.js';
import { syncSchema } from '../agent/snapshot-sync.js';
import { booleanParam, textParam } from '../http/query.js';
import { type Route, route } from '../http/route.js';
import { showSchema } from './show.js';

const tableSummary = z.object({
  name: z.string(),
  schema_name: z.string(),
  estimated_rows: z.number(),
  column_count: z.number().int(),
  constraint_count: z.number().int(),
  index_count: z.number().int(),
});

/** Agents report schema snapshots (agent.md section 12), and callers read them (preflight.md section 5). */
export const schemaRoutes: Route[] = [
  route({
    operationId: 'syncSchema',
    method: 'post',
    path: '/api/agent/schema-sync',
    summary: 'Report the tables of a database; only `ready` replaces the last good snapshot',
    tag: 'agents',
    access: 'agent',
    body: schemaSyncBody,
    bodyLimit: 10_485_760,
    status: 200,
    response: z.object({}),
    errors: ['validation.failed', 'auth.forbidden', 'payload.too_large'],
    handle: syncSchema,
  }),
  route({
    operationId: 'getSchema',
    method: 'get',
    path: '/api/schemas/:database',
    summary: 'Read the last good schema snapshot of a database, or one table of it',
    tag: 'schemas',
    access: 'request.view',
    params: z.object({ database: z.string() }),
    query: z.object({ environment: textParam, table: textParam, summary: booleanParam(true) }),
    status: 200,
    response: z.object({
      database: z.string(),
      environment: z.string(),
      dialect: z.enum(['postgresql', 'mysql']),
      status: z.enum(SYNC_STATUSES),
      error_message: z.string().nullable(),
      collected_at: z.string(),
      tables: z.union([z.array(tableSummary), z.array(schemaTable)]).optional(),
      table: schemaTable.optional(),
    }),
    errors: ['validation.failed', 'auth.forbidden', 'database.not_found', 'schema.not_found', 'table.not_found'],
    handle: showSchema,
  }),
];
