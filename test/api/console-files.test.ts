import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { rawCall } from './console-calls.js';

const page = '<!doctype html><title>Console</title><script type="module" src="/console/assets/main-AAAA.js"></script>';
const script = 'export const much = 1;\n'.repeat(2000);

let dist: string;
let api: TestApi;
let bare: TestApi;
beforeAll(async () => {
  dist = await mkdtemp(join(tmpdir(), 'svc-console-'));
  const folder = join(dist, 'console-1');
  await mkdir(join(folder, 'assets', 'folder'), { recursive: true });
  await writeFile(join(dist, 'console.json'), JSON.stringify({ folder: 'console-1' }));
  await writeFile(join(dist, 'secret.js'), 'secret');
  await writeFile(join(folder, 'index.html'), page);
  await writeFile(join(folder, 'assets', 'main-AAAA.js'), script);
  await writeFile(join(folder, 'assets', 'main-AAAA.js.br'), brotliCompressSync(script));
  await writeFile(join(folder, 'assets', 'main-AAAA.js.gz'), gzipSync(script));
  await writeFile(join(folder, 'assets', 'style-BBBB.css'), 'body { color: red }');
  await writeFile(join(folder, 'assets', 'notes.txt'), 'no type');
  await symlink(join(dist, 'secret.js'), join(folder, 'assets', 'gone.js'));
  await rm(join(dist, 'secret.js'));
  bare = await startTestApi();
  api = await bare.another({ consoleDist: pathToFileURL(`${dist}/`) });
});
afterAll(async () => {
  await api?.close();
  await bare?.close();
  await rm(dist, { recursive: true, force: true });
});

const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const get = (path: string, headers: Record<string, string> = browser, method = 'GET', where = api) =>
  rawCall(where, method, path, { headers });

