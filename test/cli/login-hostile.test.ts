import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { makeKey } from '../support/oidc.js';
import { type LoginPlace, openLoginPlace, past, shownAddress, tomlFor } from './login-place.js';

let place: LoginPlace;
beforeEach(async () => {
  place = await openLoginPlace();
});
afterEach(() => place.close());

describe('a stranger at the loopback port', () => {
  it('cannot end, feed or read the login: other states, paths, methods and hosts are refused, and the real callback still counts (CL-40)', async () => {
    const statuses: number[] = [];
    const { code, line } = await place.logIn([], async (callback) => {
      const real = new URL(callback);
      const forged = (change: (url: URL) => void) => {
        const url = new URL(callback);
        change(url);
        return url.href;
      };
      const attempts: [string, RequestInit?][] = [
        [forged((url) => url.searchParams.set('state', 'mine'))],
        [forged((url) => url.searchParams.delete('state'))],
        [forged((url) => url.searchParams.append('state', real.searchParams.get('state')!))],
        [`${real.origin}/callback?error=access_denied`],
        [forged((url) => (url.pathname = '/other'))],
        [callback, { method: 'POST' }],
        [`${real.origin}/favicon.ico`],
      ];
      for (const [url, init] of attempts) statuses.push((await fetch(url, init)).status);
      statuses.push(await statusFor(real, 'rebound.example.net'));
    });
    expect(statuses).toEqual([400, 400, 400, 400, 404, 404, 404, 404]);
    expect({ code, line }).toMatchObject({ code: 0, line: { data: { subject_id: 'alice' } } });
  });

  it('cannot pass off the code of another login: it fits neither PKCE nor nonce, and nothing is kept', async () => {
    let other = '';
    await place.svc(['login', '--no-browser'], {
      started: async ({ stderr, interrupt }) => {
        other = await place.provider.visit(await shownAddress(stderr), 'mallory');
        interrupt();
      },
    });
    const { searchParams } = new URL(other);
    const { code, line } = await place.svc(['login', '--no-browser'], {
      started: async ({ stderr }) => {
        const asked = new URL(await shownAddress(stderr)).searchParams;
        const injected = new URL(asked.get('redirect_uri')!);
        injected.search = new URLSearchParams({
          code: searchParams.get('code')!,
          state: asked.get('state')!,
          iss: place.provider.issuer,
        }).toString();
        expect(await (await fetch(injected)).text()).toContain('The login has failed');
      },
    });
    expect({ code, line }).toMatchObject({
      code: 1,
      line: { error: { code: 'auth_error', message: expect.stringContaining('invalid_grant') } },
    });
  });
});

