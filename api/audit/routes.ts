import { z } from 'zod';
import { searchAuditEvents } from '../../db/audit-search.js';
import { eventCategories, eventOutcomes, eventTypes } from '../../domain/audit/catalogue.js';
import type { Caller, EffectiveRole } from '../../domain/caller.js';
import { requireEverywhere } from '../../domain/lacking.js';
import { coversRoles } from '../../domain/permissions.js';
import { OPERATIONS } from '../../domain/policies.js';
import { count, flag, list, named, pageFields } from '../http/fields.js';
import { choiceParam, instantParam, limitParam, offsetParam, seqParam, textParam } from '../http/query.js';
import { type Route, route } from '../http/route.js';
import { auditEvent } from './event-schema.js';
import { exportLog } from './export.js';
import { patiently } from './patient.js';
import { verified, verifyLog } from './verify.js';

const hashParam = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hexadecimal digits')
  .meta({ description: 'With `anchor_seq`: the hash that this event had.' })
  .optional();

/** As a checkpoint writes it, or in hexadecimal digits. */
const rootParam = z
  .string()
  .regex(/^([0-9a-f]{64}|[A-Za-z0-9+/]{43}=)$/, 'must be 32 bytes in base64 or hexadecimal digits')
  .transform((root) => Uint8Array.from(Buffer.from(root, root.length === 64 ? 'hex' : 'base64')))
  .meta({ description: 'With `anchor_size`: the root that a log of this size had, in base64 or hexadecimal digits.' })
  .optional();

const eventPage = named('AuditEventList', 'A page of events, newest first.', {
  events: list(auditEvent, 'The events of this page.'),
  total: count('How many match, over all pages.'),
  total_is_estimate: flag('Always false: every total is counted.'),
  ...pageFields,
});

/** Search and export have the same filters (AU-60). */
const filterParams = {
  actor_id: textParam('Only what this actor did.', { maxLength: 128 }),
  event_type: choiceParam(eventTypes, 'Only events of this type.'),
  event_category: choiceParam(eventCategories, 'Only events of this category.'),
  outcome: choiceParam(eventOutcomes, 'Only events of this outcome.'),
  database: textParam('Only events about this database.', { maxLength: 63 }),
  environment: textParam('Only events about this environment.', { maxLength: 63 }),
  operation: choiceParam(OPERATIONS, 'Only events of requests of this operation.'),
  request_id: textParam('Only events about this request.', { format: 'uuid' }),
  since: instantParam('Only events from this time on.'),
  until: instantParam('Only events up to this time, which is included.'),
};

/** The roles that let the caller read events, each those of its pairs. */
const readingRoles = (caller: Caller) =>
  caller.kind === 'user'
    ? caller.roles.filter(({ permissions }) => permissions.some(({ perm }) => perm === '*' || perm === 'audit.read'))
    : [];

const onlyReading = (role: EffectiveRole): EffectiveRole => ({
  ...role,
  permissions: [{ perm: 'audit.read', ownership: 'own' }],
});

/** The audit log (audit.md section 7). */
export const auditRoutes: Route[] = [
  route({
    operationId: 'searchAuditEvents',
    method: 'get',
    path: '/api/audit/events',
    summary: 'Search the audit log',
    description: 'Events without a database are shown to roles for all databases and environments only.',
    tag: 'audit',
    access: 'audit.read',
    query: z.object({ ...filterParams, limit: limitParam(50, 200), offset: offsetParam }),
    status: 200,
    response: eventPage,
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
    summary: 'Export sealed events, oldest first',
    description: 'The last line is a signed manifest, by which `svc audit verify --file` proves that nothing is missing.',
    tag: 'audit',
    access: 'audit.read',
    query: z.object({
      ...filterParams,
      format: z.enum(['ndjson', 'csv']).default('ndjson').meta({ description: 'JSON or CSV, one event a line.' }),
    }),
    status: 200,
    response: z.string(),
    mediaTypes: ['application/x-ndjson', 'text/csv'],
    errors: ['validation.failed', 'auth.forbidden'],
    handle({ caller, actor, recheck, query: { format, ...filters } }, services) {
      const roles = readingRoles(caller);
      const mayGoOn = async () => coversRoles(await recheck(), roles.map(onlyReading));
      return exportLog(services, { actor, format, roles, filters, mayGoOn });
    },
  }),
  route({
    operationId: 'verifyAuditLog',
    method: 'get',
    path: '/api/audit/verify',
    summary: 'Verify the chain of the audit log, its checkpoints and its head',
    tag: 'audit',
    access: 'audit.read',
    everywhere: true,
    query: z
      .object({
        anchor_seq: seqParam('An event whose hash you kept.'),
        anchor_hash: hashParam,
        anchor_size: seqParam('A size of the log whose root you kept.'),
        anchor_root: rootParam,
      })
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
      requireEverywhere(caller, 'audit.read');
      const { anchor_seq: seq, anchor_hash: hash, anchor_size: size, anchor_root: root } = query;
      const event = seq === undefined || hash === undefined ? null : { seq, hash };
      const tree = size === undefined || root === undefined ? null : { size, root };
      return patiently(verifyLog(services, { event, tree }, signal));
    },
  }),
];
