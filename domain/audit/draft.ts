import { objectText } from '../../lib/json/write.js';
import type { Channel } from '../policies.js';
import type { AuditOutcome, AuditType } from './catalogue.js';

export interface Actor {
  id: string;
  type: 'user' | 'agent' | 'system';
  tokenId: string | null;
  /** The Slack account that a user acts by instead of a token: its link counts as the credential (SL-13). */
  slackUserId?: string;
  peerIp: string | null;
  clientIp: string | null;
  clientIpSource: 'peer' | 'xff' | null;
  /** What the action came through, if not the API itself (AU-20). */
  channel?: Exclude<Channel, 'api'>;
  /** What the client of an MCP session calls itself, which nothing proves. */
  client?: string;
}

export const systemActor: Actor = {
  id: 'system',
  type: 'system',
  tokenId: null,
  peerIp: null,
  clientIp: null,
  clientIpSource: null,
};

/** The part of an event that a rule decides. The writer adds ids and times and, for requests, the subject. */
export interface AuditDraft {
  type: AuditType;
  outcome: AuditOutcome;
  actor: Actor;
  resourceType:
    | 'request'
    | 'execution'
    | 'user'
    | 'group'
    | 'token'
    | 'agent'
    | 'schema'
    | 'config'
    | 'signing_key'
    | 'onboarding'
    | 'audit'
    | 'delivery'
    | null;
  resourceId: string | null;
  reason: string | null;
  /** Written as compact JSON in this key order (AU-22). A count beyond 2^53 is a bigint, so that it keeps its digits (AG-50a). */
  metadata: Record<string, unknown>;
}

/** The subject of an event: a request (audit section 3, first sentence), or a pair alone. */
export interface AuditSubject {
  requestId: string | null;
  operation: string | null;
  database: string;
  environment: string;
  detailFingerprint: string | null;
  detailRaw: string | null;
}

/** The stored text of an event's metadata: the rule's keys, then the channel (AU-20) and the caller's token (AU-21). */
export function metadataJson({ actor, metadata }: AuditDraft): string {
  const members = {
    ...metadata,
    ...(actor.channel === undefined ? {} : { channel: actor.channel }),
    ...(actor.client === undefined ? {} : { client: actor.client }),
    ...(actor.tokenId === null ? {} : { auth_token_id: actor.tokenId }),
  };
  const digits = Object.entries(metadata).flatMap(([key, value]) => (typeof value === 'bigint' ? [[key, String(value)]] : []));
  return objectText(members, Object.fromEntries(digits));
}
