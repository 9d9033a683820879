import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { loadAgentConfig } from '../../agent/config.js';
import { createGatewayClient } from '../../agent/gateway-client.js';

const directory = mkdtempSync(join(tmpdir(), 'svc-agent-transport-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function load(text: string, variables: Record<string, string> = {}) {
  const file = join(directory, 'agent.toml');
  writeFileSync(file, text);
  return loadAgentConfig(file, variables);
}

describe('the address of the gateway (HD-82)', () => {
  const file = (url: string, more = '') =>
    `[server]\nurl = "${url}"\nagent_token = "t"\n${more}[databases.shop.staging]\nurl = "postgres://u@localhost/d"\n`;

  it.each([
    ...[
      'http://127.0.0.1:3000',
      'http://localhost:3000',
      'http://[::1]/',
      'http://127.1',
      'http://2130706433',
      'http://0177.0.0.1',
    ],
    ...['http://LOCALHOST/base', 'http://[::ffff:127.0.0.1]', 'https://gateway.example', 'https://10.1.2.3'],
  ])('may be %s', (url) => {
    expect(load(file(url)).server.url).toBe(url.replace(/\/+$/, ''));
  });

  it.each([
    ...['http://gateway', 'http://10.1.2.3', 'http://192.168.1.1', 'http://0.0.0.0', 'http://[fd00::1]', 'http://169.254.1.1'],
    ...['http://127.0.0.1.evil.example', 'http://localhost.evil.example', 'http://a.localhost', 'http://x.internal'],
    ...['http://2147483649', 'http://128.0.0.1', 'http://[::2]', 'http://[::ffff:8.8.8.8]', 'http://0x80000001'],
  ])('may not be %s, unless allow_insecure says so', (url) => {
    expect(() => load(file(url))).toThrow('server.url: plain http to ');
    expect(load(file(url, 'allow_insecure = true\n')).server.url).toBe(url);
    expect(load(file(url), { SVC_ALLOW_INSECURE: '1' }).server.url).toBe(url);
    expect(() => load(file(url), { SVC_ALLOW_INSECURE: 'yes' })).toThrow('server.url: plain http to ');
  });

  it('never takes a call elsewhere: a redirect is an answer like any other', async () => {
    const seen: (string | undefined)[] = [];
    const listen = (answer: (url: string) => string | null) =>
      new Promise<{ url: string; close: () => void }>((resolve) => {
        const server = createServer((request, response) => {
          seen.push(`${request.headers.host} ${request.headers.authorization}`);
          const location = answer(request.url ?? '');
          response.writeHead(location === null ? 200 : 307, location === null ? {} : { location }).end('{}');
        }).listen(0, '127.0.0.1', () => {
          const { port } = server.address() as AddressInfo;
          resolve({ url: `http://127.0.0.1:${port}`, close: () => server.close() });
        });
      });
    const thief = await listen(() => null);
    const gateway = await listen((url) => `${thief.url}${url}`);
    const client = createGatewayClient({ url: gateway.url, token: 'svc_t', ca: null, userAgent: 'test', connectTimeoutMs: 1000 });
    try {
      const calls = [client.get('/api/public-key', { timeoutMs: 2000 }), client.post('/api/agent/poll', {}, { timeoutMs: 2000 })];
      expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([307, 307]);
      expect(seen.map((one) => one?.split(' ')[0])).toEqual([gateway.url, gateway.url].map((url) => url.slice('http://'.length)));
    } finally {
      client.close();
      gateway.close();
      thief.close();
    }
  });
});

describe('how a target database is protected (HD-82)', () => {
  const target = (url: string, more = '') =>
    `[server]\nurl = "http://localhost"\nagent_token = "t"\n[databases.shop.staging]\nurl = "${url}"\n${more}`;

  it.each([
    ...[
      'postgres://u@127.0.0.1/d',
      'postgres://u@localhost:5432/d',
      'postgresql://u@[::1]/d',
      'postgres://u@127.9.9.9/d',
      'postgres:///d',
    ],
    ...['postgres:///d?host=/run/postgresql', 'postgres://u@db/d?host=/run/postgresql', 'postgres://u@%2Frun%2Fpostgresql/d'],
    ...['verify-full', 'verify-ca', 'require', 'prefer', 'no-verify', 'disable'].map(
      (mode) => `postgres://u@db/d?sslmode=${mode}`,
    ),
    ...['mysql://u@127.0.0.1/d', 'mariadb://u@localhost/d', 'mysql://u@[::1]/d', 'mysql://u@db/d?ssl-mode=DISABLED'],
    ...['mysql://u@db/d?ssl-mode=REQUIRED', 'mysql://u@db/d?ssl-mode=verify_identity', 'mysql://u@db/d?ssl-ca=/ca.pem'],
  ])('%s is local or says it', (url) => {
    expect(load(target(url)).databases[0]?.url).toBe(url);
  });

  it.each([
    ...['postgres://u@db/d', 'postgres://u@10.0.0.1/d', 'postgres://u@db/d?sslmode=', 'postgres://u@db/d?sslmode=verify_full'],
    ...['postgres://u@127.0.0.1.evil.example/d', 'postgres://u@localhost.evil.example/d', 'postgres://u@0.0.0.0/d'],
    ...['postgres://u@localhost/d?host=db', 'postgres://u@localhost/d?host=localhost&host=db', 'postgres://u@db/d?ssl=true'],
    ...['postgres://u@db/d?sslmode=verify-full&sslmode=', 'postgres://u@localhost%2eevil.example/d', 'postgres://u@128.1/d'],
  ])('%s is not started with; the message names the key and the choices', (url) => {
    expect(() => load(target(url))).toThrow(
      /databases\.shop\.staging\.url: goes to another host .*verify-full.*no-verify.*disable/,
    );
    const read = target('postgres://w@localhost/d', `read_url = "${url}"\n`);
    expect(() => load(read)).toThrow(/databases\.shop\.staging\.read_url: goes to another host/);
  });

  it('nor are these of MySQL, and one without host when PGHOST names another', () => {
    expect(() => load(target('mysql://u@db/d'))).toThrow(
      /staging\.url: goes to another host .*VERIFY_IDENTITY.*REQUIRED.*DISABLED/,
    );
    expect(() => load(target('mariadb://u@127.0.0.1.evil.example/d'))).toThrow('goes to another host');
    expect(() => load(target('mysql://u@db/d?ssl-mode='))).toThrow('ssl-mode must be one of');
    expect(() => load(target('postgres:///d'), { PGHOST: 'db' })).toThrow('goes to another host');
    expect(load(target('postgres:///d'), { PGHOST: '/run/postgresql' }).databases).toHaveLength(1);
  });

  it('tells no part of the address', () => {
    expect(() => load(target('postgres://user:secret-word@db/d'))).not.toThrow('secret-word');
  });
});
