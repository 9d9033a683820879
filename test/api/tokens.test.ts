import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { roleToml } from '../support/toml.js';

const toml = shopToml + roleToml('token-clerk', ['token.list', 'token.create_agent', 'token.create']);

let api: TestApi;
let mira: string;
let clerk: string;
beforeAll(async () => {
  api = await startTestApi({ toml });
  mira = await api.createUser('mira', { roles: ['requester', 'approver'] });
  clerk = await api.createUser('clerk', { roles: ['token-clerk'] });
});
afterAll(() => api?.close());

const create = (token: string, body: object) => api.call('POST', '/api/tokens', { token, body });
const own = { subject_id: 'mira', subject_type: 'user' };

describe('creating tokens (IM-22, IM-23, IM-70)', () => {
  it('gives the roles of the caller and shows the token once (IM-11, IM-14, IM-71)', async () => {
    const { status, body } = await create(mira, { ...own, name: 'ci', expires_at: '2099-06-01T02:00:00+02:00' });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      token: expect.stringMatching(/^svc_[0-9a-f]{32}$/),
      prefix: body.token.slice(4, 12),
      subject_id: 'mira',
      subject_type: 'user',
      name: 'ci',
      scope_ceiling: { roles: ['requester', 'approver'] },
      effective_roles: ['requester', 'approver'],
      effective_permissions: expect.arrayContaining(['request.query', 'result.view', 'token.create']),
      expires_at: '2099-06-01T00:00:00.000Z',
    });
    const list = await api.call('GET', '/api/tokens', { token: clerk });
    expect(list.text).not.toContain(body.token);
    expect(list.body.tokens[0]).toEqual({
      id: body.id,
      subject_type: 'user',
      subject_id: 'mira',
      token_prefix: body.prefix,
      scope_ceiling: { roles: ['requester', 'approver'] },
      name: 'ci',
      status: 'active',
      provisioning_kind: null,
      expires_at: '2099-06-01T00:00:00.000Z',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      revoked_at: null,
    });
    await api.call('DELETE', `/api/tokens/${body.id}`, { token: mira });
  });

  it('takes an end that its offset puts into the year 10000 as the end of 9999 (HT-74, IM-70)', async () => {
    const { status, body } = await create(mira, { ...own, expires_at: '9999-12-31T23:59:59-05:00' });
    expect([status, body.expires_at]).toEqual([201, '9999-12-31T23:59:59.999Z']);
    await api.call('DELETE', `/api/tokens/${body.id}`, { token: mira });
  });

  it('never widens: a narrow token makes only narrower ones (IM-21, IM-I2)', async () => {
    const narrow = (await create(mira, { ...own, scope_ceiling: { roles: ['approver'] } })).body;
    const child = (await create(narrow.token, own)).body;
    expect(child.scope_ceiling).toEqual({ roles: ['approver'] });
    const wider = await create(narrow.token, { ...own, scope_ceiling: { roles: ['requester'] } });
    expect([wider.status, wider.body.code]).toEqual([403, 'auth.insufficient_scope']);
    for (const { id } of [narrow, child]) await api.call('DELETE', `/api/tokens/${id}`, { token: mira });
  });

  it('takes what may be absent as not given when it is null (HT-48)', async () => {
    const { status, body } = await create(mira, { ...own, name: null, scope_ceiling: null, expires_at: null });
    expect([status, body]).toMatchObject([
      201,
      { name: null, scope_ceiling: { roles: ['requester', 'approver'] }, expires_at: null },
    ]);
    await api.call('DELETE', `/api/tokens/${body.id}`, { token: mira });
  });

  const past = '2020-01-01T00:00:00Z';
  it.each([
    ['no subject', { subject_type: 'user' }, 400, 'validation.failed', 'body.subject_id'],
    ['another subject type', { ...own, subject_type: 'team' }, 400, 'validation.failed', 'body.subject_type'],
    ['an unknown key', { ...own, scope_cieling: null }, 400, 'validation.failed', 'body.scope_cieling'],
    [
      'an unknown key in the ceiling',
      { ...own, scope_ceiling: { roles: ['requester'], x: 1 } },
      400,
      'validation.failed',
      'body.scope_ceiling.x',
    ],
    ['an empty ceiling', { ...own, scope_ceiling: { roles: [] } }, 400, 'validation.failed', 'body.scope_ceiling.roles'],
    [
      'an unknown role',
      { ...own, scope_ceiling: { roles: ['nothing'] } },
      400,
      'validation.failed',
      'body.scope_ceiling.roles[0]',
    ],
    [
      'a role the caller lacks',
      { ...own, scope_ceiling: { roles: ['admin'] } },
      403,
      'auth.insufficient_scope',
      'a token can have only roles that you have',
    ],
    ['a time without offset', { ...own, expires_at: '2099-01-01T00:00:00' }, 400, 'validation.failed', 'body.expires_at'],
    ['a time in the past', { ...own, expires_at: past }, 400, 'validation.failed', 'body.expires_at'],
    ['a name as a number', { ...own, name: 5 }, 400, 'validation.failed', 'body.name'],
    [
      'another user',
      { subject_id: 'admin', subject_type: 'user' },
      403,
      'auth.forbidden',
      'you can make tokens for yourself only',
    ],
    [
      'an agent',
      { subject_id: 'a1', subject_type: 'agent' },
      403,
      'auth.forbidden',
      'you lack token.create_agent, in a role for all databases and environments',
    ],
  ])('refuses %s', async (_what, body, status, code, hint) => {
    const answer = await create(mira, body);
    expect([answer.status, answer.body.code, answer.body.hint]).toEqual([status, code, hint]);
  });

  it('makes agent tokens for holders of token.create_agent, with the one ceiling there is', async () => {
    const agent = { subject_id: 'eu-1', subject_type: 'agent' };
    const made = await create(clerk, agent);
    expect(made.body).toMatchObject({
      scope_ceiling: null,
      effective_roles: ['agent-default'],
      effective_permissions: ['agent.operate'],
    });
    expect((await create(clerk, { ...agent, scope_ceiling: { roles: ['agent-default'] } })).status).toBe(201);
    expect((await create(clerk, { ...agent, scope_ceiling: { roles: ['requester'] } })).body.hint).toBe('body.scope_ceiling');
    const key = await api.call('GET', '/api/public-key', { token: made.body.token });
    expect(key.status).toBe(200);
  });

  it.each(['system', 'anonymous'])(
    'makes none for %s: the audit log would call an agent as it calls others (IM-60)',
    async (id) => {
      const answer = await create(clerk, { subject_id: id, subject_type: 'agent' });
      expect([answer.status, answer.body.code, answer.body.hint]).toEqual([400, 'validation.failed', 'body.subject_id']);
    },
  );

  it('never exceeds the limit, however many ask at once (IM-16, IM-I5)', async () => {
    const token = await api.createUser('many', { roles: ['requester'] });
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => create(token, { subject_id: 'many', subject_type: 'user' })),
    );
    const statuses = answers.map((answer) => answer.status).sort();
    expect(statuses).toEqual([201, 201, 201, 201, 201, ...Array(7).fill(400)]);
    const freed = answers.find((answer) => answer.status === 201)?.body.id;
    await api.call('DELETE', `/api/tokens/${freed}`, { token });
    expect((await create(token, { subject_id: 'many', subject_type: 'user' })).status).toBe(201);
  });
});

