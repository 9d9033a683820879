import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { proxyAuthorization, proxyFor } from '../../cli/proxy.js';
import { runSvc } from './run-svc.js';

const token = 'svc_00112233445566778899aabbccddeeff';
const find = (address: string, environment: Record<string, string>) => proxyFor(new URL(address), environment)?.href ?? null;

describe('proxies of the environment (CL-10)', () => {
  it('are chosen by the scheme of the address, in lower or upper case', () => {
    expect(find('https://gate.example.com', { HTTPS_PROXY: 'http://proxy:3128' })).toBe('http://proxy:3128/');
    expect(find('https://gate.example.com', { https_proxy: 'proxy:3128', http_proxy: 'http://other' })).toBe(
      'http://proxy:3128/',
    );
    expect(find('https://gate.example.com', { ALL_PROXY: 'http://all' })).toBe('http://all/');
    expect(find('https://gate.example.com', {})).toBeNull();
  });

  it('are passed by for NO_PROXY, for loopback, and for plain http to private hosts, whose token they would read (CL-I3)', () => {
    const proxy = { https_proxy: 'http://proxy', http_proxy: 'http://proxy' };
    for (const list of ['*', 'example.com', '.example.com', 'x, gate.example.com'])
      expect(find('https://gate.example.com', { ...proxy, NO_PROXY: list })).toBeNull();
    expect(find('https://notexample.com', { ...proxy, NO_PROXY: 'example.com' })).toBe('http://proxy/');
    for (const address of ['https://localhost:3000', 'https://127.0.0.1', 'https://[::1]', 'http://10.0.0.1', 'http://gateway'])
      expect(find(address, proxy)).toBeNull();
  });

  it.each([
    ['u:p', 'u:p'],
    ['a%40b:c%3Ad', 'a@b:c:d'],
    ['u:50%off', 'u:50%off'],
    ['u:%zz%C3%A9', 'u:%zzé'],
    ['u', 'u:'],
  ])('take %s as user and password, a lone %% too', (given, meant) => {
    const header = proxyAuthorization(new URL(`http://${given}@proxy:3128`))['proxy-authorization']!;
    expect(Buffer.from(header.replace('Basic ', ''), 'base64').toString()).toBe(meant);
  });

  it('forward plain http and open tunnels for https, in which no token is seen', async () => {
    const seen: string[] = [];
    const proxy = createServer((request, response) => {
      seen.push(`${request.method} ${request.url} ${request.headers.authorization ?? '-'}`);
      response.end('{"subject_id":"alice"}');
    });
    proxy.on('connect', (request, socket) => {
      seen.push(
        `CONNECT ${request.url} ${request.headers.authorization ?? '-'} ${request.headers['proxy-authorization'] ?? '-'}`,
      );
      socket.end('HTTP/1.1 407 No\r\n\r\n');
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const address = `http://u:p@127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const run = (url: string) =>
      runSvc(['whoami', '--allow-insecure', '--json'], {
        environment: { SVC_SERVER_URL: url, SVC_TOKEN: token, HTTP_PROXY: address, HTTPS_PROXY: address },
      });
    expect((await run('http://gate.example.com')).code).toBe(0);
    const refused = JSON.parse((await run('https://gate.example.com')).stdout).error;
    expect(refused).toMatchObject({ code: 'network_error', message: expect.stringContaining('the proxy answered 407') });
    expect(new Set(seen)).toEqual(
      new Set([
        `GET http://gate.example.com/api/me Bearer ${token}`,
        `CONNECT gate.example.com:443 - Basic ${Buffer.from('u:p').toString('base64')}`,
      ]),
    );
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  });
});
