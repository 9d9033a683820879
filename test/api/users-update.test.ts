import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { goodClaims, makeKey, oidcToml, startFakeProvider } from '../support/oidc.js';
import { groupToml, roleToml } from '../support/toml.js';

const toml = [
  shopToml,
  groupToml('auditors', ['approver']),
  groupToml('chiefs', ['admin']),
  roleToml('clerk', ['user.write', 'token.reissue', 'request.query']),
].join('');

let api: TestApi;
let admin: string;
let clerk: string;
beforeAll(async () => {
  api = await startTestApi({ toml });
  admin = api.tokens.admin;
  clerk = await api.createUser('clerk', { roles: ['clerk'] });
});
afterAll(() => api?.close());

const patch = (id: string, body: unknown, token = admin) => api.call('PATCH', `/api/users/${id}`, { token, body });
const shown = async (id: string) => (await api.call('GET', `/api/users/${id}`, { token: admin })).body;
const events = (id: string) =>
  api.services.database.query<{ type: string; metadata: string }>(
    `select event_type as type, metadata_json as metadata from audit_events where resource_type = 'user' and resource_id = $1 order by position`,
    [id],
  );
const withoutToken = (metadata: string) => {
  const { auth_token_id: _, ...rest } = JSON.parse(metadata);
  return rest;
};

