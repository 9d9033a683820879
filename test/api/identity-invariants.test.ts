import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, startTestApi, type TestApi } from '../support/api.js';
import { databaseToml, groupToml, passesToml, roleToml } from '../support/toml.js';

const clerkPermissions = ['user.write', 'token.create', 'token.revoke', 'token.reissue', 'token.list', 'request.query'];
const toml = [
  databaseToml('shop', ['staging']),
  groupToml('readers', ['approver']),
  groupToml('chiefs', ['admin']),
  groupToml('half', ['narrow', 'dba']),
  roleToml('clerk', clerkPermissions),
  roleToml('narrow', ['request.query', 'token.create']),
  roleToml('wider', ['request.query', 'request.view:any']),
  passesToml(),
  '[auth.token_policy]\nmax_active_tokens_per_user = 0\n',
].join('');

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ toml });
});
afterAll(() => api?.close());

const call = (token: string, method: string, path: string, body?: object): Promise<Answer> =>
  api.call(method, path, { token, body });

interface Power {
  roles: string[];
  permissions: Set<string>;
}

/** What a credential can do now; none when it is refused. */
async function powerOf(token: string): Promise<Power> {
  const { status, body } = await call(token, 'GET', '/api/me');
  if (status !== 200) return { roles: [], permissions: new Set() };
  return {
    roles: body.roles.map(({ name }: { name: string }) => name),
    permissions: new Set(body.roles.flatMap(({ permissions }: { permissions: string[] }) => permissions)),
  };
}

const roleNames = ['requester', 'approver', 'dba', 'admin', 'clerk', 'narrow', 'wider', 'agent-default', 'none'];
const someRoles = fc.uniqueArray(fc.constantFrom(...roleNames), { maxLength: 3 });
const ceiling = fc.oneof(
  fc.constant(undefined),
  fc.constant(null),
  someRoles.map((roles) => ({ roles })),
);

