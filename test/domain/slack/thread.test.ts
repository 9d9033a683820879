import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type NotificationEvent, notificationEvents } from '../../../domain/notifications/events.js';
import { audienceOf, mention, mentions, nextApprovers } from '../../../domain/slack/mentions.js';
import { type LineFacts, threadLine } from '../../../domain/slack/thread.js';
import { expectFitsSlack, markupOf } from '../../support/slack.js';
import { steps, workflowSnapshot } from '../../support/stored-request.js';

type Decided = Parameters<typeof nextApprovers>[1]['decisions'][number];

const facts = (over: Partial<LineFacts> = {}): LineFacts => ({
  event: 'step.approved',
  actor: 'otto',
  reason: null,
  error: null,
  step: null,
  detail: null,
  approvers: [],
  asked: [],
  ...over,
});
const line = (over: Partial<LineFacts>, mentioned = '') => markupOf(threadLine(facts(over), { actor: 'otto', mentioned }))[0];

describe('a line in the thread', () => {
  it('says what happened, by whom, and to whom it matters (SL-52)', () => {
    expect(line({ step: { number: 1, total: 2 } }, '<@U1>')).toBe('☑️ Step Approved by otto • Step 1/2 • <@U1>');
    expect(line({ event: 'request.rejected', reason: 'no `where`' })).toBe("❌ Rejected by otto • Reason: `no 'where'`");
    expect(line({ event: 'request.dispatched' })).toBe('🚀 Dispatched by otto');
    expect(line({ event: 'execution.completed', detail: 'migrate_up: applied=[1]' })).toBe(
      '🎉 Completed by otto • `migrate_up: applied=[1]`',
    );
  });

  it('has of an error its class, or its first line where redaction left one (SL-55)', () => {
    expect(line({ event: 'execution.failed', error: { class: 'unique_violation', line: null } })).toBe(
      '⚠️ Execution Failed by otto • Error: `unique_violation`',
    );
    expect(line({ event: 'execution.failed', error: { class: 'c', line: 'a <b>' } })).toContain('`a &lt;b&gt;`');
  });

  it('keeps to the limits of Slack, whatever texts are (SL-52)', () => {
    const text = fc.string({ unit: fc.constantFrom('<', '&', 'é', '😀', '`', '\n', 'a'), maxLength: 2000 });
    const users = fc.array(text, { maxLength: 40 });
    fc.assert(
      fc.property(text, users, (any, names) => {
        const over = { reason: any, error: { class: any, line: any }, detail: any };
        const told = { actor: mention(any, new Map()), mentioned: mentions(names, new Map()) };
        expectFitsSlack(threadLine(facts(over), told));
      }),
    );
  });
});

describe('a line mentions', () => {
  const asked = ['user:erin', 'group:dbas', 'user:mira'];
  const approval = (userId: string, step: number) => ({ userId, step, action: 'approve' as const });
  const request = (allowSameApproverAcrossSteps: boolean, decisions: Decided[] = []) => ({
    requester: 'mira',
    policy: workflowSnapshot({ steps: steps('group:dbas', 'group:dbas'), allowSameApproverAcrossSteps }),
    currentStep: 1,
    decisions,
  });
  const audience = (event: NotificationEvent, about = request(false)) =>
    audienceOf(facts({ event, asked, approvers: ['otto'] }), about);

  it('those who may approve next, without the actor and the requester (SL-53)', () => {
    expect(audience('step.approved')).toEqual({ users: ['erin', 'mira'], selectors: asked, without: ['mira', 'otto'] });
  });

  it('nobody to approve who cannot, having approved already (SL-51, SL-53)', () => {
    const decisions = [approval('first', 0), approval('here', 1), { ...approval('no', 1), action: 'reject' as const }];
    for (const [again, without] of [
      [false, ['mira', 'first', 'here']],
      [true, ['mira', 'here']],
    ] as const) {
      expect(nextApprovers(asked, request(again, decisions)).without).toEqual(without);
      expect(audience('step.approved', request(again, decisions)).without).toEqual([...without, 'otto']);
    }
  });

  it('the requester and the approvers when it ends without them, without who cancelled it (SL-53)', () => {
    const users = ['mira', 'otto', 'erin'];
    expect(audience('request.expired')).toEqual({ users, selectors: asked, without: [] });
    expect(audience('request.cancelled')).toEqual({ users, selectors: asked, without: ['otto'] });
  });

  it('the requester of what became of the request, and nobody else of any other event (SL-53)', () => {
    const requester = [
      ...['request.approved', 'request.rejected', 'execution.completed', 'execution.failed', 'execution.lost'],
      ...['request.dispatch_timeout', 'request.integrity_failed'],
    ];
    const others = ['step.approved', 'request.expired', 'request.cancelled'];
    for (const event of Object.keys(notificationEvents) as NotificationEvent[]) {
      if (others.includes(event)) continue;
      expect(audience(event)).toEqual({ users: requester.includes(event) ? ['mira'] : [], selectors: [], without: [] });
    }
  });

  it('a user by Slack id, or else by the plain user id (SL-54)', () => {
    const ids = new Map([['mira', 'U07AB12CD']]);
    expect(mention('mira', ids)).toBe('<@U07AB12CD>');
    expect(mention('otto', ids)).toBe('otto');
    const many = Array.from({ length: 12 }, (_, index) => `u${index}`);
    expect(mentions(many, ids)).toBe('u0, u1, u2, u3, u4, u5, u6, u7, u8, u9 and 2 more');
  });
});
