import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallOptions, startTestApi, type TestApi } from '../support/api.js';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api?.close());

const nested = (depth: number) => `{"metadata":${'['.repeat(depth)}${']'.repeat(depth)}}`;
const json = { 'content-type': 'application/json' };

interface Row {
  what: string;
  method: string;
  path: string;
  as?: 'admin' | 'agent' | null;
  options?: CallOptions;
  status: number;
  code?: string;
  hint?: string;
}

const rows: Row[] = [
  {
    what: 'no credential on an unknown path',
    method: 'GET',
    path: '/api/nothing',
    as: null,
    status: 401,
    code: 'auth.missing_token',
  },
  { what: 'a valid credential on an unknown path', method: 'GET', path: '/api/nothing', status: 404, code: 'route.not_found' },
  { what: 'another method', method: 'PATCH', path: '/api/requests', status: 405, code: 'route.method_not_allowed' },
  { what: 'a write on configuration', method: 'POST', path: '/api/workflows', status: 405, code: 'config.read_only' },
  { what: 'a delete of unknown configuration', method: 'DELETE', path: '/api/roles/none', status: 405, code: 'config.read_only' },
  { what: 'an agent on a path of users', method: 'GET', path: '/api/requests', as: 'agent', status: 403, code: 'auth.forbidden' },
  { what: 'an agent on an unknown path', method: 'GET', path: '/nothing', as: 'agent', status: 403, code: 'auth.forbidden' },
  {
    what: 'an agent on the list of agents',
    method: 'GET',
    path: '/api/agents',
    as: 'agent',
    status: 403,
    code: 'auth.forbidden',
  },
  { what: 'a user on a path of agents', method: 'POST', path: '/api/agent/poll', status: 403, code: 'auth.forbidden' },
  { what: 'a user on an escaped path of agents', method: 'POST', path: '/api/%61gent/poll', status: 403, code: 'auth.forbidden' },
  ...['abc', '-1', '', '1.5', '4294967296', '1e3', '+1', '%31%00'].map((limit) => ({
    what: `limit=${limit}`,
    method: 'GET',
    path: `/api/requests?limit=${limit}`,
    status: 400,
    code: 'validation.failed',
    ...(limit.includes('%00') ? { hint: 'query' } : { hint: 'query.limit' }),
  })),
  {
    what: 'a parameter twice',
    method: 'GET',
    path: '/api/requests?limit=1&limit=2',
    status: 400,
    code: 'validation.failed',
    hint: 'query.limit',
  },
  {
    what: 'a parameter with a bad escape',
    method: 'GET',
    path: '/api/requests?user=%zz',
    status: 400,
    code: 'validation.failed',
    hint: 'query.user',
  },
  { what: 'a limit above the maximum', method: 'GET', path: '/api/requests?limit=1000', status: 200 },
  { what: 'an unknown parameter, even twice', method: 'GET', path: '/api/requests?x=1&x=%zz', status: 200 },
  {
    what: 'a boolean as a number',
    method: 'GET',
    path: '/api/requests?pending_for_me=1',
    status: 400,
    code: 'validation.failed',
    hint: 'query.pending_for_me',
  },
  {
    what: 'a bad escape as id',
    method: 'GET',
    path: '/api/requests/%zz',
    status: 400,
    code: 'validation.failed',
    hint: 'path.id',
  },
  { what: 'U+0000 as id', method: 'GET', path: '/api/requests/a%00', status: 400, code: 'validation.failed', hint: 'path.id' },
  {
    what: 'a bad escape where no route is',
    method: 'GET',
    path: '/none/%zz',
    status: 400,
    code: 'validation.failed',
    hint: 'path',
  },
  { what: 'an id of another form', method: 'GET', path: '/api/requests/not-a-uuid', status: 404, code: 'request.not_found' },
  { what: 'a trailing slash', method: 'GET', path: '/api/me/', status: 404, code: 'route.not_found' },
  { what: 'other case in the path', method: 'GET', path: '/api/Me', status: 404, code: 'route.not_found' },
  ...['{"database":', '[]', 'null', '"x"', '{} x', '{"a":1}{', '\ufeff{}', nested(65)].map((raw) => ({
    what: `the body ${raw.slice(0, 20)}`,
    method: 'POST',
    path: '/api/users',
    options: { raw, headers: json },
    status: 400,
    code: 'validation.failed',
    hint: 'body',
  })),
  {
    what: 'bytes that are not UTF-8',
    method: 'POST',
    path: '/api/users',
    options: { raw: Uint8Array.of(0xff, 0xfe), headers: json },
    status: 400,
    code: 'validation.failed',
    hint: 'body',
  },
  { what: 'a missing body', method: 'POST', path: '/api/users', status: 400, code: 'validation.failed', hint: 'body' },
  {
    what: 'a wrong type',
    method: 'POST',
    path: '/api/users',
    options: { body: { id: 5 } },
    status: 400,
    code: 'validation.failed',
    hint: 'body.id',
  },
  {
    what: 'null where it is not allowed',
    method: 'POST',
    path: '/api/users',
    options: { body: { id: 'a', roles: null } },
    status: 400,
    code: 'validation.failed',
    hint: 'body.roles',
  },
  {
    what: 'a wrong entry of a list',
    method: 'POST',
    path: '/api/users',
    options: { body: { id: 'a', roles: ['requester', 3] } },
    status: 400,
    code: 'validation.failed',
    hint: 'body.roles[1]',
  },
  {
    what: 'U+0000 in a string',
    method: 'POST',
    path: '/api/users',
    options: { raw: '{"id":"a","groups":["\\u0000"]}', headers: json },
    status: 400,
    code: 'validation.failed',
    hint: 'body.groups[0]',
  },
  {
    what: 'an unpaired surrogate',
    method: 'POST',
    path: '/api/users',
    options: { raw: '{"id":"a","groups":["\\ud800"]}', headers: json },
    status: 400,
    code: 'validation.failed',
    hint: 'body.groups[0]',
  },
  {
    what: 'text as content type',
    method: 'POST',
    path: '/api/users',
    options: { raw: '{}', headers: { 'content-type': 'text/plain' } },
    status: 415,
    code: 'validation.unsupported_media_type',
  },
  {
    what: 'another charset',
    method: 'POST',
    path: '/api/users',
    options: { raw: '{}', headers: { 'content-type': 'application/json; charset=latin1' } },
    status: 415,
    code: 'validation.unsupported_media_type',
  },
  {
    what: 'a content encoding',
    method: 'POST',
    path: '/api/users',
    options: { raw: '{}', headers: { ...json, 'content-encoding': 'gzip' } },
    status: 415,
    code: 'validation.unsupported_media_type',
  },
  {
    what: '3 MiB of body',
    method: 'POST',
    path: '/api/users',
    options: { raw: ' '.repeat(3 << 20), headers: json },
    status: 413,
    code: 'payload.too_large',
  },
  {
    what: '5 MiB of body on create',
    method: 'POST',
    path: '/api/requests',
    options: { raw: ' '.repeat(5 << 20), headers: json },
    status: 413,
    code: 'payload.too_large',
  },
  {
    what: 'a wrong type on create',
    method: 'POST',
    path: '/api/requests',
    options: { body: { database: 5 } },
    status: 400,
    code: 'validation.failed',
    hint: 'body.database',
  },
];

describe('bad input (section 12 of the HTTP rules)', () => {
  it.each(rows)(
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
