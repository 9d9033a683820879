import { z } from 'zod';
import { searchAuditEvents } from '../../db/audit-search.js';
import { byField } from '../../domain/audit/event.js';
import type { Caller } from '../../domain/caller.js';
import { everywhere } from '../../domain/lacking.js';
import { can } from '../../domain/permissions.js';
import { instantParam, limitParam, offsetParam, textParam } from '../http/query.js';
import { type Route, route } from '../http/route.js';
import { exportLog } from './export.js';
import { patiently } from './patient.js';
import { verified, verifyLog } from './verify.js';

const text = z.string();
const whole = z.number().int();

const seqParam = z
  .string()
  .regex(/^[1-9][0-9]{0,14}$/, 'must be an integer of at least 1')
  .transform(Number)
  .meta({ type: 'integer', minimum: 1 })
  .optional();
const hashParam = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hexadecimal digits')
  .optional();

/** As a checkpoint writes it, or in hexadecimal digits. */
const rootParam = z
  .string()
  .regex(/^([0-9a-f]{64}|[A-Za-z0-9+/]{43}=)$/, 'must be 32 bytes in base64 or hexadecimal digits')
  .transform((root) => Uint8Array.from(Buffer.from(root, root.length === 64 ? 'hex' : 'base64')))
  .optional();

const event = z.object(byField({ text, 'text or null': text.nullable(), integer: whole, 'integer or null': whole.nullable() }));

/** Search and export have the same filters (AU-60). */
const filterParams = {
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
};

/** The roles that let the caller read events, each those of its pairs. */
const readingRoles = (caller: Caller) =>
  caller.kind === 'user'
    ? caller.roles.filter(({ permissions }) => permissions.some(({ perm }) => perm === '*' || perm === 'audit.read'))
    : [];

/** The audit log (audit.md section 7). */
export const auditRoutes: Route[] = [
  route({
    operationId: 'searchAuditEvents',
    method: 'get',
    path: '/api/audit/events',
    summary: 'Search the audit log, newest first',
    tag: 'audit',
    access: 'audit.read',
    query: z.object({ ...filterParams, limit: limitParam(50, 200), offset: offsetParam }),
    status: 200,
    response: z.object({
      events: z.array(event),
      total: whole,
      total_is_estimate: z.boolean().meta({ description: 'always false: every total is counted' }),
      limit: whole,
      offset: whole,
    }),
    errors: ['validation.failed', 'auth.forbidden'],
    async handle({ caller, query }, { database }) {
      const { limit, offset, ...filters } = query;
      const found = await searchAuditEvents(database, { roles: readingRoles(caller), filters }, { limit, offset });
      return { ...found, total_is_estimate: false, limit, offset };
    },
  }),
  route({
    operationId: 'exportAuditLog',
    method: 'get',
    path: '/api/audit/export',
    summary: 'Export sealed events, oldest first, with a signed manifest as the last line',
    tag: 'audit',
    access: 'audit.read',
    query: z.object({ ...filterParams, format: z.enum(['ndjson', 'csv']).default('ndjson') }),
    status: 200,
    response: z.string().meta({ description: 'not JSON' }),
    errors: ['validation.failed', 'auth.forbidden'],
    handle: ({ caller, actor, query: { format, ...filters } }, services) =>
      exportLog(services, { actor, format, roles: readingRoles(caller), filters }),
  }),
  route({
    operationId: 'verifyAuditLog',
    method: 'get',
    path: '/api/audit/verify',
    summary: 'Verify the chain of the audit log, its checkpoints and its head',
    tag: 'audit',
    access: 'audit.read',
    query: z
      .object({ anchor_seq: seqParam, anchor_hash: hashParam, anchor_size: seqParam, anchor_root: rootParam })
      .refine(({ anchor_seq, anchor_hash }) => (anchor_seq === undefined) === (anchor_hash === undefined), {
        message: 'must be given together with its other half',
        path: ['anchor_seq'],
      })
      .refine(({ anchor_size, anchor_root }) => (anchor_size === undefined) === (anchor_root === undefined), {
        message: 'must be given together with its other half',
        path: ['anchor_size'],
      }),
    status: 200,
    response: verified,
    errors: ['validation.failed', 'auth.forbidden'],
    async handle({ caller, query, signal }, services) {
      if (!can(caller, 'audit.read', 'everywhere')) throw everywhere('audit.read');
      const { anchor_seq: seq, anchor_hash: hash, anchor_size: size, anchor_root: root } = query;
      const event = seq === undefined || hash === undefined ? null : { seq, hash };
      const tree = size === undefined || root === undefined ? null : { size, root };
      return patiently(verifyLog(services, { event, tree }, signal));
    },
  }),
];
