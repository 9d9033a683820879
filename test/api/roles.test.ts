import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BUILTIN_ROLES } from '../../domain/builtin-roles.js';
import { startTestApi, type TestApi } from '../support/api.js';
import { databaseToml, groupToml, passesToml, roleToml } from '../support/toml.js';

const toml = [
  databaseToml('ledger', ['staging']),
  groupToml('auditors', ['approver']),
  groupToml('empty', []),
  roleToml('zoo-keeper', ['request.view:any', 'request.query']),
  roleToml('ledger-dba', ['request.dml'], { databases: ['ledger'] }),
  roleToml('ledger-reader', ['workflow.read'], { databases: ['ledger'] }),
  passesToml(),
].join('');

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ toml });
});
afterAll(() => api?.close());

const get = (path: string, token = api.tokens.admin) => api.call('GET', path, { token });

describe('roles (IM-54)', () => {
  it('IM-54: are the built-in ones, then those of the file by name, each with permissions, ownership and scope', async () => {
    const { status, body } = await get('/api/roles');
    expect(status).toBe(200);
    const names = body.roles.map(({ name }: { name: string }) => name);
    const builtin = BUILTIN_ROLES.map(({ name }) => name);
    expect(names.slice(0, builtin.length).toSorted()).toEqual(builtin.toSorted());
    expect(names.slice(builtin.length)).toEqual(['ledger-dba', 'ledger-reader', 'zoo-keeper']);
    expect(body.roles.find(({ name }: { name: string }) => name === 'admin')).toEqual({
      name: 'admin',
      builtin: true,
      permissions: [{ perm: '*', ownership: 'any' }],
      databases: ['*'],
      environments: ['*'],
    });
    expect(body.roles[builtin.length]).toEqual({
      name: 'ledger-dba',
      builtin: false,
      permissions: [{ perm: 'request.dml', ownership: 'own' }],
      databases: ['ledger'],
      environments: ['*'],
    });
    for (const role of body.roles) expect((await get(`/api/roles/${role.name}`)).body).toEqual(role);
  });

  it('IM-54: are 404 by an unknown name, and hidden from whoever may read policies of one database only', async () => {
    expect((await get('/api/roles/Admin')).body).toEqual({ error: 'role not found', code: 'role.not_found', hint: null });
    const narrow = await api.createUser('narrow', { roles: ['ledger-reader'] });
    for (const path of ['/api/roles', '/api/roles/admin', '/api/roles/none'])
      expect([(await get(path, narrow)).status, path]).toEqual([403, path]);
    expect((await get('/api/roles', api.tokens.requester)).status).toBe(200);
  });
});

describe('GET /api/me (IM-61)', () => {
  it('IM-61: shows the profile, the roles that the token may use, the groups that are stored, and the token without its text', async () => {
    await api.createUser('mira', { roles: ['requester', 'zoo-keeper'], groups: ['auditors', 'empty'] });
    const token = (await api.call('POST', '/api/users/mira/reissue-initial-token', { token: api.tokens.admin })).body.token;
    const body = { subject_id: 'mira', subject_type: 'user', name: 'ci', scope_ceiling: { roles: ['zoo-keeper'] } };
    const narrow = (await api.call('POST', '/api/tokens', { token, body })).body;
    const { status, text, body: me } = await get('/api/me', narrow.token);
    expect([status, me]).toEqual([
      200,
      {
        subject_id: 'mira',
        subject_type: 'user',
        display_name: null,
        email: null,
        source: 'api',
        slack_user_id: null,
        roles: [
          { name: 'zoo-keeper', permissions: ['request.query', 'request.view:any'], databases: ['*'], environments: ['*'] },
        ],
        groups: ['auditors', 'empty'],
        token: { id: narrow.id, name: 'ci', scope_ceiling: { roles: ['zoo-keeper'] }, expires_at: null },
      },
    ]);
    expect(text).not.toContain(narrow.token);
    const whole = (await get('/api/me', token)).body.roles.map(({ name }: { name: string }) => name);
    expect(whole.toSorted()).toEqual(['approver', 'requester', 'zoo-keeper']);
  });

  it('IM-61, IM-45: is for every user, whatever roles they have, and for no agent', async () => {
    const keeper = await api.createUser('keeper', { roles: ['ledger-dba'] });
    expect((await get('/api/me', keeper)).status).toBe(200);
    expect((await get('/api/me', api.tokens.agent)).status).toBe(403);
  });
});
