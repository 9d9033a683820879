import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { login, runSvc } from './run-svc.js';

const now = Date.parse('2026-05-10T12:00:00.000Z');
let api: FakeApi;
beforeEach(async () => {
  api = await startFakeApi();
});
afterEach(() => api.close());

const svc = (...argv: string[]) => runSvc(argv, { environment: login(api.url), now: () => now });
const token = {
  id: 't1',
  token: 'svc_8f01c2d3a4b5c6d7e8f9a0b1c2d3e4f5',
  subject_id: 'alice',
  subject_type: 'user',
  effective_roles: ['requester'],
  expires_at: null,
};

describe('tokens', () => {
  it('lists them without the columns in which none has anything', async () => {
    const listed = { ...token, token_prefix: '8f01c2d3', status: 'active', name: null, agent_scopes: [], created_at: 'then' };
    const header = async (...tokens: object[]) => {
      api.on('GET /api/tokens', { body: { tokens } });
      return (await svc('token', 'list')).stdout.split('\n', 1)[0]!.trim().split(/ {2,}/);
    };
    const [first, last] = [['ID', 'PREFIX', 'STATUS', 'TYPE', 'SUBJECT'], ['CREATED']];
    expect(await header(listed)).toEqual([...first, ...last]);
    const full = { name: 'ci', scope_ceiling: { roles: ['requester'] }, agent_scopes: ['shop/*'], expires_at: 'soon' };
    expect(await header(listed, { ...listed, ...full })).toEqual([...first, 'NAME', 'ROLES', 'SCOPES', 'EXPIRES', ...last]);
  });

  it('lists them on a terminal of 100 columns without a line that wraps (CL-14)', async () => {
    const id = '4f0c9d0e-6a53-4c0b-9d4a-0f6b7c1f2a11';
    const created_at = '2026-05-10T11:00:00.000Z';
    const full = { name: 'laptop of a colleague', scope_ceiling: { roles: ['requester', 'approver'] }, agent_scopes: ['shop/*'] };
    const listed = { ...token, id, token_prefix: '8f01c2d3', status: 'active', created_at, ...full };
    api.on('GET /api/tokens', { body: { tokens: [{ ...listed, expires_at: '2026-06-10T11:00:00.000Z' }] } });
    const shown = await runSvc(['token', 'list'], { environment: login(api.url), now: () => now, terminal: true });
    const lines = shown.stdout.split('\n').map((line) => line.replace(/\u001b\[\d+m/g, ''));
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(100);
    expect(lines[0]!.split(/ +/)).toEqual(['ID', 'STATUS', 'SUBJECT', 'NAME', 'ROLES', 'SCOPES', 'EXPIRES']);
    expect(shown.stderr).toContain('no room for PREFIX, TYPE, CREATED; what ends in ... is cut to fit; --json has all of it');
  });

  it('makes a token for oneself and prints it alone on stdout (CL-02)', async () => {
    api.on('GET /api/me', { body: { subject_id: 'alice' } }).on('POST /api/tokens', { status: 201, body: token });
    const result = await svc('token', 'create', '--scope-roles', 'requester,dba', '--name', 'ci', '--expires', '7d');
    expect(result.stdout).toBe(`${token.token}\n`);
    expect(api.bodies('POST /api/tokens')).toEqual([
      {
        subject_id: 'alice',
        subject_type: 'user',
        name: 'ci',
        scope_ceiling: { roles: ['requester', 'dba'] },
        expires_at: '2026-05-17T12:00:00.000Z',
      },
    ]);
  });

  it('makes an agent token without ceiling, asking nobody who it is', async () => {
    api.on('POST /api/tokens', { status: 201, body: token });
    await svc('token', 'create', '--subject', 'agent-2', '--subject-type', 'agent', '--no-scope-ceiling');
    expect(api.bodies('POST /api/tokens')).toEqual([{ subject_id: 'agent-2', subject_type: 'agent', scope_ceiling: null }]);
  });

  it('makes an agent token with its scopes, and warns of one without (HD-10)', async () => {
    api.on('POST /api/tokens', { status: 201, body: { ...token, agent_scopes: ['shop/production', 'crm/*'] } });
    const scoped = await svc('token', 'create', '--agent', 'eu', '--scope', 'shop/production', '--scope', 'crm/*');
    expect(api.bodies('POST /api/tokens')).toEqual([
      { subject_id: 'eu', subject_type: 'agent', agent_scopes: ['shop/production', 'crm/*'] },
    ]);
    expect([scoped.stdout, scoped.stderr]).toEqual([
      `${token.token}\n`,
      expect.stringMatching(/scopes +shop\/production, crm\/\*/),
    ]);
    expect(scoped.stderr).not.toContain('warning');
    api.on('POST /api/tokens', { status: 201, body: { ...token, agent_scopes: null, warnings: ['unscoped'] } });
    const unscoped = await svc('token', 'create', '--agent', 'eu');
    expect([unscoped.code, unscoped.stderr]).toEqual([0, expect.stringContaining('may serve every database')]);
  });

  it('shows the scopes of agent tokens in the list and by inspect', async () => {
    const tokens = [
      { id: 'a', status: 'active', subject_type: 'agent', agent_scopes: ['shop/*'] },
      { id: 'b', status: 'active', subject_type: 'agent', agent_scopes: null },
      { id: 'c', status: 'active', subject_type: 'user' },
    ];
    api.on('GET /api/tokens', { body: { tokens } }).on('GET /api/tokens/a/inspect', { body: tokens[0] });
    const lines = (await svc('token', 'list')).stdout.split('\n').slice(2, 5);
    expect(lines).toEqual([
      expect.stringContaining('shop/*'),
      expect.stringContaining('every database'),
      expect.not.stringContaining('every'),
    ]);
    expect((await svc('token', 'inspect', 'a')).stdout).toMatch(/scopes +shop\/\*/);
  });

  it('lists what was asked for, in the bytes of the server', async () => {
    api.on('GET /api/tokens', {
      body: '{"tokens":[{"id":"a","status":"active","subject_id":"x","n":1.0},\n{"id":"b","status":"revoked","subject_id":"x","n":2.0}]}',
    });
    expect((await svc('token', 'list', '--status', 'active', '--json')).stdout).toBe(
      '{"ok":true,"data":{"tokens":[{"id":"a","status":"active","subject_id":"x","n":1.0}]}}\n',
    );
  });

  it('revokes after a confirmation and inspects', async () => {
    api.on('DELETE /api/tokens/a%2Fb', { body: { id: 'a/b', revoked_at: '2026-05-10T12:00:00.000Z' } });
    expect((await svc('token', 'revoke', 'a/b')).code).toBe(1);
    expect(api.calls).toHaveLength(0);
    expect((await svc('token', 'revoke', 'a/b', '--yes')).code).toBe(0);
    api.on('GET /api/tokens/t1/inspect', { body: { id: 't1', status: 'active', effective_permissions: ['request.query'] } });
    expect((await svc('token', 'inspect', 't1')).stdout).toContain('request.query');
  });
});

describe('users', () => {
  it('adds a user with roles and groups and prints the token once', async () => {
    api.on('POST /api/users', { status: 201, body: { id: 'mira', token: token.token, roles: ['requester'], groups: [] } });
    expect((await svc('user', 'add', 'mira', '--role', 'requester', '--group', 'a', '--group', 'b')).stdout).toBe(
      `${token.token}\n`,
    );
    expect(api.bodies('POST /api/users')).toEqual([{ id: 'mira', roles: ['requester'], groups: ['a', 'b'] }]);
  });

  it('says what to do when a new user has no role', async () => {
    const add = async (roles: string[]) => {
      api.on('POST /api/users', { status: 201, body: { id: 'mira', token: token.token, roles, groups: [] } });
      return (await svc('user', 'add', 'mira')).stderr;
    };
    expect(await add([])).toContain('svc user update mira --add-role requester\n  svc user reissue-initial-token mira\n');
    expect(await add(['requester'])).not.toContain('no role');
  });

  it('lists and shows users', async () => {
    const mira = {
      id: 'mira',
      status: 'active',
      roles: ['requester'],
      groups: [],
      source: 'api',
      created_at: '2031-02-03T04:05:06.000Z',
    };
    api.on('GET /api/users', { body: { users: [mira] } }).on('GET /api/users/mira', { body: mira });
    expect((await svc('user', 'list')).stdout).toMatch(/mira +active +requester/);
    expect((await svc('user', 'show', 'mira')).stdout).toContain('2031-02-03T04:05:06.000Z');
  });
});

describe('changing users', () => {
  const changed = { id: 'mira', updated: true, roles: ['dba'], groups: ['a', 'b'], slack_user_id: null, status: 'active' };

  it('sends exactly what was asked for', async () => {
    api.on('PATCH /api/users/mira', { body: changed });
    const result = await svc(
      'user',
      'update',
      'mira',
      '--add-role',
      'dba',
      '--rm-role',
      'x,y',
      '--add-group',
      'a',
      '--slack-user-id',
      '',
    );
    expect([result.code, result.stdout, result.stderr]).toEqual([
      0,
      'user    mira\nstatus  active\nroles   dba\ngroups  a, b\n',
      'updated\nTokens that exist gain no role. For a new one: svc user reissue-initial-token mira (it ends the first one)\n',
    ]);
    expect((await svc('user', 'update', 'mira', '--rm-role', 'x')).stderr).toBe('updated\n');
    api.calls.splice(1);
    await svc('user', 'update', 'mira', '--role', 'a', '--role', 'b', '--rm-group', 'g');
    expect(api.bodies('PATCH /api/users/mira')).toEqual([
      { add_roles: ['dba'], rm_roles: ['x', 'y'], add_groups: ['a'], slack_user_id: '' },
      { roles: ['a', 'b'], rm_groups: ['g'] },
    ]);
  });

  it('says when nothing changed', async () => {
    api.on('PATCH /api/users/mira', { body: { ...changed, updated: false } });
    expect((await svc('user', 'update', 'mira', '--add-role', 'dba')).stderr).toBe('nothing changed\n');
  });

  it('suspends and activates without asking, and tells what ended', async () => {
    const ids = Array.from({ length: 22 }, (_, index) => `request-${index}`);
    api
      .on('POST /api/users/mira/suspend', { body: { id: 'mira', revoked_tokens: 2, cancelled_requests: ids } })
      .on('POST /api/users/mira/activate', { body: { id: 'mira', status: 'active' } });
    const lines = (await svc('user', 'suspend', 'mira')).stdout.split('\n');
    expect(lines.slice(0, 4)).toEqual([
      'suspended           mira',
      'revoked tokens      2',
      'cancelled requests  22',
      '  request-0',
    ]);
    expect(lines.slice(-3)).toEqual(['  request-19', '  and 2 more (--json has all)', '']);
    expect((await svc('user', 'activate', 'mira')).stderr).toContain('svc user reissue-initial-token mira');
  });

  it('deletes only after a confirmation (CL-18)', async () => {
    api.on('DELETE /api/users/mira', { body: { id: 'mira', deleted: true, revoked_tokens: 0, cancelled_requests: [] } });
    const refused = await svc('user', 'rm', 'mira', '--json');
    expect([refused.code, JSON.parse(refused.stdout).error.code, api.calls.length]).toEqual([1, 'confirmation_required', 0]);
    expect((await svc('user', 'rm', 'mira', '--yes')).stdout).toContain('deleted             mira');
  });

  it('reissues the first token and prints it alone, or says that Slack has it', async () => {
    const answer = { reissued_token_id: 't2', reissued_at: '2031-02-03T04:05:06.000Z', revoked_old_token_id: 't1' };
    api.on('POST /api/users/mira/reissue-initial-token', {
      body: { ...answer, delivery_status: 'not_configured', delivery_channel: null, token: token.token },
    });
    const shown = await svc('user', 'reissue-initial-token', 'mira');
    expect([shown.stdout, shown.stderr]).toEqual([`${token.token}\n`, expect.stringContaining('replaces  t1')]);
    api.on('POST /api/users/mira/reissue-initial-token', {
      body: { ...answer, delivery_status: 'delivered', delivery_channel: 'slack_dm', token: null },
    });
    expect(await svc('user', 'reissue-initial-token', 'mira')).toMatchObject({
      stdout: '',
      stderr: expect.stringContaining('slack_dm'),
    });
  });
});

describe('groups and roles', () => {
  it('lists groups and shows one, its name encoded (CL-28)', async () => {
    api
      .on('GET /api/groups', { body: { groups: ['a/b', 'dba team'] } })
      .on('GET /api/groups/a%2Fb', { body: { name: 'a/b', roles: ['approver'], members: ['zoe', 'adam'] } });
    expect((await svc('group', 'list')).stdout).toBe('a/b\ndba team\n');
    expect((await svc('group', 'show', 'a/b')).stdout).toBe('group    a/b\nroles    approver\nmembers  zoe, adam\n');
  });

  it('lists roles with everything they permit', async () => {
    const roles = [
      { name: 'admin', builtin: true, permissions: [{ perm: '*', ownership: 'any' }], databases: ['*'], environments: ['*'] },
      {
        name: 'desk',
        builtin: false,
        databases: ['ledger'],
        environments: ['staging', 'production'],
        permissions: [
          { perm: 'request.view', ownership: 'any' },
          { perm: 'request.dml', ownership: 'own' },
        ],
      },
    ];
    api.on('GET /api/roles', { body: { roles } });
    expect((await svc('role', 'list')).stdout).toBe(
      'admin  built-in\n  on * / *\n  *\n\ndesk  custom\n  on ledger / staging, production\n  request.view:any, request.dml\n',
    );
  });
});

describe('audit', () => {
  const event = {
    id: 'e1',
    event_type: 'request.approved',
    outcome: 'success',
    actor_id: 'bob',
    database_name: 'app',
    environment: 'production',
    request_id: 'r1',
    created_at: '2026-05-01T09:20:01.500123Z',
    seq: 7,
  };

  it('sends its filters under the names of the endpoint; audit alone is audit list', async () => {
    api.on('GET /api/audit/events', { body: { events: [event], total: 1, limit: 50, offset: 0 } });
    const result = await svc(
      'audit',
      '--user',
      'bob',
      '--category',
      'approval',
      '--event-type',
      'request.approved',
      '--since',
      '12h',
      '--until',
      '2026-05-09',
      '-d',
      'app',
    );
    expect(result.stdout).toMatch(/7 +2026-05-01T09:20:01\.500123Z +request\.approved +success +bob +app\/production +r1/);
    expect(Object.fromEntries(api.calls[0]!.query)).toEqual({
      actor_id: 'bob',
      event_category: 'approval',
      event_type: 'request.approved',
      since: '2026-05-10T00:00:00.000Z',
      until: '2026-05-09T23:59:59.999999Z',
      database: 'app',
    });
  });

  it('names a request by eight characters on a terminal, by all of them elsewhere', async () => {
    const request_id = '4f0c9d0e-6a53-4c0b-9d4a-0f6b7c1f2a11';
    api.on('GET /api/audit/events', { body: { events: [{ ...event, request_id }], total: 1, limit: 50, offset: 0 } });
    const environment = login(api.url);
    expect((await runSvc(['audit'], { environment })).stdout).toContain(request_id);
    const shown = (await runSvc(['audit', '--no-pager', '--no-color'], { environment, terminal: true })).stdout;
    expect(shown).toMatch(/ 4f0c9d0e$/m);
  });

  it('says of how many, and when that is an estimate', async () => {
    const note = async (total: object) => {
      api.on('GET /api/audit/events', { body: { events: [event], ...total, limit: 50, offset: 0 } });
      return (await svc('audit')).stderr.trim();
    };
    expect(await note({ total: 12_345, total_is_estimate: false })).toBe('1 of 12345 events');
    expect(await note({ total: 1_234_567, total_is_estimate: true })).toBe('1 of about 1,200,000 events');
  });

  it('gives every key in the other result formats', async () => {
    api.on('GET /api/audit/events', { body: { events: [event], total: 1, limit: 50, offset: 0 } });
    expect((await svc('audit', 'list', '--result-format', 'csv')).stdout.split('\r\n')[0]).toBe(Object.keys(event).join(','));
    expect(JSON.parse((await svc('audit', 'list', '--result-format', 'json')).stdout).rows).toEqual([Object.values(event)]);
  });
});
