import { mkdirSync, mkdtempSync, readFileSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../config/index.js';
import { withIdentity } from '../../dev/identity/plan.js';
import { type DemoIdentity, startIdentityProvider } from '../../dev/identity/provider.js';
import { layoutOf } from '../../dev/layout.js';
import { freePort } from '../../dev/ports.js';
import { writeLoginConfig } from '../../dev/users.js';
import { claimsOf, shownAddress } from '../cli/login-place.js';
import { runSvc } from '../cli/run-svc.js';
import { openBrowser } from '../support/browser.js';
import { logInAtDemo } from '../support/demo-login.js';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';

let identity: DemoIdentity;
let api: FakeApi;
let folder: string;
beforeEach(async () => {
  identity = await startIdentityProvider(await freePort(), ['alice', 'bob']);
  api = await startFakeApi();
  api.on('GET /api/me', ({ headers }) => ({ body: { subject_id: claimsOf(headers.authorization ?? '').sub } }));
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-identity-')));
});
afterEach(async () => {
  identity.close();
  await api.close();
});

const svc = async (argv: string[], open?: (address: string) => Promise<unknown>) => {
  const config = writeLoginConfig(layoutOf(folder), api.url, identity);
  const result = await runSvc(['--config', config, ...argv, '--json'], {
    environment: { XDG_CONFIG_HOME: folder },
    limits: { devicePauseMs: 20 },
    started: async ({ stderr }) => void (await open?.(await shownAddress(stderr))),
  });
  return JSON.parse(result.stdout);
};
const passwordOf = (who: string) => identity.people.find(({ name }) => name === who)!.password;

describe('the identity provider of npm start -- --oidc (DV-14)', () => {
  it('lets alice and bob in by browser with the passwords that are printed, and nobody else', async () => {
    for (const name of ['alice', 'bob'])
      expect(
        (await svc(['login', '--no-browser'], (address) => logInAtDemo(address, name, passwordOf(name)))).data.subject_id,
      ).toBe(name);
    let refused = 0;
    const tryAll = async (address: string) => {
      for (const [name, password] of [
        ['alice', passwordOf('bob')],
        ['alice', ''],
        ['mallory', passwordOf('alice')],
      ] as const) {
        await logInAtDemo(address, name, password).catch(() => (refused += 1));
      }
    };
    let tries: Promise<void> | undefined;
    const failed = await svc(['login', '--no-browser', '--timeout', '1'], (address) => {
      tries = tryAll(address);
      return tries;
    });
    // It may give up before the last try is over.
    await tries;
    expect([refused, failed.error.code]).toEqual([3, 'timeout']);
    expect((await svc(['whoami'])).data.subject_id).toBe('bob');
  });

  it('lets them in by code, and revokes at logout', async () => {
    const made = await svc(['login', '--device'], (address) => logInAtDemo(address, 'alice', passwordOf('alice')));
    expect(made.data).toMatchObject({ subject_id: 'alice', renews: true });
    expect(await svc(['logout'])).toEqual({ ok: true, data: { removed: [api.url] } });
  });

  it('is reached from this machine only, and its pages load nothing and are shown in no frame', async () => {
    expect(identity.issuer).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const answer = await fetch(`${identity.issuer}/interaction/none`);
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('This login has ended')]);
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
    const { text } = await openBrowser()(`${identity.issuer}/device`);
    expect(text.replaceAll(identity.issuer, '')).not.toMatch(/https?:|src=|@import/);
  });

  it('stands in a server.toml that is complete, with a licence of its own', () => {
    const layout = layoutOf(folder);
    mkdirSync(layout.run);
    const { serverConfig, environment } = withIdentity(layout, identity);
    const variables = [...readFileSync(serverConfig, 'utf8').matchAll(/\$\{(SVC_DEV_\w+)\}/g)].map(([, name]) => name!);
    const dummies = Object.fromEntries(variables.map((name) => [name, 'http://127.0.0.1:1']));
    const overrides = {
      SVC_DEV_LISTEN: '127.0.0.1:1',
      SVC_DEV_WORKER_LISTEN: '127.0.0.1:2',
      SVC_DEV_TEMPORAL_ADDRESS: '127.0.0.1:3',
    };
    const database = { SVC_DEV_DATABASE_URL: 'postgres://x@127.0.0.1:1/x', SVC_DEV_STATE_DIR: folder };
    const loaded = loadConfig(serverConfig, { ...dummies, ...overrides, ...database, ...environment });
    expect(loaded).toMatchObject({ ok: true });
  });
});
