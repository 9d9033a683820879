import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findRole } from '../../domain/permissions.js';
import { matchesSelector } from '../../domain/selectors.js';
import { jwtCaller, type StoredUserToken, storedCaller } from '../../domain/stored-caller.js';

const config = {
  defaultRole: 'requester',
  roles: [],
  groups: [
    { name: 'dba-team', roles: ['approver', 'dba'] },
    { name: 'leads', roles: ['approver'] },
    { name: 'watchers', roles: [] },
    { name: 'legacy', roles: ['gone'] },
  ],
};
const pair = { database: 'app', environment: 'production' };

function stored(over: Partial<StoredUserToken> & { groups?: string[] } = {}): StoredUserToken {
  const { groups = [], ...rest } = over;
  return {
    id: 't1',
    subjectId: 'mira',
    scopeCeiling: null,
    roles: [],
    roleGrants: {},
    memberships: groups.map((group) => ({ group, origins: [`giver-of-${group}`] })),
    accountOrigins: ['root'],
    tokenOrigins: ['mira', 'root'],
    ...rest,
  };
}

function callerOf(over: Parameters<typeof stored>[0]) {
  const caller = storedCaller(stored(over), config);
  if (typeof caller === 'string') throw new Error(caller);
  return caller;
}

describe('the caller behind a stored token', () => {
  it('is nobody without a role, or with none that passes the ceiling (IM-13, IM-20)', () => {
    expect(storedCaller(stored({ roles: ['gone'] }), { ...config, defaultRole: null })).toBe('no_roles');
    expect(storedCaller(stored({ roles: ['requester'], scopeCeiling: ['dba'] }), config)).toBe('scope_ceiling');
  });

  it('has no ceiling with a JWT (IM-20)', () => {
    const caller = jwtCaller(stored({ roles: ['requester', 'dba'] }), config, { groups: [], mappedRoles: [], defaultRole: null });
    expect(caller).toMatchObject({ tokenId: null, roles: [{ name: 'requester' }, { name: 'dba' }] });
  });

  it.each<[string[], string[], string[]]>([
    [['requester'], ['dba-team', 'leads', 'watchers', 'legacy'], []],
    [['approver'], ['dba-team', 'leads', 'watchers'], ['dba-team', 'leads']],
    [['dba'], ['dba-team', 'leads', 'watchers'], ['dba-team']],
    [
      ['requester', 'approver', 'dba'],
      ['dba-team', 'leads', 'watchers', 'legacy'],
      ['dba-team', 'leads', 'watchers', 'legacy'],
    ],
    [
      ['requester', 'approver', 'dba', 'admin'],
      ['dba-team', 'watchers'],
      ['dba-team', 'watchers'],
    ],
  ])('with the ceiling %j and groups %j has those of %j (HD-71)', (scopeCeiling, groups, expected) => {
    const caller = callerOf({ roles: ['requester', 'dba'], groups: [...groups, 'dba-team'], scopeCeiling });
    expect([...new Set(caller.groups)]).toEqual(expected);
    expect(caller.memberOf).toEqual([...groups, 'dba-team']);
  });

  it('has for each role every way to it, and none for the default role (HD-70)', () => {
    const roleGrants = { dba: { by: 'zoe', token: null, origins: ['zoe'] } };
    const caller = callerOf({ roles: ['dba'], roleGrants, groups: ['dba-team', 'leads'], scopeCeiling: ['dba', 'approver'] });
    expect(Object.fromEntries(caller.origins.roles)).toEqual({
      dba: [['zoe'], ['giver-of-dba-team']],
      approver: [['giver-of-dba-team'], ['giver-of-leads']],
    });
    expect(callerOf({ scopeCeiling: ['requester'] }).origins.roles.get('requester')).toEqual([]);
    const before = callerOf({ roles: ['dba'], scopeCeiling: ['dba'], accountOrigins: null, tokenOrigins: null });
    expect([before.origins.account, before.origins.credential, before.origins.roles.get('dba')]).toEqual([[], [], [[]]]);
  });

  const role = fc.constantFrom('requester', 'approver', 'dba', 'admin', 'gone');
  const anyConfig = fc.record({
    defaultRole: fc.option(role),
    roles: fc.constant([]),
    groups: fc.uniqueArray(fc.record({ name: fc.constantFrom('a', 'b', 'c'), roles: fc.array(role, { maxLength: 3 }) }), {
      selector: ({ name }) => name,
    }),
  });
  const some = fc.uniqueArray(role, { maxLength: 4 });
  const groups = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 4 });

  it('matches a group only as far as its roles reach, whole tokens match all, and a wider ceiling never matches less (HD-71)', () => {
    fc.assert(
      fc.property(anyConfig, some, groups, some, some, (auth, roles, memberOf, ceiling, more) => {
        const matched = (scopeCeiling: string[]) => {
          const caller = storedCaller(stored({ roles, groups: memberOf, scopeCeiling }), auth);
          if (typeof caller === 'string') return null;
          const seen = memberOf.filter((name) => matchesSelector(caller, `group:${name}`, pair));
          return { seen, held: caller.roles.map(({ name }) => name) };
        };
        const all = ['requester', 'approver', 'dba', 'admin'];
        const whole = matched(all);
        const narrow = matched(ceiling);
        if (whole === null || narrow === null) return;
        expect(whole.seen).toEqual(memberOf);
        for (const name of narrow.seen) {
          const given = (auth.groups.find((group) => group.name === name)?.roles ?? []).filter((given) => findRole(given, []));
          if (given.length === 0) expect(narrow.held).toEqual(whole.held);
          else expect(given.some((one) => narrow.held.includes(one))).toBe(true);
        }
        expect(matched([...ceiling, ...more])?.seen).toEqual(expect.arrayContaining(narrow.seen));
      }),
    );
  });
});
