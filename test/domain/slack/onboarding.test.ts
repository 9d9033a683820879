import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isUserId } from '../../../domain/selectors.js';
import {
  expiresNow,
  type Onboarding,
  type OnboardingStatus,
  offeredToApplicant,
  offeredToReviewer,
  outsideOf,
  reviewRefusal,
  userIdOf,
} from '../../../domain/slack/onboarding.js';

const statuses: OnboardingStatus[] = ['pending', 'approved', 'rejected', 'expired'];
const named = (displayName: string) => userIdOf({ displayName, slackUserId: 'U07AB12CD' });

describe('what is offered', () => {
  const rules = {
    assignableRoles: ['requester', 'approver', 'dba'],
    restrictedRoles: ['dba'],
    assignableGroups: ['leads', 'g'.repeat(151), 'g'.repeat(150)],
  };

  it('to an applicant is what may be assigned without what is restricted (SL-41)', () => {
    expect(offeredToApplicant(rules)).toEqual({ roles: ['requester', 'approver'], groups: ['leads', 'g'.repeat(150)] });
  });

  it('to a reviewer are the restricted roles too (SL-43)', () => {
    expect(offeredToReviewer(rules).roles).toEqual(['requester', 'approver', 'dba']);
  });

  it('tells the first name outside of it', () => {
    expect(outsideOf(['a', 'b'], ['b', 'c', 'd'])).toBe('c');
    expect(outsideOf(['a', 'b'], ['b', 'a', 'b'])).toBeUndefined();
    expect(outsideOf([], [])).toBeUndefined();
  });
});

describe('the user id of a display name (SL-44)', () => {
  it.each([
    ['Mira', 'mira'],
    ['Mira K. van Dam', 'mira-k.-van-dam'],
    ['  --Otto--  ', 'otto'],
    ['a&b<c>', 'a-b-c'],
    ['Éva', 'va'],
    ['mira@example.net', 'mira@example.net'],
    ['_under_', '_under_'],
    ['田中', 'slack-U07AB12CD'],
    ['', 'slack-U07AB12CD'],
    ['-', 'slack-U07AB12CD'],
    // Its lower case is an ASCII letter, which it is not itself.
    ['\u212aelvin', 'elvin'],
    [`${'x'.repeat(127)} y`, 'x'.repeat(127)],
    ['x'.repeat(200), 'x'.repeat(128)],
  ])('%j is %j', (name, id) => expect(named(name)).toBe(id));

  it('is one whatever the name holds (IM-60)', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 150 }), (name) => {
        const id = named(name);
        expect(isUserId(id)).toBe(true);
        expect(id).toMatch(/^[^-].*[^-]$|^[^-]$/);
        expect(id).not.toContain('--');
      }),
    );
  });
});

describe('a review and the clock', () => {
  const at = (status: OnboardingStatus): Pick<Onboarding, 'status' | 'expiresAt'> => ({ status, expiresAt: 1000 });

  it('a review needs a pending request before its end (SL-43)', () => {
    expect(reviewRefusal(at('pending'), 999)).toBeNull();
    expect(reviewRefusal(at('pending'), 1000)?.code).toBe('slack.gone');
    expect(reviewRefusal(at('expired'), 0)?.code).toBe('slack.gone');
    for (const status of ['approved', 'rejected'] as const)
      for (const now of [0, 2000]) expect(reviewRefusal(at(status), now)?.message).toBe('already decided');
  });

  it('at every instant a pending request can be reviewed or expires, and an ended one neither (SL-45)', () => {
    fc.assert(
      fc.property(fc.constantFrom(...statuses), fc.nat(2000), (status, now) => {
        const can = [reviewRefusal(at(status), now) === null, expiresNow(at(status), now)].filter(Boolean);
        expect(can).toHaveLength(status === 'pending' ? 1 : 0);
      }),
    );
  });
});
