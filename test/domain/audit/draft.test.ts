import { describe, expect, it } from 'vitest';
import { type AuditType, auditCategory } from '../../../domain/audit/catalogue.js';
import { type Actor, type AuditDraft, metadataJson, systemActor } from '../../../domain/audit/draft.js';

/** The catalogue of section 3, as far as this version writes it. */
const catalogue = {
  approval: [
    'request.created',
    'request.auto_approved',
    'request.break_glass',
    'request.dispatched',
    'step.approved',
    'request.approved',
    'request.rejected',
    'request.cancelled',
    'request.expired',
    'request.dispatch_timeout',
    'request.integrity_failed',
    'request.blocked_by_review',
  ],
  execution: [
    'execution.started',
    'execution.completed',
    'execution.failed',
    'execution.cancelled',
    'execution.late_result',
    'execution.marker_mismatch',
  ],
  agent: ['execution.lost', 'agent.registered', 'schema.snapshot_updated', 'schema.snapshot_failed'],
  auth: ['auth.failure', 'auth.login_success'],
  token: ['token.created', 'token.revoked', 'token.scoped', 'token.reissued_initial', 'token.delivery'],
  identity: [
    'user.created',
    'user.updated',
    'user.deleted',
    'user.suspended',
    'user.activated',
    'group.member_added',
    'group.member_removed',
    'onboarding.requested',
    'onboarding.approved',
    'onboarding.rejected',
    'onboarding.expired',
  ],
  request: ['ddl.break_glass_bypass'],
  preflight: ['preflight.attempted'],
  policy: [
    'config.synced',
    'config.rejected',
    'plan.changed',
    'signing_key.created',
    'signing_key.activated',
    'signing_key.retired',
    'signing_key.revoked',
    'secret_key.adopted',
    'secret_key.changed',
    'audit.signed_checkpoint',
    'audit.purge_checkpoint',
    'audit.exported',
    'webhook.redelivered',
  ],
} as const;
const known = Object.entries(catalogue).flatMap(([category, types]) => types.map((type) => [type, category]));

const user: Actor = { ...systemActor, id: 'alice', type: 'user', tokenId: 'token-1' };
const draft = (over: Partial<AuditDraft> = {}): AuditDraft => ({
  type: 'request.dispatched',
  outcome: 'success',
  actor: user,
  resourceType: 'request',
  resourceId: 'r',
  reason: null,
  metadata: {},
  ...over,
});

describe('the catalogue of audit events (section 3)', () => {
  it.each(Object.keys(auditCategory) as AuditType[])('has %s in its category', (type) => {
    expect([type, auditCategory[type]]).toEqual(known.find(([name]) => name === type));
  });
});

describe('the stored metadata of an event', () => {
  it('is compact JSON in the order of the rule that made it (AU-22)', () => {
    expect(metadataJson(draft({ actor: systemActor, metadata: { phase: 'pending', a: 1 } }))).toBe('{"phase":"pending","a":1}');
    expect(metadataJson(draft({ actor: systemActor }))).toBe('{}');
  });

  it('keeps the digits of a count beyond 2^53 (AG-50a)', () => {
    const metadata = { fence: 2, rows_affected: 9007199254740993n, duration_ms: 1 };
    const text = '{"fence":2,"rows_affected":9007199254740993,"duration_ms":1,"auth_token_id":"token-1"}';
    expect(metadataJson(draft({ metadata }))).toBe(text);
  });

  it('names the API token of whoever made it, after the keys of the rule (AU-21)', () => {
    expect(metadataJson(draft({ metadata: { fence: 2 } }))).toBe('{"fence":2,"auth_token_id":"token-1"}');
    expect(metadataJson(draft({ actor: { ...user, tokenId: null }, metadata: { fence: 2 } }))).toBe('{"fence":2}');
  });

  it('leaves the draft as it was', () => {
    const given = draft({ metadata: { fence: 2 } });
    metadataJson(given);
    expect(given).toEqual(draft({ metadata: { fence: 2 } }));
  });
});

describe('the actor of what happens by itself', () => {
  it('is the system, with no credential and no address (AU-1)', () => {
    expect(systemActor).toEqual({
      id: 'system',
      type: 'system',
      tokenId: null,
      peerIp: null,
      clientIp: null,
      clientIpSource: null,
    });
  });
});
