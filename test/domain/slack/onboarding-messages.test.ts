import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Onboarding, OnboardingStatus } from '../../../domain/slack/onboarding.js';
import { onboardingCard, onboardingMessage } from '../../../domain/slack/onboarding-card.js';
import { onboardingModal, onboardingReviewModal } from '../../../domain/slack/onboarding-modals.js';
import { problemsOfBlocks, problemsOfView } from '../../support/slack/block-limits.js';

const id = '8c1f0a34-1111-4222-8333-944445555666';
const onboarding = (over: Partial<Onboarding> = {}): Onboarding => ({
  id,
  slackUserId: 'U07AB12CD',
  displayName: 'Mira',
  roles: ['requester'],
  groups: ['leads'],
  reason: 'on call',
  status: 'pending',
  createdAt: 0,
  expiresAt: 1,
  decidedBy: null,
  comment: null,
  userId: null,
  ...over,
});
const statuses: OnboardingStatus[] = ['pending', 'approved', 'rejected', 'expired'];
const texts = (value: unknown) => JSON.stringify(value);
const text = (max: number) => fc.oneof(fc.string({ unit: 'binary', maxLength: max }), fc.constant('&'.repeat(max)));
const names = fc
  .array(
    text(256).filter((name) => name !== ''),
    { maxLength: 130 },
  )
  .map((all) => [...new Set(all)]);
const groups = names.map((all) => all.filter((name) => name.length <= 150));
const any = fc.record({
  displayName: text(300),
  roles: names,
  groups: names,
  reason: text(1000),
  comment: text(1000),
  by: text(128),
});

describe('the card of an access request', () => {
  it('has a button for the review while it is pending, and who decided afterwards (SL-42, SL-45)', () => {
    const pending = onboardingCard(onboarding());
    expect(pending.blocks.at(-1)).toMatchObject({
      type: 'actions',
      elements: [{ action_id: 'svc_onboarding_review', value: id }],
    });
    expect(texts(pending)).toContain('<@U07AB12CD> (Mira)');
    const ended = { approved: { userId: 'mira' }, rejected: { comment: 'who are you?' }, expired: {} };
    for (const status of ['approved', 'rejected', 'expired'] as const) {
      const card = onboardingCard(onboarding({ status, decidedBy: 'otto', ...ended[status] }));
      expect(texts(card)).not.toContain('"actions"');
      expect(texts(card).includes('otto')).toBe(status !== 'expired');
      // The comment is for the applicant.
      expect(texts(card)).not.toContain('who are you');
    }
  });

  it('fits Slack and holds no markup of its texts, whatever they are (SL-55)', () => {
    fc.assert(
      fc.property(any, fc.constantFrom(...statuses), ({ by, ...over }, status) => {
        for (const channel of ['#db', 'U07AB12CD']) {
          const message = onboardingMessage(onboarding({ ...over, status, decidedBy: by, userId: by }), channel);
          expect(message.text.length).toBeGreaterThan(0);
          expect(problemsOfBlocks(message.blocks)).toEqual([]);
        }
      }),
    );
    const forged = onboardingCard(onboarding({ displayName: '<!channel> *now*', reason: '`<@U1>` is fine' }));
    expect(texts(forged)).not.toMatch(/<!channel>|<@U1>/);
  });
});

describe('the direct message of the end', () => {
  it('tells the applicant of a rejection with its comment, and of an expiry (SL-45)', () => {
    const rejected = onboardingMessage(onboarding({ status: 'rejected', comment: 'who are you?' }), 'U07AB12CD');
    expect(texts(rejected)).toMatch(/was rejected.*who are you\?/);
    expect(onboardingMessage(onboarding({ status: 'expired' }), 'U07AB12CD').text).toContain('expired');
  });
});

describe('the modals', () => {
  it('offer the names that are given; an empty menu is left out (SL-41)', () => {
    const modal = onboardingModal({ roles: ['requester'], groups: [] });
    expect(modal.callback_id).toBe('svc_onboarding');
    expect(modal.blocks.map((block) => 'block_id' in block && block.block_id)).toEqual(['roles_block', 'reason_block']);
  });

  it('of a review chooses what was asked for and is still offered, and names the rest (SL-43)', () => {
    const asked = onboarding({ roles: ['gone', 'requester'], groups: ['leads'] });
    const modal = onboardingReviewModal(asked, { roles: ['dba', 'requester'], groups: [] }, 'mira');
    expect(modal).toMatchObject({ callback_id: 'svc_onboarding_review_submit', private_metadata: id });
    const roles = modal.blocks.find((block) => 'block_id' in block && block.block_id === 'roles_block');
    expect(roles).toMatchObject({ element: { initial_options: [{ value: 'requester' }] } });
    expect(texts(modal)).toMatch(/no longer offered: `gone`, `leads`/);
  });

  it('fit Slack, whatever is offered and asked (SL-41, SL-43)', () => {
    fc.assert(
      fc.property(any, names, groups, ({ by, ...over }, offeredRoles, offeredGroups) => {
        const offer = { roles: offeredRoles.filter((name) => name.length <= 64), groups: offeredGroups };
        expect(problemsOfView(onboardingModal(offer))).toEqual([]);
        const asked = onboarding({ ...over, groups: [...offeredGroups.slice(0, 3), ...over.groups] });
        expect(problemsOfView(onboardingReviewModal(asked, offer, by))).toEqual([]);
      }),
    );
  });

  it('with more names than a menu holds say so, and have room for those that were asked for', () => {
    const roles = Array.from({ length: 130 }, (_, at) => `role-${at}`);
    const modal = onboardingReviewModal(onboarding({ roles: ['role-129'] }), { roles, groups: [] }, 'mira');
    expect(problemsOfView(modal)).toEqual([]);
    expect(texts(modal)).toContain('the first 100 of 130');
  });
});