describe('what no chain of calls can gain', () => {
  it('IM-I2: a token of a token of a token never does more than the first credential', async () => {
    await api.createUser('mira', { roles: ['requester', 'approver', 'narrow', 'dba'] });
    const first = await call(api.tokens.admin, 'POST', '/api/users/mira/reissue-initial-token');
    const own = { subject_id: 'mira', subject_type: 'user' };
    let made = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(ceiling, { minLength: 1, maxLength: 4 }), async (ceilings) => {
        let token: string = first.body.token;
        let held = await powerOf(token);
        expect(held.permissions).toContain('request.break_glass_ddl');
        for (const scope_ceiling of ceilings) {
          const answer = await call(token, 'POST', '/api/tokens', {
            ...own,
            scope_ceiling,
          });
          expect([201, 400, 403]).toContain(answer.status);
          if (answer.status !== 201) continue;
          made += 1;
          token = answer.body.token;
          const next = await powerOf(token);
          expect(next.roles.filter((role) => !held.roles.includes(role))).toEqual([]);
          expect([...next.permissions].filter((permission) => !held.permissions.has(permission))).toEqual([]);
          held = next;
        }
      }),
      { numRuns: 40 },
    );
    expect(made).toBeGreaterThan(10);
  }, 60_000);

  it('IM-I2: nor does one whose user was given more since, or had everything taken', async () => {
    const token = await api.createUser('noor', { roles: ['approver'] });
    await call(api.tokens.admin, 'PATCH', '/api/users/noor', { roles: ['dba', 'requester'] });
    const own = { subject_id: 'noor', subject_type: 'user' };
    expect((await call(token, 'POST', '/api/tokens', own)).status).toBe(403);
    await call(api.tokens.admin, 'PATCH', '/api/users/noor', { add_roles: ['approver'] });
    expect((await call(token, 'POST', '/api/tokens', own)).body.effective_roles).toEqual(['approver']);
  });

  /** Mostly what a clerk may give. */
  const givenRoles = fc.uniqueArray(
    fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom('requester', 'approver', 'narrow', 'clerk') },
      { weight: 1, arbitrary: fc.constantFrom(...roleNames) },
    ),
    { maxLength: 2 },
  );
  const ids = ['u-1', 'u-2', 'u-3'];
  const groups = fc.uniqueArray(fc.constantFrom('readers', 'readers', 'chiefs', 'half', 'none'), { maxLength: 1 });
  const step = fc.oneof(
    fc
      .record({ id: fc.constantFrom(...ids), roles: givenRoles, groups })
      .map((body) => ({ method: 'POST', path: '/api/users', body })),
    fc
      .tuple(
        fc.constantFrom(...ids),
        fc.record({ add_roles: givenRoles, rm_roles: givenRoles, add_groups: groups, rm_groups: groups }, { requiredKeys: [] }),
      )
      .map(([id, body]) => ({ method: 'PATCH', path: `/api/users/${id}`, body })),
    fc.constantFrom(...ids).map((id) => ({ method: 'POST', path: `/api/users/${id}/reissue-initial-token`, body: {} })),
    fc.tuple(fc.constantFrom('clerk-1', ...ids), fc.constantFrom('user', 'agent'), ceiling).map(([id, type, scope]) => ({
      method: 'POST',
      path: '/api/tokens',
      body: { subject_id: id, subject_type: type, scope_ceiling: scope },
    })),
  );

  it('IM-I3: nobody without * makes a user, a token or a membership that can do what they cannot', async () => {
    const clerk = await api.createUser('clerk-1', { roles: ['clerk', 'requester'] });
    const allowed = await powerOf(clerk);
    expect(allowed.permissions).toContain('user.write');
    const tokens: string[] = [clerk];
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), fc.nat(), async (steps, which) => {
        for (const { method, path, body } of steps) {
          const answer = await call(which % 2 === 0 ? clerk : tokens[which % tokens.length]!, method, path, body);
          expect(answer.status, answer.text).toBeLessThan(500);
          if (answer.status < 300) taken += 1;
          if (typeof answer.body?.token === 'string' && tokens.length < 40) tokens.push(answer.body.token);
        }
      }),
      { numRuns: 40 },
    );
    // Some 25 of 140 calls are allowed; few runs have 10.
    expect(taken).toBeGreaterThan(2);
    for (const token of tokens) {
      const { permissions } = await powerOf(token);
      expect([...permissions].filter((permission) => !allowed.permissions.has(permission))).toEqual([]);
    }
    const stored = await api.services.database.query<{ roles: string[]; groups: string[] }>(
      `select u.roles, array(select group_name from group_members g where g.user_id = u.id) as groups from users u where u.id = any($1)`,
      [[...ids, 'clerk-1']],
    );
    for (const user of stored) {
      expect(user.roles.filter((role) => !['clerk', 'requester', 'approver', 'narrow'].includes(role))).toEqual([]);
      expect(user.groups.filter((group) => group !== 'readers')).toEqual([]);
    }
  }, 60_000);
});

describe('IM-I9: a stranger learns nothing from a refusal', () => {
  it('IM-I9: answers to unknown, revoked and malformed tokens are equal in every byte and header, but for id, rate and time', async () => {
    const revoked = await api.createUser('revoked-one', { roles: ['requester'] });
    const { id } = (await call(revoked, 'GET', '/api/me')).body.token;
    await call(api.tokens.admin, 'DELETE', `/api/tokens/${id}`);
    const deleted = await api.createUser('deleted-one', { roles: ['requester'] });
    await call(api.tokens.admin, 'DELETE', '/api/users/deleted-one');
    const strangers = [
      revoked,
      deleted,
      `svc_${'0'.repeat(32)}`,
      `svc_${'X'.repeat(32)}`,
      'svc_12345678',
      `${revoked}0`,
      'no-token-at-all',
    ];
    const varies = new Set(['x-request-id', 'date', 'ratelimit-remaining', 'ratelimit-reset', 'ratelimit-limit']);
    for (const [method, path] of [
      ['GET', '/api/me'],
      ['POST', '/api/requests'],
      ['GET', '/api/agent/poll'],
      ['GET', '/nothing'],
    ] as const) {
      const answers = await Promise.all(strangers.map((token) => call(token, method, path)));
      const seen = answers.map(({ status, text, headers }) =>
        JSON.stringify([status, text, [...headers].filter(([name]) => !varies.has(name))]),
      );
      expect(new Set(seen).size).toBe(1);
      expect(seen[0]).toContain('[401,');
    }
  });
});
