import { lookup as lookUp } from 'node:dns/promises';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { runServer } from '../../api/main.js';
import { refusedHost } from '../../config/addresses.js';
import { formatProblem, type Lookup, loadConfigForUse } from '../../config/index.js';
import { runWorker } from '../../worker/main.js';
import { MINIMAL } from './support.js';

const directory = mkdtempSync(join(tmpdir(), 'svc-hosts-'));
afterAll(() => rmSync(directory, { recursive: true }));
const file = join(directory, 'server.toml');
const environment = { SVC_SECRET_KEY: '5e'.repeat(32) };

const webhooks = (...urls: string[]) => urls.map((url, index) => `[[webhooks]]\nid = "w${index}"\nurl = "${url}"\n`).join('');

async function check(text: string, lookup: Lookup) {
  writeFileSync(file, text);
  const loaded = await loadConfigForUse(file, environment, lookup);
  const told = (list: typeof loaded.warnings) =>
    list.map((one) => formatProblem({ ...one, file: 'server.toml' })).filter((line) => line.includes('.url: host'));
  return { ok: loaded.ok, errors: loaded.ok ? [] : told(loaded.errors), warnings: told(loaded.warnings) };
}

function names(answers: Record<string, string[]>) {
  const asked: string[] = [];
  const lookup: Lookup = async (host) => {
    asked.push(host);
    const found = answers[host];
    if (found === undefined) throw new Error('not found');
    return found.map((address) => ({ address }));
  };
  return { lookup, asked };
}

const inside = { 'intranet.example': ['93.184.216.34', '10.1.2.3'], 'meta.example': ['10.0.0.1', '169.254.169.254'] };
const outside = { 'hooks.example.net': ['93.184.216.34', '2606:2800:220:1::1'] };

describe('hosts of webhooks at load (NT-42)', () => {
  it('are errors if one of their addresses is refused, with the place in the file', async () => {
    const { lookup } = names({ ...inside, ...outside });
    const text = MINIMAL + webhooks('https://hooks.example.net/a', 'https://intranet.example/b', 'http://meta.example:81/');
    expect(await check(text, lookup)).toEqual({
      ok: false,
      errors: [
        'server.toml:9:7: webhooks[1] "w1".url: host intranet.example resolves to a private address (set allow_private_networks or use a public host)',
        'server.toml:12:7: webhooks[2] "w2".url: host meta.example resolves to a link-local or metadata address (use another host)',
      ],
      warnings: [],
    });
  });

  it('NT-44: may be private where that is allowed, but never link-local or of a cloud', async () => {
    const { lookup } = names(inside);
    const text = `allow_private_networks = true\n${MINIMAL}${webhooks('https://intranet.example', 'https://meta.example')}`;
    expect(await check(text, lookup)).toEqual({
      ok: false,
      errors: [
        'server.toml:10:7: webhooks[1] "w1".url: host meta.example resolves to a link-local or metadata address (use another host)',
      ],
      warnings: [],
    });
  });

  it('are warnings if they do not resolve', async () => {
    const { lookup } = names({ 'empty.example': [] });
    const warning = (line: number, index: number, host: string) =>
      `server.toml:${line}:7: webhooks[${index}] "w${index}".url: host ${host} does not resolve`;
    expect(await check(MINIMAL + webhooks('https://unknown.example', 'https://empty.example'), lookup)).toEqual({
      ok: true,
      errors: [],
      warnings: [warning(6, 0, 'unknown.example'), warning(9, 1, 'empty.example')],
    });
  });

  it('are looked up once each, and not at all when they are addresses, local names or no URL', async () => {
    const { lookup, asked } = names(outside);
    const again = ['https://hooks.example.net/1', 'https://HOOKS.example.net/2'];
    await check(MINIMAL + webhooks(...again, 'http://10.0.0.1', 'http://[::1]', 'http://localhost', 'nowhere'), lookup);
    expect(asked).toEqual(['hooks.example.net']);
    await check('= no TOML', lookup);
    await check(MINIMAL, lookup);
    expect(asked.length).toBe(1);
  });

  it('are judged beside every other error of the file', async () => {
    writeFileSync(file, `${MINIMAL}pool_mx = 5\n${webhooks('https://intranet.example')}`);
    const loaded = await loadConfigForUse(file, environment, names(inside).lookup);
    expect(!loaded.ok && loaded.errors.map(({ key }) => key)).toEqual(['database.pool_mx', 'webhooks[0] "w0".url']);
  });

  it('hold nobody up for longer than three seconds together', { timeout: 20_000 }, async () => {
    const dead: string[] = [];
    const lookup: Lookup = async (host) => {
      if (host === 'late.example') return [{ address: '10.0.0.1' }];
      dead.push(host);
      return new Promise(() => {});
    };
    const text = MINIMAL + webhooks('https://late.example', ...[1, 2, 3, 4].map((number) => `https://dead${number}.example`));
    const { ok, errors, warnings } = await check(text, lookup);
    expect({ ok, errors: errors.length, warnings: warnings.map((line) => line.replace(/.*: /, '')) }).toEqual({
      ok: false,
      errors: 1,
      warnings: [1, 2, 3, 4].map((number) => `host dead${number}.example was not resolved in 3 s`),
    });
    expect(dead.length).toBeLessThanOrEqual(2);
  });
});

/** The machine's own name, which most systems give a private address. */
const own = hostname().toLowerCase();
const isInside = await lookUp(own, { all: true }).then(
  (found) => found.some(({ address }) => refusedHost(address, false) === 'private'),
  () => false,
);

describe('a process', () => {
  it.skipIf(!isInside)('does not start with a webhook whose name points inside', async () => {
    writeFileSync(file, MINIMAL + webhooks(`https://${own}/hook`));
    const lines: string[] = [];
    const write = vi.spyOn(process.stderr, 'write').mockImplementation((line) => lines.push(String(line)) > 0);
    vi.stubEnv('SVC_SECRET_KEY', environment.SVC_SECRET_KEY);
    try {
      const codes = [
        await runServer({ config: file, listen: '127.0.0.1:0', forceBootstrap: false }),
        await runWorker({ config: file }),
      ];
      expect(codes).toEqual([1, 1]);
    } finally {
      write.mockRestore();
      vi.unstubAllEnvs();
    }
    const error = `webhooks[0] "w0".url: host ${own} resolves to a private address`;
    expect(lines.filter((line) => line.includes(error)).length).toBe(2);
  });
});
