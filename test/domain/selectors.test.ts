import { describe, expect, it } from 'vitest';
import { BUILTIN_ROLES } from '../../domain/builtin-roles.js';
import type { Caller, EffectiveRole, UserCaller } from '../../domain/caller.js';
import { noOrigins } from '../../domain/four-eyes.js';
import { isGroupName, isName, isRoleName, isUserId, matchesSelector, normaliseShareWith } from '../../domain/selectors.js';

const app = { database: 'app', environment: 'production' };
const appDba: EffectiveRole = {
  name: 'app-dba',
  permissions: [{ perm: 'request.dml', ownership: 'own' }],
  databases: ['app'],
  environments: ['*'],
};
const mira: UserCaller = {
  kind: 'user',
  id: 'mira',
  roles: [...BUILTIN_ROLES.filter(({ name }) => name === 'requester'), appDba],
  groups: ['leads'],
  memberOf: ['leads'],
  origins: noOrigins,
  tokenId: null,
};
const agent: Caller = { kind: 'agent', id: 'mira', tokenId: 't', agentScopes: null };

describe('selectors (RQ-9)', () => {
  it('match users by id, groups by name, roles that also cover the pair', () => {
    const matches = (selector: string, pair = app) => matchesSelector(mira, selector, pair);
    expect(['user:mira', 'group:leads', 'role:requester', 'role:app-dba'].every((selector) => matches(selector))).toBe(true);
    expect(
      ['user:Mira', 'group:lead', 'role:dba', 'mira', 'requester', 'team:mira', 'user:', ''].some((selector) =>
        matches(selector),
      ),
    ).toBe(false);
    expect(matches('role:app-dba', { ...app, database: 'other' })).toBe(false);
  });

  it('are split at the first colon only', () => {
    const member: Caller = { ...mira, groups: ['a:b'] };
    expect(matchesSelector(member, 'group:a:b', app)).toBe(true);
  });

  it('never match an agent, also not by its id', () => {
    expect(['user:mira', 'role:agent-default'].some((selector) => matchesSelector(agent, selector, app))).toBe(false);
  });

  it('stand in share_with, where a bare id is a user (RQ-10)', () => {
    expect(normaliseShareWith(['bob', 'group:leads', 'user:bob', 'requester', 'role:dba'])).toEqual([
      'group:leads',
      'requester',
      'role:dba',
      'user:bob',
    ]);
    expect(normaliseShareWith([])).toEqual([]);
    for (const bad of ['role:', 'team:x', '', 'a b', 'user:ü', `group:${'x'.repeat(257)}`])
      expect(() => normaliseShareWith(['ok', bad])).toThrow(
        expect.objectContaining({ code: 'validation.failed', hint: 'body.share_with[1]' }),
      );
    expect(() => normaliseShareWith(Array.from({ length: 101 }, (_, index) => `u${index}`))).toThrow(
      expect.objectContaining({ hint: 'body.share_with' }),
    );
  });
});

it('names keep their rules (HT-71, HT-72, CF-6, IM-50, IM-60)', () => {
  expect([isName('a'), isName('a-b_2'), isName('x'.repeat(63))]).toEqual([true, true, true]);
  expect([isName(''), isName('*'), isName('App'), isName('1a'), isName('x'.repeat(64)), isName('a\n')]).toEqual(
    Array(6).fill(false),
  );
  expect([isUserId('Mira.O@x-y_1'), isUserId('x'.repeat(128)), isUserId('x'.repeat(129)), isUserId('a:b')]).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect([isRoleName('a.B_c-1'), isRoleName('x'.repeat(65)), isRoleName('a b')]).toEqual([true, false, false]);
  expect([
    isGroupName('Team Ü: a'),
    isGroupName('ü'.repeat(128)),
    isGroupName('ü'.repeat(129)),
    isGroupName('a\tb'),
    isGroupName(''),
  ]).toEqual([true, true, false, false, false]);
});
