import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createSlackClient, slackIsOn } from '../../runtime/slack-client.js';

const closes: (() => void)[] = [];
afterEach(() => {
  for (const close of closes.splice(0)) close();
});

/** A client of a server that answers as told, and what reached it. */
async function client(answer: RequestListener) {
  const calls: { method: string; url: string; headers: Record<string, unknown>; body: string }[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      calls.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
      answer(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closes.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const apiBaseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/`;
  return { calls, slack: createSlackClient(() => ({ botToken: 'xoxb-1', apiBaseUrl })) };
}

const json =
  (body: unknown, status = 200, headers = {}): RequestListener =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };

describe('a call of Slack', () => {
  test('is a POST of JSON with the bot token (SL-3)', async () => {
    const { slack, calls } = await client(json({ ok: true, channel: 'C1', ts: '1900000000.000100' }));
    const args = { channel: '#db', text: '[1]', blocks: [{ type: 'divider' }] };
    expect(await slack.call('chat.postMessage', args)).toMatchObject({
      ok: true,
      body: { channel: 'C1', ts: '1900000000.000100' },
    });
    expect(calls).toMatchObject([{ method: 'POST', url: '/api/chat.postMessage' }]);
    expect(calls[0]?.headers).toMatchObject({
      authorization: 'Bearer xoxb-1',
      'content-type': 'application/json; charset=utf-8',
    });
    expect(JSON.parse(calls[0]?.body ?? '')).toEqual(args);
  });

  test('asks for a user by e-mail with GET and a query (SL-3)', async () => {
    const { slack, calls } = await client(json({ ok: true, user: { id: 'U1' } }));
    expect(await slack.call('users.lookupByEmail', { email: 'a+b@example.net' })).toMatchObject({
      ok: true,
      body: { user: { id: 'U1' } },
    });
    expect(calls).toMatchObject([{ method: 'GET', url: '/api/users.lookupByEmail?email=a%2Bb%40example.net', body: '' }]);
  });

  test.each<[string, RequestListener, string, number | null]>([
    ['an error of Slack', json({ ok: false, error: 'channel_not_found' }), 'channel_not_found', null],
    ['429 with Retry-After', json({ ok: false, error: 'ratelimited' }, 429, { 'retry-after': '7' }), 'ratelimited', 7],
    ['429 without', json({}, 429), 'ratelimited', 1],
    ['503', json({ ok: true }, 503), 'status_503', null],
    ['200 that is not JSON', (_, response) => response.end('<html>secret</html>'), 'invalid_answer', null],
    ['JSON without ok', json({}), 'invalid_answer', null],
    ['a redirect, which is not followed', json({}, 302, { location: 'http://127.0.0.1:9/' }), 'network_error', null],
    ['a connection that breaks', (request) => request.socket.destroy(), 'network_error', null],
    ['an answer above 1 MiB', (_, response) => response.end('x'.repeat(2 ** 20 + 1)), 'network_error', null],
  ])('that ends with %s fails with its name and nothing else', async (_, answer, error, retryAfterSecs) => {
    const { slack, calls } = await client(answer);
    expect(await slack.call('views.open', {})).toEqual({ ok: false, error, retryAfterSecs });
    expect(calls).toHaveLength(1);
  });

  test('ends with its limit', async () => {
    const { slack } = await client(() => undefined);
    expect(await slack.call('views.open', {}, 50)).toEqual({ ok: false, error: 'timeout', retryAfterSecs: null });
  });
});

test('Slack is on with both secrets only (SL-1)', () => {
  expect(slackIsOn({ botToken: 'xoxb-1', signingSecret: 's' })).toBe(true);
  for (const [botToken, signingSecret] of [
    ['', 's'],
    ['t', ''],
    [' ', 's'],
    ['t', '\t'],
  ] as const)
    expect(slackIsOn({ botToken, signingSecret })).toBe(false);
});