describe('changing a user (IM-63)', () => {
  it('changes all parts together, with one event for the user and one for each membership', async () => {
    await api.createUser('mira', { roles: ['requester'], groups: ['dba-team'] });
    const answer = await patch('mira', {
      add_roles: ['approver'],
      rm_roles: ['requester', 'not-held'],
      add_groups: ['auditors'],
      rm_groups: ['dba-team'],
      slack_user_id: 'U01ABC',
    });
    const after = { roles: ['approver'], groups: ['auditors'], slack_user_id: 'U01ABC', status: 'active' };
    expect([answer.status, answer.body]).toEqual([200, { id: 'mira', updated: true, ...after }]);
    expect(await shown('mira')).toMatchObject(after);
    expect((await events('mira')).slice(2).map(({ type, metadata }) => [type, withoutToken(metadata)])).toEqual([
      [
        'user.updated',
        {
          changes: {
            roles: [['requester'], ['approver']],
            groups: [['dba-team'], ['auditors']],
            slack_user_id: [null, 'U01ABC'],
          },
        },
      ],
      ['group.member_added', { group: 'auditors' }],
      ['group.member_removed', { group: 'dba-team' }],
    ]);
  });

  it('says when nothing changed, and then writes nothing', async () => {
    await api.createUser('same', { roles: ['requester', 'approver'] });
    const before = await shown('same');
    for (const body of [{ roles: ['approver', 'requester', 'approver'] }, { add_roles: ['requester'] }, { slack_user_id: null }])
      expect((await patch('same', body)).body).toMatchObject({ updated: false, roles: ['requester', 'approver'] });
    expect(await shown('same')).toEqual(before);
    expect(await events('same')).toHaveLength(1);
  });

  it('takes a list that is null as not given (HT-48)', async () => {
    await api.createUser('nulls', { roles: ['requester'], groups: ['dba-team'] });
    const changed = await patch('nulls', {
      roles: null,
      add_roles: ['approver'],
      rm_roles: null,
      add_groups: null,
      rm_groups: null,
    });
    expect([changed.status, changed.body]).toMatchObject([200, { roles: ['requester', 'approver'], groups: ['dba-team'] }]);
    const replaced = await patch('nulls', { roles: ['dba'], add_roles: null, rm_roles: null });
    expect(replaced.body).toMatchObject({ roles: ['dba'], groups: ['dba-team'] });
    expect((await patch('nulls', { roles: null, slack_user_id: null })).body).toMatchObject({ updated: false, roles: ['dba'] });
  });

  it('replaces the roles, and tokens follow at once: they lose what is gone and gain nothing (IM-20)', async () => {
    const token = await api.createUser('narrow', { roles: ['requester', 'approver'] });
    const roles = async () => (await api.call('GET', '/api/me', { token })).body.roles?.map(({ name }: { name: string }) => name);
    expect((await patch('narrow', { roles: ['approver', 'dba'] })).body.roles).toEqual(['approver', 'dba']);
    expect(await roles()).toEqual(['approver']);
    await patch('narrow', { rm_roles: ['approver'] });
    expect((await api.call('GET', '/api/me', { token })).body.code).toBe('auth.insufficient_scope');
  });

  it.each([
    ['no body', undefined, 'body'],
    ['an empty change', {}, 'body'],
    ['only unknown keys', { role: ['dba'] }, 'body'],
    ['roles with add_roles', { roles: [], add_roles: ['dba'] }, 'body.add_roles'],
    ['roles with rm_roles', { roles: [], rm_roles: ['dba'] }, 'body.rm_roles'],
    ['a role added and removed', { add_roles: ['dba', 'approver'], rm_roles: ['approver'] }, 'body.add_roles[1]'],
    ['a group added and removed', { add_groups: ['auditors'], rm_groups: ['auditors'] }, 'body.add_groups[0]'],
    ['an unknown role', { add_roles: ['dba', 'none'] }, 'body.add_roles[1]'],
    ['the role of agents', { roles: ['agent-default'] }, 'body.roles[0]'],
    ['an unknown group', { add_groups: ['dba-team', 'none'] }, 'body.add_groups[1]'],
    ['a list that is none', { add_roles: 'dba' }, 'body.add_roles'],
    ['lists that are all null, so not given', { roles: null, add_groups: null, rm_groups: null }, 'body'],
    ['a null in a list', { roles: [null] }, 'body.roles[0]'],
    ['another Slack id', { slack_user_id: 'C123' }, 'body.slack_user_id'],
    ['a Slack id with a line break', { slack_user_id: 'U123\n' }, 'body.slack_user_id'],
    ['a Slack id without end', { slack_user_id: `U${'A'.repeat(5000)}` }, 'body.slack_user_id'],
  ])('refuses %s with the place, before it looks for the user (IM-59)', async (_what, body, hint) => {
    for (const id of ['clerk', 'nobody']) {
      const answer = await patch(id, body);
      expect([answer.status, answer.body.code, answer.body.hint]).toEqual([400, 'validation.failed', hint]);
    }
  });

  it('asks only names that are new to be known', async () => {
    await api.createUser('old', { roles: ['requester'] });
    await api.services.database.query(`update users set roles = '{requester,left-the-file}' where id = 'old'`);
    expect((await patch('old', { roles: ['left-the-file', 'approver'] })).body.roles).toEqual(['left-the-file', 'approver']);
    expect((await patch('old', { rm_roles: ['left-the-file'] })).body.roles).toEqual(['approver']);
  });

  it('refuses unknown and deleted users, and shows nobody else which is which', async () => {
    const token = await api.createUser('leaver', { roles: ['requester'] });
    expect((await patch('admin', { roles: [] }, token)).body.code).toBe('auth.forbidden');
    await api.call('DELETE', '/api/users/leaver', { token: admin });
    expect((await patch('leaver', { slack_user_id: '' })).body.code).toBe('user.gone');
    expect((await patch('nobody', { slack_user_id: '' })).body.code).toBe('user.not_found');
  });

  it('links a Slack user once, however many ask at once, and takes the link off (IM-I5)', async () => {
    const ids = ['s1', 's2', 's3', 's4'];
    for (const id of ids) await api.createUser(id);
    const answers = await Promise.all(ids.map((id) => patch(id, { slack_user_id: 'W777' })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    expect(answers.find(({ status }) => status === 409)?.body.code).toBe('user.conflict');
    const linked = ids[answers.findIndex(({ status }) => status === 200)]!;
    expect((await patch(linked, { slack_user_id: '' })).body.slack_user_id).toBeNull();
    expect((await patch('s1', { slack_user_id: 'W777' })).status).toBe(200);
    for (const id of ids) await api.call('DELETE', `/api/users/${id}`, { token: admin });
  });
});

describe('granting by a change (IM-53, IM-I3)', () => {
  it.each([
    ['a role', { add_roles: ['admin'] }],
    ['a role that replaces', { roles: ['dba'] }],
    ['a group', { add_groups: ['dba-team'] }],
  ])('refuses %s that the caller does not hold', async (_what, body) => {
    await api.createUser('target').catch(() => {});
    const answer = await patch('target', body, clerk);
    expect([answer.status, answer.body.code]).toEqual([403, 'auth.insufficient_scope']);
    expect((await shown('target')).updated_at).toBe((await shown('target')).created_at);
  });

  it('refuses to link a Slack user, who could then do all that the user may, beyond what the caller holds (IM-53, SL-13)', async () => {
    await api.createUser('chief', { groups: ['dba-team'] });
    const before = await shown('chief');
    const answer = await patch('chief', { slack_user_id: 'U0EVIL' }, clerk);
    expect([answer.status, answer.body.code]).toEqual([403, 'auth.insufficient_scope']);
    expect(await shown('chief')).toEqual(before);
    await api.createUser('peer', { roles: ['clerk'] });
    expect((await patch('peer', { slack_user_id: 'U0PEER' }, clerk)).body.slack_user_id).toBe('U0PEER');
    expect((await patch('chief', { slack_user_id: 'U0CHIEF' })).status).toBe(200);
    expect((await patch('chief', { slack_user_id: '' }, clerk)).status).toBe(200);
  });

  it('lets them take away and give what they hold', async () => {
    await api.createUser('mixed', { roles: ['dba'] });
    expect((await patch('mixed', { roles: ['clerk'] }, clerk)).body.roles).toEqual(['clerk']);
  });

  it('counts a default role that begins to apply', async () => {
    const other = await startTestApi({
      toml: toml.replace('[[auth.groups]]', '[auth]\ndefault_role = "dba"\n\n[[auth.groups]]'),
    });
    const token = await other.createUser('clerk', { roles: ['clerk'] });
    await other.createUser('plain', { roles: ['requester'] });
    const answer = await other.call('PATCH', '/api/users/plain', { token, body: { roles: [] } });
    expect([answer.status, answer.body.code]).toEqual([403, 'auth.insufficient_scope']);
    await other.close();
  });
});

describe('granting the default role of the identity provider (IM-53, IM-I3)', () => {
  it('does not let users get it by giving up their own last role, nor give it to others', async () => {
    const provider = await startFakeProvider();
    const key = await makeKey('ES256', 'k1');
    provider.keys(key.jwk);
    const other = await startTestApi({ toml: toml + oidcToml(provider.issuer) });
    const tokenOf = (sub: string) => key.sign(goodClaims(provider.issuer, { sub }));
    const rolesOf = async (token: string) =>
      (await other.call('GET', '/api/me', { token })).body.roles.map(({ name }: { name: string }) => name);
    const change = (id: string, token: string, body: unknown) => other.call('PATCH', `/api/users/${id}`, { token, body });
    const olga = await tokenOf('olga');
    expect(await rolesOf(olga)).toEqual(['approver']);
    await change('olga', other.tokens.admin, { roles: ['clerk'] });
    const peer = await other.createUser('peer', { roles: ['clerk'] });
    for (const token of [olga, peer]) {
      const answer = await change('olga', token, { roles: [] });
      expect([answer.status, answer.body.code]).toEqual([403, 'auth.insufficient_scope']);
    }
    expect(await rolesOf(olga)).toEqual(['clerk']);
    expect((await change('peer', olga, { roles: [] })).status).toBe(200);
    expect((await change('olga', other.tokens.admin, { roles: [] })).status).toBe(200);
    expect(await rolesOf(olga)).toEqual(['approver']);
    await other.close();
    await provider.close();
  });

  it('counts it for local users too where the provider may act as them', async () => {
    const other = await startTestApi({ toml: toml + oidcToml('http://127.0.0.1:9', 'link_existing_users = true\n') });
    const token = await other.createUser('clerk', { roles: ['clerk'] });
    await other.createUser('plain', { roles: ['requester'] });
    const answer = await other.call('PATCH', '/api/users/plain', { token, body: { roles: [] } });
    expect([answer.status, answer.body.code]).toEqual([403, 'auth.insufficient_scope']);
    await other.close();
  });
});

describe('groups (identity section 6)', () => {
  it('lists the configured ones by name, and shows roles and members in order of joining', async () => {
    const list = await api.call('GET', '/api/groups', { token: admin });
    expect(list.body).toEqual({ groups: ['auditors', 'chiefs', 'dba-team'] });
    await api.createUser('z-first');
    await api.createUser('a-second');
    for (const id of ['z-first', 'a-second']) await patch(id, { add_groups: ['auditors'] });
    const { body } = await api.call('GET', '/api/groups/auditors', { token: admin });
    expect([body.name, body.roles, body.members.slice(-2)]).toEqual(['auditors', ['approver'], ['z-first', 'a-second']]);
    expect((await api.call('GET', '/api/groups/none', { token: admin })).body.code).toBe('group.not_found');
  });
});
