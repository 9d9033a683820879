import { describe, expect, it } from 'vitest';
import { createdRequest, decisionTrace } from '../../../domain/request/creation.js';
import type { NewRequest } from '../../../domain/request/new-request.js';
import { actorOf, user } from '../../support/callers.js';
import { emergency, newRequest, passedByPolicy } from '../../support/new-request.js';
import { now } from '../../support/stored-request.js';

const actor = actorOf(user('alice'));
const create = (over?: Partial<NewRequest>) => createdRequest(newRequest(over), now);

describe('a new request', () => {
  it('that needs approval is pending until its clock ends (ST-1, TT-1)', () => {
    const { request, events } = create();
    expect(request).toMatchObject({
      status: 'pending',
      fence: 0,
      version: 1,
      currentStep: 0,
      expiresAt: now + 86_400_000,
      approvedAt: null,
      dispatchBy: null,
      dispatchDeadline: null,
      createdAt: now,
      updatedAt: now,
    });
    expect(events).toMatchObject([
      { type: 'request.created', outcome: 'success', actor, resourceType: 'request', resourceId: request.id, reason: 'because' },
    ]);
  });

  it.each([
    ['auto-approved', 'request.auto_approved', passedByPolicy],
    ['break-glass', 'request.break_glass', emergency],
  ] as const)(
    'that is %s is dispatched in the same step, with fence 1 and no pending clock (ST-2, ST-3, D14)',
    (_, type, over) => {
      const { request, events } = create(over);
      expect(request).toMatchObject({
        status: 'dispatched',
        fence: 1,
        expiresAt: null,
        approvedAt: now,
        dispatchBy: now + 7_200_000,
        dispatchedAt: now,
        dispatchDeadline: now + 300_000,
        resolvedAt: null,
      });
      expect(events).toMatchObject([
        { type, reason: 'because' },
        { type: 'request.dispatched', reason: null, metadata: { fence: 1 } },
      ]);
    },
  );

  it('in an emergency needs no workflow and then takes the clock of the configuration (BG-1, TT-2)', () => {
    const { request } = create({ ...emergency, policy: null });
    expect(request).toMatchObject({ status: 'dispatched', policy: null, dispatchBy: now + 99_000 });
  });

  it('is dispatched only by an auto-approval in its trace or an emergency, whatever its workflow says (RQ-I2)', () => {
    for (const over of [{}, passedByPolicy, emergency]) {
      const { status } = create(over).request;
      const { decision } = decisionTrace(newRequest(over));
      expect(status === 'dispatched').toBe(decision.outcome === 'auto_approved');
    }
  });

  it('keeps every byte of its text, and who it is shared with (RQ-28, RQ-10)', () => {
    expect(create().request).toMatchObject({
      detail: ' select 1 ;\n',
      shareSelectors: ['user:bob'],
      noResultStore: true,
      policyRevision: 'r7',
      approvalDigest: 'd'.repeat(64),
    });
  });

  it('has the metadata of the catalogue in its order, with share_with as sent (AU-22)', () => {
    const text = '{"channel":"api","emergency":false,"allow_ddl":false,"no_result_store":true,"share_with":["bob"]}';
    expect(JSON.stringify(create().events[0]?.metadata)).toBe(text);
  });
});

describe('a bypass (BG-3)', () => {
  it('is told after the dispatch, with the reason', () => {
    const { events } = create({ ...emergency, bypass: { statementCount: 2 } });
    expect(events.map(({ type }) => type)).toEqual(['request.break_glass', 'request.dispatched', 'ddl.break_glass_bypass']);
    expect(events[2]).toMatchObject({ outcome: 'success', resourceType: 'request', reason: 'because' });
    expect(JSON.stringify(events[2]?.metadata)).toBe(
      '{"statement_count":2,"classifier_bypassed":false,"reviewer_bypassed":true}',
    );
  });
});

describe('the decision trace (RQ-44)', () => {
  it('says what was matched, found and decided', () => {
    expect(decisionTrace(newRequest())).toEqual({
      version: 1,
      classification: { resolved_operation: 'execute_select' },
      sql_review: { policy_id: 'builtin-default', findings_count: 2, parse_failed: false },
      risk: { level: 'unknown', factors: ['schema_not_synced'], schema_status: 'not_synced' },
      workflow: { matched: { id: 'wf:app:production:e3b0c44298fc', database: 'app', environment: 'production', step_count: 1 } },
      decision: { outcome: 'needs_approval', reasons: ['no_auto_approve_rule'], auto_approve_threshold: null },
    });
  });

  it('says null without a workflow, and parse_failed where a statement was not understood (HD-95)', () => {
    expect(decisionTrace(newRequest({ ...emergency, policy: null }))).toMatchObject({
      workflow: { matched: null },
      decision: { reasons: ['break_glass'] },
    });
    const migration = newRequest({ operation: 'migrate_up', review: { policyId: 'p', findingsCount: 3, parseFailed: true } });
    expect(decisionTrace(migration).sql_review).toEqual({
      policy_id: 'p',
      findings_count: 3,
      parse_failed: true,
    });
  });
});
