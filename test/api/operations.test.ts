import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ toml: `${shopToml}\n[agents]\nmin_version = "1.2.0"` });
});
afterAll(() => api?.close());

describe('the probes (operations sections 1 and 2)', () => {
  it('tells versions in /health (OP-1, OP-2)', async () => {
    const { status, body } = await api.call('GET', '/health');
    expect([status, body]).toEqual([200, { status: 'ok', version: '0.1.0', min_agent_version: '1.2.0' }]);
  });

  it('is degraded while Temporal and the worker are away, and unavailable without the result store (OP-10)', async () => {
    const first = await api.call('GET', '/ready');
    expect([first.status, first.body]).toEqual([
      200,
      { status: 'degraded', checks: { database: 'ok', temporal: 'unavailable', worker: 'not_seen', result_storage: 'ok' } },
    ]);
    const healthy = api.services.results.healthy;
    api.services.results.healthy = async () => false;
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const second = await api.call('GET', '/ready');
    api.services.results.healthy = healthy;
    expect([second.status, second.headers.get('content-type')]).toEqual([503, 'application/json; charset=utf-8']);
    expect(second.body).toEqual({
      status: 'unavailable',
      checks: { database: 'ok', temporal: 'unavailable', worker: 'not_seen', result_storage: 'unavailable' },
      error: 'not ready',
      code: 'service.unavailable',
      hint: 'result_storage',
    });
  });
});

describe('metrics (operations section 3)', () => {
  const series = async () => (await api.call('GET', '/metrics', { token: api.tokens.admin })).text;

  it('starts counters without labels at 0 and names the version', async () => {
    const text = await series();
    expect(text).toContain('svc_build_info{version="0.1.0"} 1');
    for (const name of [
      'svc_break_glass_total',
      'svc_agent_lease_expirations_total',
      'svc_audit_write_failures_total',
      'svc_background_panics_total',
    ])
      expect(text).toMatch(new RegExp(`^${name} 0$`, 'm'));
    expect(text).toMatch(/^svc_config_generation 1$/m);
    expect(text).toMatch(/^svc_requests_current\{status="pending"\} 0$/m);
  });

  it('counts calls by template, never by path (OP-21)', async () => {
    const { status, headers } = await api.call('GET', '/metrics', { token: api.tokens.admin });
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
    await api.call('GET', '/api/users/some-one-nobody-knows', { token: api.tokens.admin });
    await api.call('GET', '/no/such/path');
    await api.call('PURGE', '/no/such/path');
    await api.call('GET', '/api/groups');
    await api.call('DELETE', '/api/groups');
    const text = await series();
    expect(text).toMatch(/^svc_http_requests_total\{method="GET",path="\/api\/users\/:id",status="404"\} 1$/m);
    expect(text).toMatch(/^svc_http_requests_total\{method="GET",path="<unmatched>",status="401"\} \d+$/m);
    expect(text).toMatch(/^svc_http_requests_total\{method="GET",path="\/api\/groups",status="401"\} 1$/m);
    expect(text).toMatch(/^svc_http_requests_total\{method="DELETE",path="<unmatched>",status="401"\} \d+$/m);
    expect(text).toMatch(/^svc_auth_failures_total\{reason="auth.missing_token"\} \d+$/m);
    expect(text).not.toContain('some-one-nobody-knows');
    expect(text).toMatch(/^svc_http_request_duration_seconds_bucket\{le="0.005",method="GET"/m);
  });
});

describe('the log (operations section 10)', () => {
  it('has one line per call with the id of the answer, and no credential (OP-90, OP-91, OP-92)', async () => {
    const answer = await api.call('GET', '/api/me', { token: api.tokens.admin });
    const lines = api.logged.map((line) => JSON.parse(line));
    const line = lines.find((entry) => entry.call_id === answer.headers.get('x-request-id'));
    expect(line).toMatchObject({
      level: 'info',
      process: 'server',
      version: '0.1.0',
      msg: 'call',
      subject_id: 'admin',
      client_ip: '127.0.0.1',
      method: 'GET',
      path: '/api/me',
      status: 200,
      duration_ms: expect.any(Number),
      time: expect.any(String),
    });
    expect(api.logged.join('')).not.toContain(api.tokens.admin);
  });

  it('answers an unforeseen failure with its request id alone, and logs the cause (HT-94, OP-91)', async () => {
    const { database } = api.services;
    await database.query('alter table users rename column display_name to hidden');
    const answer = await api.call('GET', '/api/users', { token: api.tokens.admin });
    await database.query('alter table users rename column hidden to display_name');
    const id = answer.headers.get('x-request-id');
    expect([answer.status, answer.body]).toEqual([
      500,
      { error: 'internal server error', code: 'internal', hint: `request id ${id}` },
    ]);
    const line = api.logged.map((text) => JSON.parse(text)).find((entry) => entry.call_id === id && entry.level === 'error');
    expect(line.error).toContain('does not exist');
    expect(line.stack).toContain('at ');
  });
});

describe('the document and its page (HT-98)', () => {
  it('need a user credential, or none with server.public_docs', async () => {
    for (const path of ['/openapi.json', '/docs', '/docs/swagger-ui.css']) {
      expect((await api.call('GET', path)).status).toBe(401);
      expect((await api.call('GET', path, { token: api.tokens.requester })).status).toBe(200);
    }
  });

  it('load nothing from elsewhere, and no other page shows them inside its own (HD-93)', async () => {
    const page = await api.call('GET', '/docs', { token: api.tokens.admin });
    expect(page.headers.get('content-type')).toContain('text/html');
    expect(page.headers.get('content-security-policy')).toBe("frame-ancestors 'none'");
    expect(page.headers.get('x-frame-options')).toBe('DENY');
    const links = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link ?? '');
    expect(links.every((link) => link.startsWith('docs/') || link.startsWith('data:'))).toBe(true);
    for (const link of links.filter((each) => each.startsWith('docs/')))
      expect((await api.call('GET', `/${link}`, { token: api.tokens.admin })).status).toBe(200);
    expect((await api.call('GET', '/docs/package.json', { token: api.tokens.admin })).status).toBe(404);
    expect((await api.call('GET', '/docs/..%2Fpackage.json', { token: api.tokens.admin })).status).toBe(404);
  });
});

describe('compression (HT-29)', () => {
  it('happens only when it is asked for', async () => {
    const plain = await api.call('GET', '/openapi.json', { token: api.tokens.admin, headers: { 'accept-encoding': 'identity' } });
    const small = await api.call('GET', '/openapi.json', { token: api.tokens.admin, headers: { 'accept-encoding': 'gzip' } });
    expect([plain.headers.get('content-encoding'), small.headers.get('content-encoding')]).toEqual([null, 'gzip']);
    expect(small.text).toBe(plain.text);
    const refused = await api.call('GET', '/openapi.json', {
      token: api.tokens.admin,
      headers: { 'accept-encoding': 'identity;q=0, *;q=0' },
    });
    expect(refused.status).toBe(200);
  });
});
