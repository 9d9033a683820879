/** An event of the audit log as it is stored, searched and exported: the keys of AU-1, in that order. */
export interface AuditEvent {
  id: string;
  event_type: string;
  event_category: string;
  event_version: number;
  outcome: string;
  actor_id: string;
  actor_type: string;
  resource_type: string | null;
  resource_id: string | null;
  peer_ip: string | null;
  client_ip: string | null;
  client_ip_source: string | null;
  request_id: string | null;
  operation: string | null;
  database_name: string | null;
  environment: string | null;
  detail_fingerprint: string | null;
  detail_raw: string | null;
  reason: string | null;
  metadata_json: string;
  prev_hash: string | null;
  created_at: string;
  event_hash: string | null;
  seq: number | null;
}

/** The keys whose values are hashed, in the order of the hash (AU-30). */
export const hashedKeys = [
  'id',
  'event_type',
  'event_category',
  'event_version',
  'outcome',
  'actor_id',
  'actor_type',
  'resource_type',
  'resource_id',
  'peer_ip',
  'client_ip',
  'client_ip_source',
  'request_id',
  'operation',
  'database_name',
  'environment',
  'detail_fingerprint',
  'detail_raw',
  'reason',
  'metadata_json',
  'prev_hash',
  'created_at',
] as const satisfies readonly (keyof AuditEvent)[];

/** All keys of an event, in order. */
export const auditEventKeys = [...hashedKeys, 'event_hash', 'seq'] as const satisfies readonly (keyof AuditEvent)[];

/** What the hash of an event is made from. */
export type HashedEvent = Pick<AuditEvent, (typeof hashedKeys)[number]>;

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
