import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { badInput, json, nested } from './bad-input-rows.js';

let api: TestApi;
let unread = 0;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api?.close());

describe('bad input (section 12 of the HTTP rules: HT-40, HT-41, HT-43, HT-44, HT-45, HT-46, HT-60, HT-61, HT-62, HT-63, HT-91)', () => {
  it.each(badInput)(
    '$what on $method $path is $status $code',
    async ({ method, path, as = 'admin', options, status, code, hint }) => {
      const answer = await api.call(method, path, { token: as === null ? null : api.tokens[as], ...options });
      expect({ status: answer.status, code: answer.body.code }).toEqual({ status, code });
      if (hint !== undefined) expect(answer.body.hint).toBe(hint);
      expect(answer.headers.get('x-svc-version')).toBe('0.1.0');
    },
  );

  it('takes 64 levels of nesting, +json types and a charset in any spelling', async () => {
    const answer = await api.call('POST', '/api/users', {
      token: api.tokens.admin,
      raw: nested(63),
      headers: { 'content-type': 'application/vnd.x+json; Charset="UTF-8"' },
    });
    expect(answer.body).toMatchObject({ code: 'validation.failed', hint: 'body.id' });
  });

  it('lets the last of two equal keys count and knows no special names (HT-49)', async () => {
    const raw = '{"id":"bad id","id":"twice","__proto__":{"roles":["admin"]},"constructor":1}';
    const answer = await api.call('POST', '/api/users', { token: api.tokens.admin, raw, headers: json });
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({ id: 'twice', roles: [] });
  });

  it.each(['"\\u0000":1', '"x":"\\u0000"', '"x":{"y":["\\ud800"]}', '"__proto__":"\\u0000"'])(
    'ignores bad text in what is not read: %s (HT-45, HT-48)',
    async (member) => {
      const id = `reader-${unread++}`;
      const made = await api.call('POST', '/api/users', {
        token: api.tokens.admin,
        raw: `{"id":"${id}",${member}}`,
        headers: json,
      });
      expect([made.status, made.body]).toMatchObject([201, { id }]);
      const polled = await api.call('POST', '/api/agent/poll', {
        token: api.tokens.agent,
        raw: `{"capabilities":{"scopes":[],${member}},${member}}`,
        headers: json,
      });
      expect(polled.status).toBe(200);
    },
  );

  it('says which methods a path has (HT-26)', async () => {
    const wrong = await api.call('PATCH', '/api/requests', { token: api.tokens.admin });
    expect(wrong.headers.get('allow')).toBe('GET, HEAD, POST');
    const head = await api.call('HEAD', '/api/requests', { token: api.tokens.admin });
    expect(head.status).toBe(405);
    const options = await api.call('OPTIONS', '/api/me', { token: api.tokens.admin });
    expect([options.status, options.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('answers HEAD on the probes like GET without the body', async () => {
    for (const path of ['/health', '/ready']) {
      const answer = await api.call('HEAD', path);
      expect([answer.status, answer.text]).toEqual([200, '']);
    }
  });

  it('takes an optional body of zero bytes whatever its type (HT-47)', async () => {
    await api.createUser('nora', { roles: ['requester'] });
    const path = '/api/users/nora/reissue-initial-token';
    const without = await api.call('POST', path, { token: api.tokens.admin });
    const empty = await api.call('POST', path, { token: api.tokens.admin, raw: '', headers: { 'content-type': 'text/plain' } });
    const present = await api.call('POST', path, {
      token: api.tokens.admin,
      raw: 'x',
      headers: { 'content-type': 'text/plain' },
    });
    expect([without.status, empty.status, present.status]).toEqual([200, 200, 415]);
  });
});