describe('looking at and revoking tokens', () => {
  it('revokes at once, and again with the first instant and no second event (IM-72)', async () => {
    const { id, token } = (await create(mira, own)).body;
    const first = await api.call('DELETE', `/api/tokens/${id}`, { token: mira });
    const second = await api.call('DELETE', `/api/tokens/${id}`, { token: mira });
    expect(first.body).toEqual({ id, revoked_at: expect.any(String) });
    expect(second.text).toBe(first.text);
    expect((await api.call('GET', '/api/me', { token })).status).toBe(401);
    const events = await api.services.database.query<{ metadata: string }>(
      `select metadata_json as metadata from audit_events where event_type = 'token.revoked' and resource_id = $1`,
      [id],
    );
    expect(events).toHaveLength(1);
    expect(JSON.parse(events[0]?.metadata ?? '')).toMatchObject({ issued_for: 'mira', cause: 'revoked' });
  });

  it('shows what a token may do, and nothing of it once it is not active (IM-74)', async () => {
    const { id } = (await create(mira, { ...own, scope_ceiling: { roles: ['approver'] } })).body;
    const inspect = () => api.call('GET', `/api/tokens/${id}/inspect`, { token: mira });
    expect((await inspect()).body).toMatchObject({
      resolved_roles: ['requester', 'approver'],
      effective_roles: ['approver'],
      status: 'active',
    });
    await api.call('DELETE', `/api/tokens/${id}`, { token: clerk });
    expect((await inspect()).body).toMatchObject({ effective_roles: [], effective_permissions: [], status: 'revoked' });
  });

  it('lists to a user their own tokens, and to holders of token.list those of everybody', async () => {
    const { body } = await create(mira, { subject_id: 'mira', subject_type: 'user', name: 'mine' });
    const listed = async (token: string) =>
      (await api.call('GET', '/api/tokens', { token })).body.tokens as { id: string; subject_id: string }[];
    const own = await listed(mira);
    expect([own.map(({ subject_id }) => subject_id).every((id) => id === 'mira'), own[0]!.id]).toEqual([true, body.id]);
    expect(own).toEqual((await listed(clerk)).filter(({ subject_id }) => subject_id === 'mira'));
    expect((await api.call('GET', '/api/tokens', { token: api.tokens.agent })).status).toBe(403);
    expect((await api.call('DELETE', `/api/tokens/${body.id}`, { token: mira })).status).toBe(200);
  });

  it('tells foreign from unknown ids only to holders of token.list (IM-73)', async () => {
    const foreign = (await api.call('GET', '/api/me', { token: clerk })).body.token.id;
    const unknown = '00000000-0000-4000-8000-000000000000';
    for (const [method, suffix] of [
      ['DELETE', ''],
      ['GET', '/inspect'],
    ] as const) {
      const answers = await Promise.all(
        [foreign, unknown, 'no-uuid'].map((id) => api.call(method, `/api/tokens/${id}${suffix}`, { token: mira })),
      );
      expect(new Set(answers.map((answer) => `${answer.status} ${answer.text}`)).size).toBe(1);
      expect(answers[0]?.status).toBe(403);
      const known = await Promise.all(
        [unknown, 'no-uuid'].map((id) => api.call(method, `/api/tokens/${id}${suffix}`, { token: clerk })),
      );
      expect(known.map((answer) => [answer.status, answer.body.code])).toEqual([
        [404, 'token.not_found'],
        [404, 'token.not_found'],
      ]);
    }
  });
});
