import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Origins, UserCaller } from '../../domain/caller.js';
import { countsFor, grantBy, selectorTies, systemGrant, tieToRequester } from '../../domain/four-eyes.js';
import { judge } from '../../domain/request/judge.js';
import { actorOf, user } from '../support/callers.js';
import { now, steps, storedRequest, workflowSnapshot } from '../support/stored-request.js';

const origins = (over: Partial<UserCaller['origins']>): UserCaller['origins'] => ({
  account: [],
  credential: [],
  groups: new Map(),
  roles: new Map(),
  ...over,
});

describe('what an approval goes back to (HD-70)', () => {
  const approve = (caller: UserCaller, over: Parameters<typeof workflowSnapshot>[0] = {}, selector: string | null = null) => {
    const workflow = workflowSnapshot({ steps: steps('group:reviewers'), ...over });
    const digest = { digestIntact: true, foundDigest: '' };
    return judge(
      storedRequest({ policy: workflow }),
      { kind: 'approve', caller, actor: actorOf(caller), selector, comment: null, ...digest },
      now,
    );
  };
  const bob = (over: Partial<UserCaller['origins']>, tokenId: string | null = 'token-1') => ({
    ...user('bob', { groups: ['reviewers', 'leads'], origins: origins(over) }),
    tokenId,
  });

  it.each<[string, Partial<UserCaller['origins']>, RegExp | null]>([
    ['nobody we know', {}, null],
    ['somebody else', { account: ['root'], credential: ['root'], groups: new Map([['reviewers', ['root']]]) }, null],
    ['the requester, by the account', { account: ['root', 'alice'] }, /created your account/],
    ['the requester, by the token', { credential: ['bob', 'alice'] }, /issued the token/],
    ['the requester, by the membership', { groups: new Map([['reviewers', ['alice']]]) }, /granted you group:reviewers/],
    ['more people than are kept', { account: ['*'] }, /created your account/],
    ['the requester, by a membership that is not asked for', { groups: new Map([['leads', ['alice']]]) }, null],
  ])('%s', (_, over, hint) => {
    const { refusal } = approve(bob(over));
    if (hint === null) expect(refusal).toBeNull();
    else expect(refusal).toMatchObject({ code: 'auth.forbidden', message: 'forbidden', hint: expect.stringMatching(hint) });
    expect(approve(bob(over), { allowSelfApprove: true }).refusal).toBeNull();
  });

  it('the requester, by the link to the Slack account', () => {
    const { refusal } = approve(bob({ credential: ['root', 'alice'] }, null));
    expect(refusal).toMatchObject({ message: 'forbidden', hint: expect.stringMatching(/linked your Slack account/) });
  });

  it('is chosen among selectors of the step: one that the requester granted is neither taken nor ambiguous', () => {
    const both = {
      steps: [
        {
          mode: 'any' as const,
          approvers: [
            { selector: 'group:reviewers', min: 1 },
            { selector: 'group:leads', min: 1 },
          ],
        },
      ],
    };
    const caller = bob({ groups: new Map([['reviewers', ['alice']]]) });
    expect(approve(caller, both).change?.decision?.selector).toBe('group:leads');
    expect(approve(caller, both, 'group:reviewers').refusal).toMatchObject({ code: 'auth.forbidden' });
    expect(approve(bob({}), both).refusal).toMatchObject({ code: 'validation.failed' });
  });

  it('for a role, is what all ways to it have in common', () => {
    const caller = (...ways: Origins[]) => user('bob', { origins: origins({ roles: new Map([['dba', ways]]) }) });
    expect(selectorTies(caller(['alice', 'root'], ['root']), 'role:dba')).toEqual(['root']);
    expect(selectorTies(caller(['*'], ['root', 'alice']), 'role:dba')).toEqual(['root', 'alice']);
    expect(selectorTies(caller(['alice'], []), 'role:dba')).toEqual([]);
    expect(selectorTies(caller(), 'role:dba')).toEqual([]);
    expect(countsFor(caller(['*'], ['*']), 'role:dba', 'alice')).toBe(false);
  });
});

/** Makes an account or a token: as somebody, with one of their tokens. */
interface Act {
  as: number;
  with: number;
  what: 'create' | 'reissue' | 'mint';
  whom: number;
}

interface Made {
  /** The act by which it came to be; null for the gateway's. */
  by: { user: string; token: number } | null;
  origins: Origins;
}

/** Plays acts as the gateway stores them, and answers whom each account and token goes back to, as stored and as found by walking the acts. */
function play(acts: readonly Act[]) {
  const accounts = new Map<string, Made>([['root', { by: null, origins: systemGrant.origins }]]);
  const tokens: (Made & { owner: string })[] = [{ owner: 'root', by: null, origins: systemGrant.origins }];
  for (const act of acts) {
    const names = [...accounts.keys()];
    const actor = names[act.as % names.length]!;
    const own = tokens.flatMap(({ owner }, index) => (owner === actor ? [index] : []));
    const token = own[act.with % own.length]!;
    const caller = user(actor, {
      origins: origins({ account: accounts.get(actor)!.origins, credential: tokens[token]!.origins }),
    });
    const made = { by: { user: actor, token }, origins: grantBy(caller).origins };
    const whom = act.what === 'mint' ? actor : names[act.whom % names.length]!;
    if (act.what === 'create') accounts.set(`u${names.length}`, made);
    tokens.push({ ...made, owner: act.what === 'create' ? `u${names.length}` : whom });
  }
  const walk = ({ by }: Made, found = new Set<string>()): Set<string> => {
    if (by === null || found.has(`${by.user}/${by.token}`)) return found;
    found.add(`${by.user}/${by.token}`);
    walk(accounts.get(by.user)!, found);
    return walk(tokens[by.token]!, found);
  };
  const users = (made: Made) => new Set([...walk(made)].map((act) => act.split('/')[0]!));
  return { accounts, tokens, users };
}

describe('origins (HD-70)', () => {
  const acts = fc.array(
    fc.record<Act>({
      as: fc.nat(20),
      with: fc.nat(20),
      what: fc.constantFrom('create', 'reissue', 'mint'),
      whom: fc.nat(20),
    }),
    { maxLength: 40 },
  );

  it('kept flat are exactly those that a walk over all acts finds', () => {
    fc.assert(
      fc.property(acts, (played) => {
        const { accounts, tokens, users } = play(played);
        for (const made of [...accounts.values(), ...tokens]) expect(new Set(made.origins)).toEqual(users(made));
      }),
    );
  });

  it('are bounded, and beyond the bound they are anybody', () => {
    let account: Origins = [];
    for (let link = 0; link < 200; link += 1) {
      account = grantBy(user(`u${link}`, { origins: origins({ account }) })).origins;
      expect(account.length).toBeLessThanOrEqual(64);
      expect(tieToRequester(user('last', { origins: origins({ account }) }), 'u0')).not.toBeNull();
    }
    expect(account).toEqual(['*']);
  });
});
