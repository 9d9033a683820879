import type { AuditDraft } from '../audit/draft.js';
import type { StoredRequest } from '../request/types.js';
import type { LineFacts } from '../slack/thread.js';

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

/** What a change of a request asks of its cards in Slack: all that exist are built again (SL-52). */
export interface CardNews {
  requestId: string;
  /** Those that get a card if they have none, and the lines in its thread. */
  channels: string[];
  /** In the order of the events; a creation has none. */
  lines: LineFacts[];
  yields: boolean;
}

/** What is stored with a change, for others to be told of it. */
export interface Outgoing {
  deliveries: readonly NewDelivery[];
  cards: readonly CardNews[];
}

export const nothingOutgoing: Outgoing = { deliveries: [], cards: [] };

/** The request that events are about, as they leave it. */
export interface Told {
  request: StoredRequest;
  /** What a creation may tell of the SQL (AU-50, AU-52). */
  detail: string | null;
}

/** What events send out by the configuration in force. Null for events without a request. */
export type OutgoingOf = (events: readonly AuditDraft[], about: Told | null) => Outgoing;
