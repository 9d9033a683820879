import type { AuditDraft } from '../audit/draft.js';
import type { StoredRequest } from '../request/types.js';

/** A delivery as it is stored with its change (NT-3). */
export interface NewDelivery {
  id: string;
  webhookId: string;
  eventType: string;
  requestId: string | null;
  body: string;
  /** Written by a suspension: Temporal is told of it after everything else (OP-72). */
  yields: boolean;
}

/** The request that events are about, as they leave it. */
export interface Told {
  request: StoredRequest;
  /** What a creation may tell of the SQL (AU-50, AU-52). */
  detail: string | null;
}

/** The deliveries that events make by the configuration in force. Null for events without a request. */
export type DeliveriesOf = (events: readonly AuditDraft[], about: Told | null) => NewDelivery[];
