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
    expect((await svc('user', 'show', 'mira')).stdout).toContain('2031-02-03 04:05:06 UTC');
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
    expect(result.stdout).toMatch(/7 +2026-05-01 09:20:01 UTC +request\.approved +success +bob +app\/production +r1/);
    expect(Object.fromEntries(api.calls[0]!.query)).toEqual({
      actor_id: 'bob',
      event_category: 'approval',
      event_type: 'request.approved',
      since: '2026-05-10T00:00:00.000Z',
      until: '2026-05-09T23:59:59Z',
      database: 'app',
    });
  });

  it('gives every key in the other result formats', async () => {
    api.on('GET /api/audit/events', { body: { events: [event], total: 1, limit: 50, offset: 0 } });
    expect((await svc('audit', 'list', '--result-format', 'csv')).stdout.split('\r\n')[0]).toBe(Object.keys(event).join(','));
    expect(JSON.parse((await svc('audit', 'list', '--result-format', 'json')).stdout).rows).toEqual([Object.values(event)]);
  });
});
