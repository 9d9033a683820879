import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, shopToml, startTestApi, type TestApi } from '../support/api.js';
import { gatewayCalls } from './gateway-calls.js';

let api: TestApi;
let requester: string;
beforeAll(async () => {
  api = await startTestApi({ toml: shopToml });
  requester = await api.createUser('rita', { roles: ['requester'] });
});
afterAll(() => api?.close());

const call = (method: string, path: string, token: string | null = api.tokens.admin, body?: object) =>
  api.call(method, path, { token, body });
const header = (answers: readonly Answer[], name: string) => answers.map(({ headers }) => headers.get(name));

describe('headers of answers (section 2 of the HTTP rules)', () => {
  it('name the version and a new id on every one, whatever it is, and echo nothing (HT-21, HT-22, HT-24)', async () => {
    const sent = { 'x-request-id': 'mine', cookie: 'a=b' };
    const answers = await Promise.all([
      api.call('GET', '/health', { headers: sent }),
      api.call('GET', '/api/me', { headers: sent }),
      api.call('GET', '/api/nothing', { token: api.tokens.admin, headers: sent }),
      api.call('PATCH', '/api/requests', { token: api.tokens.admin, headers: sent }),
      api.call('GET', '/metrics', { token: api.tokens.admin, headers: sent }),
      api.call('POST', '/api/users', {
        token: api.tokens.admin,
        raw: ' '.repeat(3 << 20),
        headers: { 'content-type': 'application/json' },
      }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 404, 405, 200, 413]);
    expect(header(answers, 'x-svc-version').every((version) => /^\d+\.\d+\.\d+(-\S+)?$/.test(version ?? ''))).toBe(true);
    const ids = header(answers, 'x-request-id');
    expect(ids.every((id) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id ?? ''))).toBe(true);
    expect(new Set(ids).size).toBe(answers.length);
    expect(new Set(header(answers, 'cache-control'))).toEqual(new Set(['no-store']));
    expect(new Set(header(answers, 'x-content-type-options'))).toEqual(new Set(['nosniff']));
    expect(new Set(header(answers, 'set-cookie'))).toEqual(new Set([null]));
  });

  it('say JSON in UTF-8, and nothing of a type without a body (HT-23, HT-30)', async () => {
    const calls = gatewayCalls(api);
    const answers = await Promise.all([call('GET', '/api/me'), call('GET', '/api/nothing'), call('GET', '/api/me', null)]);
    expect(new Set(header(answers, 'content-type'))).toEqual(new Set(['application/json; charset=utf-8']));
    const short = await api.another({ times: { resultWaitMs: 10 } });
    const id = await calls.created(requester);
    const nothing = await short.call('GET', `/api/requests/${id}/result/stream`, { token: requester });
    expect([nothing.status, nothing.text, nothing.headers.get('content-type')]).toEqual([204, '', null]);
    await short.close();
  });

  it('tell the limits on every answer but those of the probes (HT-28)', async () => {
    const answers = await Promise.all([call('GET', '/api/me'), call('GET', '/api/nothing'), call('GET', '/api/me', null)]);
    for (const name of ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'])
      expect(header(answers, name).every((value) => /^\d+$/.test(value ?? ''))).toBe(true);
    expect(header([await call('GET', '/ready', null)], 'ratelimit-limit')).toEqual([null]);
  });
});

describe('the order of checks (section 1 of the HTTP rules)', () => {
  const raw = { raw: '{', headers: { 'content-type': 'text/plain' } };

  it('is credential, roles, agent fence, route, media type, size and syntax, shape (HT-4, HT-5, HT-7, HT-8, HT-9, HT-10, HT-12)', async () => {
    const bare = await api.createUser('bare');
    const steps = await Promise.all([
      api.call('POST', '/api/agent/nothing', raw),
      api.call('POST', '/api/agent/nothing', { token: bare, ...raw }),
      api.call('POST', '/api/agent/nothing', { token: requester, ...raw }),
      api.call('POST', '/api/nothing', { token: requester, ...raw }),
      api.call('POST', '/api/requests', { token: requester, ...raw }),
      api.call('POST', '/api/requests', { token: requester, raw: '{', headers: { 'content-type': 'application/json' } }),
      api.call('POST', '/api/requests', { token: requester, body: { database: 5 } }),
      api.call('POST', '/api/requests', {
        token: requester,
        body: { database: 'none', environment: 'staging', detail: 'select 1' },
      }),
    ]);
    expect(steps.map(({ status, body }) => [status, body.code])).toEqual([
      [401, 'auth.missing_token'],
      [403, 'auth.no_roles_resolved'],
      [403, 'auth.forbidden'],
      [404, 'route.not_found'],
      [415, 'validation.unsupported_media_type'],
      [400, 'validation.failed'],
      [400, 'validation.failed'],
      [400, 'validation.failed'],
    ]);
    expect([steps[5]!.body.hint, steps[6]!.body.hint]).toEqual(['body', 'body.database']);
    expect(steps[7]!.body.error).toContain('not registered');
  });
});

describe('what a refusal tells (HT-93, HT-I4, HT-I6)', () => {
  it('is the same for what is hidden as for what is not there, but 403 for 404', async () => {
    const calls = gatewayCalls(api);
    const hidden = await calls.created(requester);
    const moved = await calls.created(requester, { detail: 'select 2', reason: 'another' });
    expect((await calls.act(requester, moved, 'cancel')).status).toBe(200);
    const other = await api.createUser('other', { roles: ['requester'] });
    const gone = '00000000-0000-4000-8000-000000000000';
    for (const [method, tail] of [
      ['GET', ''],
      ['GET', '/executions'],
      ['GET', '/result/content'],
      ['POST', '/cancel'],
      ['POST', '/resume'],
      ['POST', '/approve'],
    ] as const) {
      const seen = await call(method, `/api/requests/${hidden}${tail}`, other);
      const missing = await call(method, `/api/requests/${gone}${tail}`, other);
      expect([403, 404]).toContain(seen.status);
      const hint = 'this request is not open to you; its requester can share it';
      expect(seen.body).toEqual({ error: 'forbidden', code: 'auth.forbidden', hint });
      expect((await call(method, `/api/requests/${moved}${tail}`, other)).text).toBe(seen.text);
      expect(missing.body.code).toBe('request.not_found');
    }
  });
});

describe('the series of /metrics (OP-20, OP-22)', () => {
  const series =
    `build_info http_requests_total http_request_duration_seconds long_polls_current auth_failures_total rate_limited_total
    requests_total requests_current approvals_total approval_wait_seconds break_glass_total break_glass_ddl_attempted_total
    break_glass_ddl_allowed_total break_glass_ddl_denied_total break_glass_audit_failure_total agent_executions_total
    execution_duration_seconds agent_lease_expirations_total agents_active agents_saturated result_storage_total
    audit_unsealed_events audit_write_failures_total background_panics_total temporal_errors_total workflow_backlog
    workflow_repairs_total db_pool_connections config_generation config_reloads_total plan_limit plan_usage
    license_expires_timestamp_seconds`.split(/\s+/);

  it('are there with HELP and TYPE, and the plan beside what is used of it', async () => {
    const { text } = await call('GET', '/metrics');
    for (const name of series) {
      expect(text).toMatch(new RegExp(`^# HELP svc_${name} \\S`, 'm'));
      expect(text).toMatch(new RegExp(`^# TYPE svc_${name} (counter|gauge|histogram)$`, 'm'));
    }
    expect(text).toMatch(/^svc_plan_limit\{resource="users"\} 20$/m);
    expect(text).toMatch(/^svc_plan_limit\{resource="databases"\} 3$/m);
    expect(text).toMatch(/^svc_plan_usage\{resource="databases"\} 1$/m);
    expect(text).toMatch(/^svc_license_expires_timestamp_seconds 0$/m);
    const [active] = await api.services.database.query<{ count: number }>(
      `select count(*) as count from users where status = 'active'`,
    );
    expect(text).toContain(`svc_plan_usage{resource="users"} ${active!.count}`);
  });

  it('have the buckets of the rules, and labels that no caller can make up (OP-21)', async () => {
    await Promise.all(Array.from({ length: 30 }, (_, n) => call(n % 2 === 0 ? 'GET' : 'DELETE', `/made-up-${n}/x`)));
    const { text } = await call('GET', '/metrics');
    expect(text).not.toContain('made-up');
    const buckets = [...text.matchAll(/^svc_approval_wait_seconds_bucket\{le="([^"]+)"\}/gm)].map(([, le]) => le);
    expect(buckets).toEqual([
      '0.005',
      '0.01',
      '0.025',
      '0.05',
      '0.1',
      '0.25',
      '0.5',
      '1',
      '2.5',
      '5',
      '10',
      '30',
      '60',
      '120',
      '+Inf',
    ]);
    expect(text).toMatch(/^svc_approval_wait_seconds_count 0$/m);
    expect(text).toMatch(/^svc_approval_wait_seconds_sum 0$/m);
  });
});
