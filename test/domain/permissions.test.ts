import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BUILTIN_ROLES } from '../../domain/builtin-roles.js';
import type { Caller, EffectiveRole } from '../../domain/caller.js';
import { noOrigins } from '../../domain/four-eyes.js';
import { PERMISSIONS, type Permission } from '../../domain/permission-table.js';
import {
  applyCeiling,
  can,
  coversRoles,
  findRole,
  isPermission,
  parsePermission,
  resolveRoles,
} from '../../domain/permissions.js';

const app = { database: 'app', environment: 'production' };

function role(name: string, permissions: string[], scope: Partial<EffectiveRole> = {}): EffectiveRole {
  const parsed = permissions.map(parsePermission).filter((entry) => typeof entry !== 'string');
  return { name, permissions: parsed, databases: ['*'], environments: ['*'], ...scope };
}

const caller = (...roles: (string | EffectiveRole)[]): Caller => ({
  kind: 'user',
  id: 'mira',
  roles: roles.flatMap((item) => (typeof item === 'string' ? (findRole(item, []) ?? []) : item)),
  groups: ['leads'],
  memberOf: ['leads'],
  origins: noOrigins,
  tokenId: null,
});
const agent: Caller = { kind: 'agent', id: 'mira', tokenId: 't', agentScopes: null };

describe('permissions', () => {
  it('are 23 and give each built-in role what its row says (identity.md 4)', () => {
    expect(Object.keys(PERMISSIONS)).toHaveLength(23);
    const held = Object.fromEntries(BUILTIN_ROLES.map(({ name, permissions }) => [name, permissions.length]));
    expect(held).toEqual({ requester: 12, approver: 5, dba: 17, admin: 1, 'agent-default': 1 });
  });

  it.each<[string, Permission, boolean]>([
    ['requester', 'request.dml', true],
    ['requester', 'request.break_glass_dml', false],
    ['approver', 'request.query', false],
    ['approver', 'workflow.read', true],
    ['dba', 'audit.read', true],
    ['dba', 'user.read', false],
    ['admin', 'user.write', true],
    ['admin', 'agent.operate', false],
    ['agent-default', 'agent.operate', false],
  ])('%s, %s: %s', (name, permission, expected) => {
    expect(can(caller(name), permission, 'everywhere')).toBe(expected);
  });

  it('of an agent are agent.operate and nothing else (IM-43)', () => {
    const held = Object.keys(PERMISSIONS).filter((name) => isPermission(name) && can(agent, name, 'somewhere'));
    expect(held).toEqual(['agent.operate']);
  });

  it('over objects of others take :any or *, the most permissive role counting (IM-41)', () => {
    const all = role('viewer', ['request.view:any'], { databases: ['app'] });
    expect(can(caller('requester'), 'request.view', app, 'any')).toBe(false);
    expect(can(caller('requester', all), 'request.view', app, 'any')).toBe(true);
    expect(can(caller('requester', all), 'request.view', { ...app, database: 'other' }, 'any')).toBe(false);
    expect(can(caller('admin'), 'request.view', app, 'any')).toBe(true);
  });

  it('of class self ignore the scope of the role, of class global want one without limits (IM-44)', () => {
    const limited = role('limited', ['token.create', 'user.write', 'audit.read', 'metrics.view'], { databases: ['app'] });
    expect(can(caller(limited), 'token.create', app)).toBe(true);
    expect(can(caller(limited), 'user.write', app)).toBe(false);
    expect(can(caller(limited), 'metrics.view', 'somewhere')).toBe(false);
    expect(can(caller(limited), 'audit.read', 'somewhere')).toBe(true);
    expect(can(caller(limited), 'audit.read', 'everywhere')).toBe(false);
    expect(can(caller(role('users', ['user.write'])), 'user.read', 'somewhere')).toBe(true);
  });

  it.each([
    ['*', '*', true],
    ['app', '*', true],
    ['*', 'production', true],
    ['app', 'staging', false],
    ['other', '*', false],
  ])('cover a policy row (%s, %s) when they cover a pair it can apply to (IM-40): %s', (database, environment, expected) => {
    const reader = role('reader', ['workflow.read'], { databases: ['app'], environments: ['production'] });
    expect(can(caller(reader), 'workflow.read', { database, environment })).toBe(expected);
  });

  it.each([
    ['request.view', { perm: 'request.view', ownership: 'own' }],
    ['request.view:any', { perm: 'request.view', ownership: 'any' }],
    ['*', { perm: '*', ownership: 'any' }],
    ['request.execute', 'unknown permission'],
    ['toString', 'unknown permission'],
    ['user.read:any', 'user.read takes no suffix'],
    ['request.view:all', 'the suffix must be own or any'],
    ['*:any', '* takes no suffix'],
    ['agent.operate', 'agent.operate is for agents only'],
  ])('are written as %s (IM-50)', (text, expected) => {
    expect(parsePermission(text)).toEqual(expected);
  });
});