describe('a provider that is not the right one', () => {
  let fake: FakeApi;
  beforeEach(async () => {
    fake = await startFakeApi();
  });
  afterEach(() => fake.close());
  const document = (over: Record<string, unknown> = {}) => ({
    body: { issuer: fake.url, authorization_endpoint: `${fake.url}/auth`, token_endpoint: `${fake.url}/token`, ...over },
  });
  const discovered = (reply: Parameters<FakeApi['on']>[1]) => {
    fake.on('GET /.well-known/openid-configuration', reply);
    writeFileSync(place.config, tomlFor(place.api.url, fake.url));
    return place.svc(['login', '--no-browser'], { limits: { loginMs: 100 } });
  };

  it.each([
    ['calls itself otherwise', { issuer: 'https://other.example.net' }, 'calls itself https://other.example.net, not'],
    ['calls itself so but for a slash', { issuer: 'SLASH' }, 'calls itself'],
    ['sends tokens over plain http', { token_endpoint: 'http://gate.example.net/token' }, 'plain http to gate.example.net'],
    ['has an address that is none', { authorization_endpoint: 'javascript:alert(1)' }, 'not a valid address'],
    ['has no token address', { token_endpoint: undefined }, 'names no token_endpoint'],
  ])('is refused before anybody logs in: it %s', async (_, over: Record<string, unknown>, message) => {
    const body = over.issuer === 'SLASH' ? { issuer: `${fake.url}/` } : over;
    const { line, stderr } = await discovered(document(body));
    expect(line.error).toMatchObject({ code: 'config_error', message: expect.stringContaining(message) });
    expect(stderr).not.toContain('Open this address');
  });

  it('is named when it is away, slow, no provider, or sends elsewhere', async () => {
    expect((await discovered({ status: 404 })).line.error).toMatchObject({
      code: 'config_error',
      message: expect.stringContaining('answered 404'),
    });
    expect((await discovered({ body: '<html>' })).line.error.message).toContain('is no discovery document');
    expect((await discovered({ status: 302, headers: { location: place.provider.issuer } })).line.error.message).toContain(
      'answered 302',
    );
    expect((await discovered({ status: 503 })).line.error.code).toBe('network_error');
    expect((await discovered({ drop: true })).line.error).toMatchObject({
      code: 'network_error',
      message: expect.stringContaining(fake.url),
    });
    fake.on('GET /.well-known/openid-configuration', { hang: true });
    const slow = await place.svc(['login'], { limits: { callMs: 100 } });
    expect(slow.line.error).toMatchObject({ code: 'network_error', message: expect.stringContaining('no answer within 0.1 s') });
    const cancelled = await place.svc(['login'], { started: ({ interrupt }) => void setTimeout(interrupt, 100) });
    expect(cancelled.code).toBe(130);
  });

  it.each(['iss', 'aud', 'nonce', 'exp'])(
    'gives an ID token whose %s is not ours, and nothing is kept (CL-42)',
    async (claim) => {
      const key = await makeKey('RS256', 'one');
      let nonce = '';
      const now = Math.floor(Date.now() / 1000);
      fake.on('GET /.well-known/openid-configuration', document());
      writeFileSync(place.config, tomlFor(place.api.url, fake.url));
      const wrong = { iss: 'https://other.example.net', aud: 'another-client', nonce: 'another', exp: now - 3600 }[claim];
      const result = await place.svc(['login', '--no-browser'], {
        started: async ({ stderr }) => {
          const asked = new URL(await shownAddress(stderr)).searchParams;
          nonce = asked.get('nonce')!;
          const claims = { iss: fake.url, aud: 'svc', sub: 'alice', nonce, iat: now - 7200, exp: now + 300, [claim]: wrong };
          fake.on('POST /token', {
            body: { access_token: 'opaque-access', token_type: 'bearer', id_token: await key.sign(claims) },
          });
          await fetch(`${asked.get('redirect_uri')}?code=any&state=${asked.get('state')}`);
        },
      });
      expect(result).toMatchObject({
        code: 1,
        line: { error: { code: 'auth_error', message: expect.stringContaining('not accepted') } },
      });
      expect(result.stdout + result.stderr).not.toMatch(/eyJ|opaque-access/);
      expect(place.api.calls).toEqual([]);
      expect(() => place.stored()).toThrow();
    },
  );

  it('renews a login with that of somebody else, and it is not taken', async () => {
    await place.logIn();
    const key = await makeKey('RS256', 'one');
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: place.provider.issuer, aud: 'svc', sub: 'mallory', iat: now, exp: now + 300 };
    fake.on('POST /token', { body: { access_token: 'opaque-access', token_type: 'bearer', id_token: await key.sign(claims) } });
    place.change({ refresh_at: past(), expires_at: past(), token_endpoint: `${fake.url}/token` });
    expect((await place.svc(['databases'])).line.error).toMatchObject({
      code: 'auth_error',
      message: expect.stringContaining('another user'),
    });
    expect(place.stored()[0]!.subject).toBe('alice');
  });
});

function statusFor(url: URL, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(url.port), '127.0.0.1', () =>
      socket.write(`GET ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
    );
    let text = '';
    socket.setEncoding('utf8').on('data', (part) => {
      text += part;
    });
    socket.on('end', () => resolve(Number(text.split(' ')[1])));
    socket.on('error', reject);
  });
}
