type FieldKind = 'text' | 'text or null' | 'integer' | 'integer or null';

/** The fields of an event, in the order of AU-1. All but the last two are hashed, in this order (AU-30). */
export const eventFields = {
  id: 'text',
  event_type: 'text',
  event_category: 'text',
  event_version: 'integer',
  outcome: 'text',
  actor_id: 'text',
  actor_type: 'text',
  resource_type: 'text or null',
  resource_id: 'text or null',
  peer_ip: 'text or null',
  client_ip: 'text or null',
  client_ip_source: 'text or null',
  request_id: 'text or null',
  operation: 'text or null',
  database_name: 'text or null',
  environment: 'text or null',
  detail_fingerprint: 'text or null',
  detail_raw: 'text or null',
  reason: 'text or null',
  metadata_json: 'text',
  prev_hash: 'text or null',
  created_at: 'text',
  event_hash: 'text or null',
  seq: 'integer or null',
} as const satisfies Record<string, FieldKind>;

type Fields = typeof eventFields;

interface ValueOfKind {
  text: string;
  'text or null': string | null;
  integer: number;
  'integer or null': number | null;
}

/** An event of the audit log as it is stored, searched and exported. */
export type AuditEvent = { [Key in keyof Fields]: ValueOfKind[Fields[Key]] };

/** All keys of an event, in order. */
export const auditEventKeys = Object.keys(eventFields) as (keyof AuditEvent)[];

/** The keys whose values are hashed, in the order of the hash. */
export const hashedKeys = auditEventKeys.filter((key): key is keyof HashedEvent => key !== 'event_hash' && key !== 'seq');

/** Something for each field by its kind, such as the check of an edge. */
export const byField = <Kinds extends Record<FieldKind, unknown>>(kinds: Kinds) =>
  Object.fromEntries(Object.entries(eventFields).map(([key, kind]) => [key, kinds[kind]])) as {
    [Key in keyof Fields]: Kinds[Fields[Key]];
  };

/** What the hash of an event is made from. */
export type HashedEvent = Omit<AuditEvent, 'event_hash' | 'seq'>;

/** An event with its place in the chain. Only the first event of the chain has no `prev_hash`. */
export interface SealedEvent extends AuditEvent {
  event_hash: string;
  seq: number;
}

/** Filters of search and export, with the key of the event that must have exactly the filter's value (AU-60). */
export const exactFilters = {
  actor_id: 'actor_id',
  event_type: 'event_type',
  event_category: 'event_category',
  outcome: 'outcome',
  database: 'database_name',
  environment: 'environment',
  operation: 'operation',
  request_id: 'request_id',
} as const satisfies Readonly<Record<string, keyof AuditEvent>>;
