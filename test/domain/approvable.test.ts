import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shortStep, shortText } from '../../domain/approvable.js';
import { noOrigins } from '../../domain/four-eyes.js';
import type { ApprovalStage } from '../../domain/policies.js';
import { builtinRole, role, user } from '../support/callers.js';

const pair = { database: 'shop', environment: 'production' };
const any = (...selectors: string[]): ApprovalStage => ({
  mode: 'any',
  approvers: selectors.map((selector) => ({ selector, min: 1 })),
});
const all = (...entries: [string, number][]): ApprovalStage => ({
  mode: 'all',
  approvers: entries.map(([selector, min]) => ({ selector, min })),
});
const policy = (steps: ApprovalStage[], more: object = {}) => ({
  steps,
  allowSelfApprove: false,
  allowSameApproverAcrossSteps: false,
  ...more,
});
const bob = user('bob', { groups: ['dba-team'] });
const eve = user('eve', { groups: ['dba-team', 'leads'] });
const alice = user('alice', { groups: ['dba-team'] });
const made = (by: string) => user('puppet', { groups: ['dba-team'], origins: { ...noOrigins, account: [by] } });
const granted = user('carl', { groups: ['dba-team'], origins: { ...noOrigins, groups: new Map([['dba-team', ['alice']]]) } });
const limited = user('dan', { roles: [role('lead', [], { databases: ['other'] })] });

describe('whether anybody could approve (RQ-38)', () => {
  it.each([
    ['somebody can', policy([any('group:dba-team')]), [bob], null],
    ['nobody is there', policy([any('group:dba-team')]), [], 0],
    ['only the requester', policy([any('group:dba-team')]), [alice], 0],
    ['only the requester, who may', policy([any('group:dba-team')], { allowSelfApprove: true }), [alice], null],
    ['one user where two are needed', policy([all(['group:dba-team', 2])]), [bob], 0],
    ['a minimum beyond any number', policy([all(['group:dba-team', 2 ** 31])]), [bob, eve], 0],
    ['a user that is not there', policy([any('user:nobody')]), [bob], 0],
    ['one of two entries is enough', policy([any('user:nobody', 'group:dba-team')]), [bob], null],
    ['all entries are needed', policy([all(['user:nobody', 1], ['group:dba-team', 1])]), [bob], 0],
    ['the second step only', policy([any('group:dba-team'), any('group:leads')]), [bob], 1],
    // AV-11: one person in two groups satisfies one of them.
    ['one user for two entries', policy([all(['group:dba-team', 1], ['group:leads', 1])]), [eve], 0],
    [
      'two users for two entries, one of whom fits both',
      policy([all(['group:dba-team', 1], ['group:leads', 1])]),
      [eve, bob],
      null,
    ],
    // AV-13.
    ['one user for two steps', policy([any('group:dba-team'), any('group:dba-team')]), [bob], 'together'],
    [
      'one user for two steps that take the same',
      policy([any('group:dba-team'), any('group:dba-team')], { allowSameApproverAcrossSteps: true }),
      [bob],
      null,
    ],
    [
      'two steps, of which one leaves a choice',
      policy([any('group:dba-team', 'group:leads'), any('user:bob')]),
      [eve, bob],
      null,
    ],
    // HD-70.
    ['a puppet of the requester', policy([any('group:dba-team')]), [made('alice')], 0],
    ['a user made by somebody else', policy([any('group:dba-team')]), [made('root')], null],
    ['a member by the requester', policy([any('group:dba-team')]), [granted], 0],
    ['a role that covers another database', policy([any('role:lead')]), [limited], 0],
    ['a built-in role', policy([any('role:dba')]), [user('ivy', { roles: [builtinRole('dba')] })], null],
  ] as const)('%s', (_, steps, people, short) => {
    expect(shortStep(steps, pair, 'alice', [...people])).toBe(short);
  });

  it('asks nothing of a requester who is not known yet', () => {
    expect(shortStep(policy([any('group:dba-team')]), pair, null, [alice])).toBeNull();
  });

  it('ends where there are too many ways to try, and never warns of what it did not try', () => {
    const many = Array.from({ length: 12 }, () => any('group:dba-team', 'group:leads', 'user:eve'));
    expect(shortStep(policy(many), pair, 'alice', [eve])).toBeNull();
  });

  it('says so without a name of a user or a number of them', () => {
    const steps = [any('group:dba-team'), any('group:leads', 'user:erin')];
    expect(shortText({ steps }, 1, 'alice')).toBe(
      'nobody can approve step 2 of 2 as things are: too few active users match group:leads, user:erin besides you',
    );
    expect(shortText({ steps }, 'together', null)).not.toContain('besides you');
  });

  it('agrees with trying every choice of users (property)', () => {
    const names = ['a', 'b', 'c'];
    const people = names.map((id) => user(id));
    const stage = fc.record({
      mode: fc.constantFrom('all' as const, 'any' as const),
      approvers: fc.array(
        fc.record({
          selector: fc.constantFrom('user:a', 'user:b', 'user:c', 'role:requester'),
          min: fc.integer({ min: 1, max: 3 }),
        }),
        {
          minLength: 1,
          maxLength: 2,
        },
      ),
    });
    fc.assert(
      fc.property(fc.array(stage, { minLength: 1, maxLength: 2 }), fc.boolean(), (steps, same) => {
        const found = shortStep(policy(steps, { allowSameApproverAcrossSteps: same }), pair, 'c', people);
        expect(found === null).toBe(possible(steps, same));
      }),
      { numRuns: 300 },
    );
  });
});

/** By brute force over users a and b; `c` asks. */
function possible(steps: readonly ApprovalStage[], same: boolean): boolean {
  const place = (slots: string[][], used: readonly string[]): boolean => {
    const [first, ...rest] = slots;
    return first === undefined || first.some((id) => !used.includes(id) && place(rest, [...used, id]));
  };
  const usersOf = (selector: string) =>
    selector === 'role:requester' ? ['a', 'b'] : ['a', 'b'].filter((id) => selector === `user:${id}`);
  const options = steps.map(({ mode, approvers }) => {
    const entries = approvers.map(({ selector, min }) => Array.from({ length: min }, () => usersOf(selector)));
    return mode === 'any' ? entries : [entries.flat()];
  });
  if (same) return options.every((ways) => ways.some((slots) => place(slots, [])));
  const chosen = options.reduce<string[][][]>((all, ways) => all.flatMap((one) => ways.map((way) => [...one, ...way])), [[]]);
  return chosen.some((slots) => place(slots, []));
}
