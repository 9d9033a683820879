import { afterAll, beforeAll, expect, it } from 'vitest';
import { runSvc } from '../cli/run-svc.js';
import { startTestApi, type TestApi } from '../support/api.js';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api?.close());

it('a browser at the address of the server learns how to begin, without a credential and with a wrong one (HT-2)', async () => {
  for (const token of [undefined, 'svc_00000000000000000000000000000000']) {
    const { status, text, headers } = await api.call('GET', '/', token === undefined ? {} : { token });
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(text).toContain('svc whoami');
  }
});

it('its commands run with nothing set but the address and a token', async () => {
  const { text } = await api.call('GET', '/');
  const environment = { SVC_SERVER_URL: api.url, SVC_TOKEN: api.tokens.requester };
  const codes = [];
  for (const [, command] of text.matchAll(/<pre>svc (.*)<\/pre>/g)) {
    const words = command!
      .replace('DATABASE', 'shop')
      .replace('ENVIRONMENT', 'production')
      .match(/"[^"]+"|\S+/g)!;
    const { code, stderr } = await runSvc(
      words.map((word) => word.replaceAll('"', '')),
      { environment },
    );
    codes.push([words[0], code, /^error: .*/m.exec(stderr)?.[0]]);
  }
  // The request waits for its approvers.
  expect(codes).toEqual([
    ['whoami', 0, undefined],
    ['databases', 0, undefined],
    ['execute', 2, undefined],
    ['request', 0, undefined],
  ]);
});

it('the page names nothing of this gateway, runs nothing and cannot be framed', async () => {
  const { text, headers } = await api.call('GET', '/', { headers: { host: 'evil.example' } });
  for (const name of ['shop', 'evil.example', '<script', 'http://', 'https://'])
    expect([name, text.includes(name)]).toEqual([name, false]);
  expect(text).toContain(`default-src 'none'`);
  expect(headers.get('content-security-policy')).toBe(`frame-ancestors 'none'`);
});

it('no other method and no query finds anything else there', async () => {
  expect((await api.call('GET', '/?next=//evil.example')).text).toBe((await api.call('GET', '/')).text);
  const { status, body } = await api.call('POST', '/', { token: api.tokens.admin, body: {} });
  expect([status, body]).toMatchObject([405, { code: 'route.method_not_allowed' }]);
});
