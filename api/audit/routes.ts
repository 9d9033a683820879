import { z } from 'zod';
import { searchAuditEvents } from '../../db/audit-search.js';
import { instantParam, limitParam, offsetParam, textParam } from '../http/query.js';
import { type Route, route } from '../http/route.js';

const text = z.string();
const maybe = z.string().nullable();

const event = z.object({
  id: text,
  event_type: text,
  event_category: text,
  event_version: z.number().int(),
  outcome: text,
  actor_id: text,
  actor_type: text,
  resource_type: maybe,
  resource_id: maybe,
  peer_ip: maybe,
  client_ip: maybe,
  client_ip_source: maybe,
  request_id: maybe,
  operation: maybe,
  database_name: maybe,
  environment: maybe,
  detail_fingerprint: maybe,
  detail_raw: maybe,
  reason: maybe,
  metadata_json: text,
  prev_hash: maybe,
  created_at: text,
  event_hash: maybe,
  seq: z.number().int().nullable(),
});

/** The audit log (audit.md section 7). */
export const auditRoutes: Route[] = [
  route({
    operationId: 'searchAuditEvents',
    method: 'get',
    path: '/api/audit/events',
    summary: 'Search the audit log, newest first',
    tag: 'audit',
    access: 'audit.read',
    query: z.object({
      actor_id: textParam,
      event_type: textParam,
      event_category: textParam,
      outcome: textParam,
      database: textParam,
      environment: textParam,
      operation: textParam,
      request_id: textParam,
      since: instantParam,
      until: instantParam,
      limit: limitParam(50, 200),
      offset: offsetParam,
    }),
    status: 200,
    response: z.object({ events: z.array(event), total: z.number().int(), limit: z.number().int(), offset: z.number().int() }),
    errors: ['validation.failed', 'auth.forbidden'],
    async handle({ caller, query }, { database }) {
      const { limit, offset, ...filters } = query;
      const reads =
        caller.kind === 'user'
          ? caller.roles.filter(({ permissions }) => permissions.some(({ perm }) => perm === '*' || perm === 'audit.read'))
          : [];
      return { ...(await searchAuditEvents(database, reads, filters, { limit, offset })), limit, offset };
    },
  }),
];