describe('the files of the web console (CO-1, CO-2)', () => {
  it('a browser at the address of the server is led there, and programs are told how to begin', async () => {
    for (const path of ['/', '/console']) {
      const { status, headers, text } = await get(path);
      expect([path, status, headers.location, text]).toEqual([path, 302, '/console/', '']);
    }
    expect((await get('/', { accept: '*/*' })).text).toContain('svc whoami');
    expect((await get('/?next=//evil.example')).headers.location).toBe('/console/');
  });

  it.each([
    '/console/',
    '/console/?x=1',
    '/console/requests',
    '/console/requests?status=pending',
    `/console/requests/${randomUUID()}`,
  ])('answers the page at %s, which no browser keeps without asking', async (path) => {
    const { status, headers, text } = await get(path);
    expect([status, text, headers['content-type'], headers['cache-control']]).toEqual([
      200,
      page,
      'text/html; charset=utf-8',
      'no-cache',
    ]);
  });

  it('every answer forbids what the page does not need, also a refusal', async () => {
    const answers = await Promise.all(
      ['/console', '/console/', '/console/assets/main-AAAA.js', '/console/assets/none.js'].map((path) => get(path)),
    );
    expect(answers.map(({ status }) => status)).toEqual([302, 200, 200, 404]);
    for (const { headers } of answers) {
      expect(headers['content-security-policy']).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
      );
      expect(headers['referrer-policy']).toBe('no-referrer');
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['cross-origin-opener-policy']).toBe('same-origin');
      expect(headers['permissions-policy']).toContain('camera=(), ');
      expect(headers['set-cookie']).toBeUndefined();
    }
  });

  it('gives a file in the smallest form that the caller takes, to be kept for ever', async () => {
    const forms = [
      ['gzip, deflate, br', 'br'],
      ['gzip;q=1.0, br;q=0.5', 'br'],
      ['gzip, br;q=0', 'gzip'],
      ['GZIP', 'gzip'],
      ['br;q=0.000, gzip;q=0', undefined],
      ['', undefined],
      ['brotli, xgzip', undefined],
    ] as const;
    for (const [accepted, encoding] of forms) {
      const { headers, bytes } = await get('/console/assets/main-AAAA.js', { 'accept-encoding': accepted });
      expect([accepted, headers['content-encoding']]).toEqual([accepted, encoding]);
      const read = { br: brotliDecompressSync, gzip: gunzipSync, plain: (bytes: Buffer) => bytes }[encoding ?? 'plain'];
      expect(read(bytes).toString()).toBe(script);
      expect([headers['content-type'], headers['cache-control'], headers.vary]).toEqual([
        'text/javascript; charset=utf-8',
        'public, max-age=31536000, immutable',
        'Accept-Encoding',
      ]);
    }
    expect((await get('/console/assets/style-BBBB.css')).headers['content-type']).toBe('text/css; charset=utf-8');
  });

  it('answers HEAD like GET without the body, and nothing else', async () => {
    for (const path of ['/console/', '/console/assets/main-AAAA.js', '/console/requests']) {
      const [whole, head] = [await get(path), await get(path, browser, 'HEAD')];
      expect([head.status, head.text, head.headers['content-type']]).toEqual([200, '', whole.headers['content-type']]);
      expect((await get(path, { authorization: `Bearer ${api.tokens.admin}` }, 'POST')).status).toBe(405);
    }
  });

  it.each([
    '/console/assets/none.js',
    '/console/assets/',
    '/console/assets/folder',
    '/console/assets/notes.txt',
    '/console/assets/gone.js',
    '/console/assets/main-AAAA.js.br',
    '/console/assets/MAIN-AAAA.js',
    '/console/assets/main-AAAA.js%00',
    '/console/assets/..%2Findex.html',
    '/console/assets/../../console.json',
    '/console/..%2f..%2fconsole.json',
    '/console/%2e%2e/%2e%2e/package.json',
    '/console/assets/..%5c..%5cconsole.json',
    '/console/assets/%2fetc%2fpasswd',
    '/console/assets/__proto__',
    '/console/assets/constructor',
    '/console/favicon.ico',
    '/console/index.html',
    '/console/console.json',
    '/console/a/b/c',
    '/console//',
    '/console/%zz',
    '/consolex',
    '/CONSOLE/',
  ])('has nothing at %s', async (path) => {
    const { status, body } = await get(path);
    expect([404, 400, 401]).toContain(status);
    expect(body.code).toMatch(/^(route\.not_found|validation\.failed|auth\.missing_token)$/);
  });

  it('tells a program that a page is no file', async () => {
    for (const path of ['/console/requests', '/console/health/part'])
      expect((await get(path, { accept: '*/*' })).body.code).toBe('route.not_found');
    expect((await get(`/console/requests/${randomUUID()}`, { accept: '*/*' })).text).toBe(page);
  });

  it('is limited by address as other public routes', async () => {
    const strict = await bare.another({
      toml: `${shopToml}[rate_limits]\nper_address = 2\nstore = "memory"\n`,
      consoleDist: pathToFileURL(`${dist}/`),
    });
    const statuses = [];
    for (let count = 0; count < 3; count += 1) statuses.push((await get('/console/', browser, 'GET', strict)).status);
    expect(statuses).toEqual([200, 200, 429]);
    await strict.close();
  });

  it('with the console off there is nothing below /console, and nobody is led there', async () => {
    const off = await bare.another({ toml: `${shopToml}[console]\nenabled = false\n`, consoleDist: pathToFileURL(`${dist}/`) });
    for (const path of [
      '/console',
      '/console/',
      '/console/requests',
      `/console/requests/${randomUUID()}`,
      '/console/assets/main-AAAA.js',
    ])
      expect((await get(path, browser, 'GET', off)).body.code).toBe('route.not_found');
    expect((await get('/', browser, 'GET', off)).status).toBe(200);
    await off.close();
  });

  it('without a build there is the page that names the commands, and nobody is led elsewhere', async () => {
    expect((await get('/', browser, 'GET', bare)).text).toContain('svc whoami');
    for (const path of ['/console/', '/console/requests', '/console/assets/main-AAAA.js'])
      expect((await get(path, browser, 'GET', bare)).body.code).toBe('route.not_found');
    expect((await get(`/console/requests/${randomUUID()}`, browser, 'GET', bare)).text).toContain('svc request show');
  });
});
