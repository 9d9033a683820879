import type { Channel } from '../policies.js';

export type AuditOutcome = 'success' | 'denied' | 'failure' | 'info';
export type AuditCategory =
  | 'approval'
  | 'execution'
  | 'agent'
  | 'auth'
  | 'token'
  | 'identity'
  | 'policy'
  | 'request'
  | 'preflight';

export const auditCategory = {
  'auth.failure': 'auth',
  'auth.login_success': 'auth',
  'token.created': 'token',
  'token.revoked': 'token',
  'token.scoped': 'token',
  'token.reissued_initial': 'token',
  'token.delivery': 'token',
  'user.created': 'identity',
  'user.updated': 'identity',
  'user.suspended': 'identity',
  'user.activated': 'identity',
  'user.deleted': 'identity',
  'group.member_added': 'identity',
  'group.member_removed': 'identity',
  'onboarding.requested': 'identity',
  'onboarding.approved': 'identity',
  'onboarding.rejected': 'identity',
  'onboarding.expired': 'identity',
  'request.created': 'approval',
  'request.auto_approved': 'approval',
  'request.break_glass': 'approval',
  'request.dispatched': 'approval',
  'step.approved': 'approval',
  'request.approved': 'approval',
  'request.rejected': 'approval',
  'request.cancelled': 'approval',
  'request.expired': 'approval',
  'request.dispatch_timeout': 'approval',
  'request.integrity_failed': 'approval',
  'request.blocked_by_review': 'approval',
  'ddl.break_glass_bypass': 'request',
  'preflight.attempted': 'preflight',
  'execution.started': 'execution',
  'execution.completed': 'execution',
  'execution.failed': 'execution',
  'execution.cancelled': 'execution',
  'execution.late_result': 'execution',
  'execution.marker_mismatch': 'execution',
  'execution.lost': 'agent',
  'agent.registered': 'agent',
  'schema.snapshot_updated': 'agent',
  'schema.snapshot_failed': 'agent',
  'audit.exported': 'policy',
  'audit.purge_checkpoint': 'policy',
  'config.synced': 'policy',
  'config.rejected': 'policy',
  'signing_key.created': 'policy',
  'plan.changed': 'policy',
  'signing_key.activated': 'policy',
  'signing_key.retired': 'policy',
  'signing_key.revoked': 'policy',
  'secret_key.adopted': 'policy',
  'secret_key.changed': 'policy',
} as const satisfies Record<string, AuditCategory>;

export type AuditType = keyof typeof auditCategory;

export interface Actor {
  id: string;
  type: 'user' | 'agent' | 'system';
  tokenId: string | null;
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
    | null;
  resourceId: string | null;
  reason: string | null;
  /** Written as compact JSON in this key order (AU-22). */
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
  return JSON.stringify({
    ...metadata,
    ...(actor.channel === undefined ? {} : { channel: actor.channel }),
    ...(actor.client === undefined ? {} : { client: actor.client }),
    ...(actor.tokenId === null ? {} : { auth_token_id: actor.tokenId }),
  });
}
