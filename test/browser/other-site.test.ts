import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { currentConsole } from '../../bin/console.mjs';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { openTestBrowser, type TestBrowser } from '../support/console.js';
import { consoleDist } from '../support/console-gateway.js';
import { attacks, type Loot, type OtherSite, startOtherSite } from '../support/other-site.js';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const browser = (await openTestBrowser(import.meta.url)) as TestBrowser;

describe.skipIf(browser === null)('a page of somebody else in the browser of an approver', () => {
  let api: TestApi;
  let other: OtherSite;
  let alice: string;
  let bob: string;
  beforeAll(async () => {
    await currentConsole();
    other = await startOtherSite();
    api = await startTestApi({ toml: shopToml, consoleDist });
    alice = await api.createUser('alice', { roles: ['requester'] });
    bob = await api.createUser('bob', { roles: ['requester'], groups: ['dba-team'] });
  });
  afterAll(async () => {
    await browser.close();
    await other?.close();
    await api?.close();
  });

  // Another port of the same host is the same site: the browser sends the cookie along, and the server has to refuse.
  it.each([
    ['of the same site', '127.0.0.1'],
    ['of another site', 'localhost'],
  ])('%s reads nothing and changes nothing (CO-2, CO-13)', async (_kind, host) => {
    const { body } = await api.call('POST', '/api/requests', {
      token: alice,
      body: { database: 'shop', environment: 'production', detail: 'select 1', reason: 'a test' },
    });
    const { page, context } = await browser.signIn(api.url, bob);
    const before = await stored();
    const evil = await context.newPage();
    await evil.goto(`http://${host}:${other.port}/`);
    const opening = context.waitForEvent('page');
    const loot = await evil.evaluate<Loot>(attacks(api.url, body.id));
    expect(loot).toEqual([]);
    expect(await stored()).toEqual(before);

    // Nothing of the console was shown in a frame, and the window that was opened knows nothing of who opened it.
    for (const frame of evil.frames().slice(1)) expect(await frame.locator('#page').count()).toBe(0);
    const opened = await opening;
    await opened.getByRole('heading', { level: 1 }).waitFor();
    expect(await opened.evaluate('String(window.opener)')).toBe('null');

    // The session is alive, and the attempts would have worked from the page itself.
    const own = `fetch('/api/requests/${body.id}/reject', { method: 'POST' }).then(({ status }) => status)`;
    expect(await page.evaluate(own)).toBe(200);
    expect(await stored()).not.toEqual(before);
  });

  it('the cookie is nothing that scripts see or other sites send (CO-11)', async () => {
    const { page, context } = await browser.signIn(api.url, bob);
    expect(await page.evaluate('document.cookie')).toBe('');
    const cookies = await context.cookies();
    expect(cookies).toMatchObject([
      { name: 'svc_console', domain: '127.0.0.1', path: '/', httpOnly: true, secure: false, sameSite: 'Strict' },
    ]);
    expect(Math.round((cookies[0]!.expires - Date.now() / 1000) / 3600)).toBe(12);
    expect(await page.evaluate('JSON.stringify([Object.keys(localStorage), Object.keys(sessionStorage)])')).toBe('[[],[]]');
  });

  /** All that a page could want to change. */
  const stored = () =>
    api.services.database.query(
      `select (select json_agg(json_build_array(r.id, r.status, r.version) order by r.id) from requests r) as requests,
        (select count(*)::int from decisions) as decisions, (select json_agg(t.id order by t.id) from tokens t where t.revoked_at is null) as tokens,
        (select json_agg(json_build_array(u.id, u.status, u.roles) order by u.id) from users u) as users`,
    );
});
