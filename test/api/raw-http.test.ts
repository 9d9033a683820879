import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHttpServer } from '../../api/http/http-server.js';
import { sleep } from '../../lib/sleep.js';
import { listen } from '../../runtime/listen-address.js';
import { startTestApi, type TestApi } from '../support/api.js';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api?.close());

interface RawAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Sends bytes as they are and reads until the server closes. */
function send(text: string, port = Number(new URL(api.url).port)): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let received = '';
    socket.setTimeout(10_000, () => socket.destroy(new Error('no answer')));
    socket.on('data', (chunk) => {
      received += chunk.toString();
    });
    socket.on('error', reject);
    socket.on('close', () => {
      const [head = '', body = ''] = received.split('\r\n\r\n');
      const [line = '', ...headers] = head.split('\r\n');
      const pairs = headers.map((header) => header.split(/: (.*)/s, 2) as [string, string]);
      resolve({
        status: Number(line.split(' ')[1]),
        headers: Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), value])),
        body,
      });
    });
  });
}

const get = (path: string, ...headers: string[]) =>
  [`GET ${path} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...headers, '', ''].join('\r\n');

describe('what Node itself would answer (HT-1, HT-I1)', () => {
  const rows: { what: string; text: () => string; status: number; code: string }[] = [
    {
      what: '20 KiB of headers',
      text: () => get('/health', `x-a: ${'a'.repeat(20_000)}`),
      status: 431,
      code: 'payload.too_large',
    },
    {
      what: 'more than 100 headers',
      text: () => get('/health', ...Array.from({ length: 120 }, (_, index) => `x-${index}: 1`)),
      status: 431,
      code: 'payload.too_large',
    },
    { what: 'no HTTP at all', text: () => 'hello\r\n\r\n', status: 400, code: 'validation.failed' },
    { what: 'an unknown HTTP method', text: () => 'FOO / HTTP/1.1\r\nHost: a\r\n\r\n', status: 400, code: 'validation.failed' },
    {
      what: 'two lengths',
      text: () => get('/health', 'Content-Length: 1', 'Content-Length: 2'),
      status: 400,
      code: 'validation.failed',
    },
    { what: 'CONNECT', text: () => 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', status: 400, code: 'validation.failed' },
    { what: 'an unknown expectation', text: () => get('/api/me', 'Expect: tea'), status: 401, code: 'auth.missing_token' },
    { what: 'an upgrade', text: () => get('/api/me', 'Upgrade: websocket'), status: 401, code: 'auth.missing_token' },
    {
      what: 'two Authorization headers',
      text: () => get('/api/me', `Authorization: Bearer ${api.tokens.admin}`, `Authorization: Bearer ${api.tokens.admin}`),
      status: 401,
      code: 'auth.invalid_token',
    },
    {
      what: 'a path that is no path',
      text: () => `OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${api.tokens.admin}\r\n\r\n`,
      status: 404,
      code: 'route.not_found',
    },
  ];

  it.each(rows)('$what is $status $code in the form of all errors', async ({ text, status, code }) => {
    const answer = await send(text());
    expect(answer.status).toBe(status);
    expect(Object.keys(JSON.parse(answer.body)).sort()).toEqual(['code', 'error', 'hint']);
    expect(JSON.parse(answer.body).code).toBe(code);
    expect(answer.headers).toMatchObject({
      'x-svc-version': '0.1.0',
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each([
    ['headers that do not end', 'GET /health HTTP/1.1\r\nHost: a\r\n'],
    ['a body that does not come', 'POST /api/users HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n{'],
  ])('HT-1: %s are 408 when their time is over', async (_what, text) => {
    let handled = 0;
    const server = createHttpServer(() => (handled += 1), '1.2.3');
    Object.assign(server, { headersTimeout: 20, requestTimeout: 30 });
    const port = await listen(server, '127.0.0.1:0');
    const answer = await send(text, port);
    await new Promise((resolve) => server.close(resolve));
    expect([answer.status, JSON.parse(answer.body)]).toEqual([
      408,
      { error: 'the request took too long to arrive', code: 'validation.failed', hint: null },
    ]);
    expect(answer.headers).toMatchObject({ 'x-svc-version': '1.2.3', connection: 'close', 'cache-control': 'no-store' });
    expect(handled).toBe(text.startsWith('POST') ? 1 : 0);
  });

  it('HT-1: a connection that is opened ahead serves the call that comes late, and is closed without a word if none comes', async () => {
    const server = createHttpServer((_, response) => void response.end('served'), '1.2.3');
    Object.assign(server, { headersTimeout: 20, requestTimeout: 30, keepAliveTimeout: 2500 });
    const port = await listen(server, '127.0.0.1:0');
    const unused = send('', port);
    const socket = connect(port, '127.0.0.1');
    // Node looks once a second.
    await sleep(1500);
    socket.write(get('/health'));
    const chunks = await socket.toArray();
    expect(Buffer.concat(chunks).toString()).toMatch(/^HTTP\/1\.1 200 [\s\S]*served/);
    expect((await unused).status).toBe(Number.NaN);
    await new Promise((resolve) => server.close(resolve));
  });

  it('reads the scheme without case and an absolute request target', async () => {
    const answer = await send(get('http://localhost/api/me?x=1', `authorization: bEaReR ${api.tokens.admin}`));
    expect(answer.status).toBe(200);
  });

  it.each([
    ['a chunked body over the limit', `${'x'.repeat(2 * 1024 * 1024)}`, 'application/json', 413],
    ['a chunked body of the wrong type', 'x', 'text/plain', 415],
    ['a chunked body of zero bytes', '', 'text/plain', 200],
  ])('%s', async (_what, body, type, status) => {
    if (status === 200) await api.createUser('chunky', { roles: ['requester'] });
    const chunk = body === '' ? '' : `${(body.length + 10).toString(16)}\r\n${body}          \r\n`;
    const head = [
      'POST /api/users/chunky/reissue-initial-token HTTP/1.1',
      'Host: a',
      'Connection: close',
      'Transfer-Encoding: chunked',
      `Content-Type: ${type}`,
      `Authorization: Bearer ${api.tokens.admin}`,
    ];
    const answer = await send(`${head.join('\r\n')}\r\n\r\n${chunk}0\r\n\r\n`);
    expect(answer.status).toBe(status);
  });
});
