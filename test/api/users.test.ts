import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { roleToml } from '../support/toml.js';

const toml = shopToml + roleToml('clerk', ['user.write', 'token.reissue', 'request.query']);

let api: TestApi;
let admin: string;
let clerk: string;
beforeAll(async () => {
  api = await startTestApi({ toml });
  admin = api.tokens.admin;
  clerk = await api.createUser('clerk', { roles: ['clerk'] });
});
afterAll(() => api?.close());

const create = (body: object, token = admin) => api.call('POST', '/api/users', { token, body });
const events = (userId: string) =>
  api.services.database.query<{ type: string; metadata: string }>(
    `select event_type as type, metadata_json as metadata from audit_events
     where resource_id = $1 or resource_id in (select id::text from tokens where subject_id = $1) order by position`,
    [userId],
  );

describe('creating users (IM-62)', () => {
  it('makes the user, the memberships and the initial token with their events', async () => {
    const { status, body } = await create({ id: 'mira', roles: ['requester', 'requester'], groups: ['dba-team'] });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: 'mira',
      token: expect.stringMatching(/^svc_[0-9a-f]{32}$/),
      token_prefix: body.token.slice(4, 12),
      roles: ['requester', 'approver'],
      groups: ['dba-team'],
    });
    expect((await events('mira')).map((event) => event.type)).toEqual(['user.created', 'group.member_added', 'token.created']);
    const shown = await api.call('GET', '/api/users/mira', { token: body.token });
    expect(shown.body).toMatchObject({ id: 'mira', roles: ['requester'], groups: ['dba-team'], status: 'active', source: 'api' });
    const list = await api.call('GET', '/api/users', { token: admin });
    const ids = list.body.users.map((user: { id: string }) => user.id);
    expect([ids[0], ids.slice(-2)]).toEqual(['mira', ['clerk', 'admin']]);
  });

  it.each([
    ['no id', {}, 'body.id'],
    ['an empty id', { id: '' }, 'body.id'],
    ['129 characters', { id: 'a'.repeat(129) }, 'body.id'],
    ['other characters', { id: 'a b' }, 'body.id'],
    ['what the audit log calls the gateway', { id: 'system' }, 'body.id'],
    ['what it calls strangers', { id: 'anonymous' }, 'body.id'],
    ['an unknown role', { id: 'x', roles: ['requester', 'none'] }, 'body.roles[1]'],
    ['the role of agents', { id: 'x', roles: ['agent-default'] }, 'body.roles[0]'],
    ['an unknown group', { id: 'x', groups: ['none'] }, 'body.groups[0]'],
    ['an unknown group after another twice', { id: 'x', groups: ['dba-team', 'dba-team', 'an'] }, 'body.groups[2]'],
    ['an unknown role after another twice', { id: 'x', roles: ['dba', 'dba', 'none'] }, 'body.roles[2]'],
    ['roles that are no array', { id: 'x', roles: 'requester' }, 'body.roles'],
  ])('refuses %s', async (_what, body, hint) => {
    const answer = await create(body);
    expect([answer.status, answer.body.code, answer.body.hint]).toEqual([400, 'validation.failed', hint]);
  });

  it('takes roles and groups that are null as not given (HT-48)', async () => {
    const { status, body } = await create({ id: 'bare', roles: null, groups: null });
    expect([status, body]).toMatchObject([201, { id: 'bare', roles: [], groups: [] }]);
  });

  it('gives an id once, also when it belonged to a deleted user', async () => {
    await create({ id: 'gone' });
    await api.services.database.query(`update users set status = 'deleted' where id = 'gone'`);
    const answer = await create({ id: 'gone' });
    expect([answer.status, answer.body.code]).toEqual([409, 'user.conflict']);
    const shown = await api.call('GET', '/api/users/gone', { token: admin });
    expect([shown.status, shown.body.code]).toEqual([410, 'user.gone']);
  });

  it('makes one user of many creations at once, and the losers change nothing', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => create({ id: 'racer', roles: ['requester'] })));
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, ...Array(7).fill(409)]);
    expect((await events('racer')).map((event) => event.type)).toEqual(['user.created', 'token.created']);
  });

  it('lets nobody grant what they lack (IM-53)', async () => {
    expect((await create({ id: 'boss', roles: ['admin'] }, clerk)).body.code).toBe('auth.insufficient_scope');
    expect((await create({ id: 'boss', groups: ['dba-team'] }, clerk)).body.code).toBe('auth.insufficient_scope');
    expect((await create({ id: 'helper', roles: [] }, clerk)).status).toBe(201);
  });
});