describe('granting (IM-53)', () => {
  it('takes every permission, ownership and scope of the roles granted', () => {
    const granted = role('granted', ['request.view:any', 'request.dml'], { databases: ['app', 'shop'] });
    const part = role('part', ['request.view:any', 'request.dml'], { databases: ['app'] });
    const rest = role('rest', ['request.view:any', 'request.dml'], { databases: ['shop'] });
    expect(coversRoles(caller('admin'), [granted])).toBe(true);
    expect(coversRoles(caller(part, rest), [granted])).toBe(true);
    expect(coversRoles(caller(part), [granted])).toBe(false);
    expect(coversRoles(caller('requester'), [granted])).toBe(false);
    expect(coversRoles(caller(part), [role('wide', ['request.dml'])])).toBe(false);
    expect(
      coversRoles(
        caller('dba'),
        BUILTIN_ROLES.filter(({ name }) => name === 'requester'),
      ),
    ).toBe(true);
    expect(coversRoles(caller(...['requester', 'dba', 'approver']), [role('root', ['*'])])).toBe(false);
  });
});

describe('role resolution (IM-51)', () => {
  const config = {
    defaultRole: 'requester',
    roles: [role('custom', ['request.view'])],
    groups: [
      { name: 'leads', roles: ['approver', 'custom'] },
      { name: 'idp', roles: ['dba'] },
    ],
  };
  const names = (roles: EffectiveRole[]) => roles.map(({ name }) => name);

  it('joins direct, group and mapped roles once each and drops unknown names', () => {
    expect(names(resolveRoles({ direct: ['dba', 'gone'], groups: ['leads', 'nosuch'], config }))).toEqual([
      'dba',
      'approver',
      'custom',
    ]);
    const jwt = { groups: ['idp'], mappedRoles: ['approver', 'admin'], defaultRole: 'approver' };
    expect(names(resolveRoles({ direct: [], groups: ['leads'], config, jwt }))).toEqual(['approver', 'custom', 'dba', 'admin']);
  });

  it('falls back to the default of the identity provider, then to that of [auth]', () => {
    const jwt = { groups: [], mappedRoles: [], defaultRole: 'approver' };
    expect(names(resolveRoles({ direct: [], groups: [], config, jwt }))).toEqual(['approver']);
    expect(names(resolveRoles({ direct: [], groups: [], config, jwt: { ...jwt, defaultRole: null } }))).toEqual(['requester']);
    expect(names(resolveRoles({ direct: [], groups: [], config }))).toEqual(['requester']);
    expect(resolveRoles({ direct: ['gone'], groups: [], config: { ...config, defaultRole: null } })).toEqual([]);
  });
});

describe('a ceiling (IM-20)', () => {
  const resolved = ['requester', 'dba'].flatMap((name) => findRole(name, []) ?? []);

  it('gives a user the overlap, and an agent agent-default', () => {
    const names = (subject: 'user' | 'agent', roles: string[] | null) =>
      applyCeiling(subject, resolved, roles && { roles }).map(({ name }) => name);
    expect(names('user', null)).toEqual([]);
    expect(names('user', [])).toEqual([]);
    expect(names('user', ['admin'])).toEqual([]);
    expect(names('user', ['admin', 'dba'])).toEqual(['dba']);
    expect(names('agent', null)).toEqual(['agent-default']);
    expect(names('agent', ['admin'])).toEqual(['agent-default']);
  });

  it('never adds a role: effective ⊆ resolved ∩ ceiling (IM-I1)', () => {
    const name = fc.constantFrom('requester', 'dba', 'approver', 'admin', 'agent-default', 'custom', 'gone');
    const some = fc.array(name, { maxLength: 5 });
    fc.assert(
      fc.property(some, some, some, (direct, byGroup, ceiling) => {
        const config = {
          defaultRole: 'approver',
          roles: [role('custom', ['request.view'])],
          groups: [{ name: 'g', roles: byGroup }],
        };
        const all = resolveRoles({ direct, groups: ['g'], config });
        const effective = applyCeiling('user', all, { roles: ceiling }).map((item) => item.name);
        const allowed = all.map((item) => item.name).filter((item) => ceiling.some((named) => named === item));
        expect(effective).toEqual(allowed);
        expect(new Set(effective).size).toBe(effective.length);
      }),
    );
  });
});
