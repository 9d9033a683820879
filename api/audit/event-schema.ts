import type { z } from 'zod';
import { eventCategories, eventOutcomes, eventTypes } from '../../domain/audit/catalogue.js';
import type { AuditEvent } from '../../domain/audit/event.js';
import { count, hex, instant, named, oneOf, text, uuid } from '../http/fields.js';

const resources = [
  'request',
  'execution',
  'user',
  'group',
  'token',
  'agent',
  'schema',
  'config',
  'signing_key',
  'onboarding',
  'audit',
  'delivery',
];

/** The texts are those that were hashed, so that a reader can compute every hash again (AU-2). */
export const auditEvent = named('AuditEvent', 'An event of the audit log.', {
  id: uuid('The id of the event.'),
  event_type: oneOf(eventTypes, 'What happened.'),
  event_category: oneOf(eventCategories, 'What it has to do with.'),
  event_version: count('The form of the event.'),
  outcome: oneOf(eventOutcomes, 'How it ended.'),
  actor_id: text('Who did it: the id of a user or agent, `system` or `anonymous`.'),
  actor_type: oneOf(['user', 'agent', 'system'], 'What kind of actor that is.'),
  resource_type: oneOf(resources, 'What kind of object it was done to.').nullable(),
  resource_id: text('The id of that object.').nullable(),
  peer_ip: text('The address that the call came from.').nullable(),
  client_ip: text('The address of the client, behind proxies that are trusted.').nullable(),
  client_ip_source: oneOf(['peer', 'xff'], 'Where that address was read.').nullable(),
  request_id: uuid('The request that it is about.').nullable(),
  operation: text('The operation of that request.').nullable(),
  database_name: text('The database that it is about.').nullable(),
  environment: text('The environment of that database.').nullable(),
  detail_fingerprint: text('A fingerprint of the text of the request.').nullable(),
  detail_raw: text('The SQL without its values.').nullable(),
  reason: text('Why, in words or as a code.').nullable(),
  metadata_json: text('More facts, as a JSON text.'),
  prev_hash: hex(64, 'The hash of the event before it; null for the first, and until it is sealed.').nullable(),
  created_at: instant('When it happened, to the microsecond.'),
  event_hash: hex(64, 'The SHA-256 of the event; null until it is sealed.').nullable(),
  seq: count('Its place in the log, from 1; null until it is sealed.').nullable(),
} satisfies Record<keyof AuditEvent, z.ZodType>);