describe('the user limit of the plan (IM-69, OP-40)', () => {
  it('is never exceeded, however many are made at once (OP-I8)', async () => {
    const crowded = await startTestApi();
    const make = (id: string) => crowded.call('POST', '/api/users', { token: crowded.tokens.admin, body: { id } });
    for (let index = 2; index <= 18; index += 1) await make(`user-${index}`);
    const answers = await Promise.all(Array.from({ length: 6 }, (_, index) => make(`late-${index}`)));
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 201, 402, 402, 402, 402]);
    expect(answers.find((answer) => answer.status === 402)?.body).toMatchObject({
      code: 'plan.limit_exceeded',
      error: 'user limit reached: 20',
    });
    expect((await make('user-2')).status).toBe(409);
    await crowded.close();
  });
});

describe('seeing users', () => {
  it('shows everybody themselves, and others only with user.read, known or not (IM-45)', async () => {
    const token = (await create({ id: 'plain', roles: ['requester'] })).body.token;
    expect((await api.call('GET', '/api/users/plain', { token })).status).toBe(200);
    const answers = await Promise.all(
      ['admin', 'nobody', 'a b'].map((id) => api.call('GET', `/api/users/${encodeURIComponent(id)}`, { token })),
    );
    expect(new Set(answers.map((answer) => `${answer.status} ${answer.text}`)).size).toBe(1);
    expect((await api.call('GET', '/api/users/nobody', { token: admin })).body.code).toBe('user.not_found');
  });
});

describe('reissuing the initial token (IM-68)', () => {
  const reissue = (id: string, token = admin) => api.call('POST', `/api/users/${id}/reissue-initial-token`, { token });

  it('revokes the old one and returns a new one with all roles the user has now', async () => {
    const first = (await create({ id: 'otto' })).body;
    expect((await api.call('GET', '/api/me', { token: first.token })).body.code).toBe('auth.no_roles_resolved');
    await api.services.database.query(`update users set roles = '{requester}' where id = 'otto'`);
    const { status, body } = await reissue('otto');
    expect(status).toBe(200);
    expect(body).toMatchObject({ delivery_status: 'not_configured', delivery_channel: null, manual_recovery_required: true });
    expect(body.revoked_old_token_id).toMatch(/^[0-9a-f-]{36}$/);
    expect((await api.call('GET', '/api/me', { token: first.token })).status).toBe(401);
    expect((await api.call('GET', '/api/me', { token: body.token })).body.token.scope_ceiling).toEqual({ roles: ['requester'] });
    const types = (await events('otto')).map((event) => event.type);
    expect(types).toEqual(['user.created', 'token.created', 'token.revoked', 'token.reissued_initial', 'token.delivery']);
  });

  it('leaves one initial token however many ask at once (IM-15)', async () => {
    await create({ id: 'popular', roles: ['requester'] });
    const answers = await Promise.all(Array.from({ length: 6 }, () => reissue('popular')));
    expect(answers.map((answer) => answer.status)).toEqual(Array(6).fill(200));
    const alive = await Promise.all(answers.map((answer) => api.call('GET', '/api/me', { token: answer.body.token })));
    expect(alive.filter((answer) => answer.status === 200)).toHaveLength(1);
  });

  it('refuses unknown, suspended and roleless users, and granting more than one holds', async () => {
    await create({ id: 'sleeping', roles: ['requester'] });
    await api.services.database.query(`update users set status = 'suspended' where id = 'sleeping'`);
    await create({ id: 'roleless' });
    await create({ id: 'departed' });
    await api.services.database.query(`update users set status = 'deleted' where id = 'departed'`);
    const codes = await Promise.all(['unknown', 'sleeping', 'roleless', 'departed'].map((id) => reissue(id)));
    expect(codes.map((answer) => [answer.status, answer.body.code])).toEqual([
      [404, 'user.not_found'],
      [409, 'user.conflict'],
      [400, 'validation.failed'],
      [410, 'user.gone'],
    ]);
    expect((await reissue('admin', clerk)).body.code).toBe('auth.insufficient_scope');
  });
});
