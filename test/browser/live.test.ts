import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { currentConsole } from '../../bin/console.mjs';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { openTestBrowser, type TestBrowser, type Window } from '../support/console.js';
import { consoleDist } from '../support/console-gateway.js';
import { hurried } from '../support/hurried.js';
import { startTcpProxy } from '../support/tcp-proxy.js';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const browser = (await openTestBrowser(import.meta.url)) as TestBrowser;

describe.skipIf(browser === null)('a page that stays open', () => {
  let api: TestApi;
  let tokens: Record<'alice' | 'bob' | 'carol' | 'mallory' | 'audrey' | 'erin', string>;
  beforeAll(async () => {
    await currentConsole();
    api = await startTestApi({
      toml: `${shopToml}\n[[auth.roles]]\nname = "auditor"\npermissions = ["audit.read"]\n`,
      consoleDist,
    });
    tokens = await api.createUsers({
      alice: { roles: ['requester', 'approver'] },
      bob: { roles: ['requester'], groups: ['dba-team'] },
      carol: { roles: ['requester'], groups: ['dba-team'] },
      mallory: { roles: ['requester'] },
      audrey: { roles: ['auditor'] },
      erin: { roles: ['requester', 'admin'] },
    });
  });
  afterAll(async () => {
    await browser.close();
    await api?.close();
  });

  it.each(['with the stream of changes', 'without it'])(
    'tells of what newly waits in title and icon, %s (CO-21)',
    async (how) => {
      const { page, complaints } = await browser.open();
      if (how === 'without it') await page.route('**/api/events', (route) => route.abort());
      await signIn(page, tokens.bob);
      await page.getByText('Nothing waits for you').waitFor();
      await setVisibility(page, 'hidden');
      const id = await ask();
      await expect.poll(() => page.title(), { timeout: 30_000 }).toBe('● (1) Inbox – Database Change Gateway');
      expect(await icon(page)).toContain('/news-');
      await setVisibility(page, 'visible');
      await expect.poll(() => page.title()).toBe('(1) Inbox – Database Change Gateway');
      expect(await icon(page)).toContain('/icon-');
      await api.call('POST', `/api/requests/${id}/reject`, { token: tokens.carol, body: {} });
      await expect.poll(() => page.title(), { timeout: 30_000 }).toBe('Inbox – Database Change Gateway');
      expect(complaints).toEqual([]);
    },
  );

  it('a tab that is opened behind another one has no news', async () => {
    const id = await ask();
    const { context } = await browser.signIn(api.url, tokens.bob);
    const behind = await context.newPage();
    await behind.addInitScript(`Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => 'hidden' })`);
    await behind.goto(`${api.url}/console/`);
    await expect.poll(() => behind.title()).toBe('(1) Inbox – Database Change Gateway');
    await api.call('POST', `/api/requests/${id}/reject`, { token: tokens.carol, body: {} });
  });

  it('opens the stream anew that a router has forgotten, and none that is only quiet (CO-21)', async () => {
    const quick = await api.another({ times: { commentMs: 500 }, consoleDist });
    const proxy = await startTcpProxy(quick.url);
    const { page } = await browser.open();
    await page.addInitScript(hurried(10));
    const streams: string[] = [];
    page.on('request', (request) => request.url().endsWith('/api/events') && streams.push(request.url()));
    await signIn(page, tokens.bob, proxy.url);
    await page.getByText('Nothing waits for you').waitFor();
    // Longer than a silence of 40 s may be on this page.
    await sleep(9000);
    expect(streams).toHaveLength(1);
    proxy.strand();
    const id = await ask();
    await expect.poll(() => page.title(), { timeout: 30_000 }).toBe('(1) Inbox – Database Change Gateway');
    // The browser may take another forgotten connection at first.
    expect(streams.length).toBeGreaterThan(1);
    await api.call('POST', `/api/requests/${id}/reject`, { token: tokens.carol, body: {} });
    await page.close();
    await proxy.close();
    await quick.close();
  });

  // A leak of what the frame draws is about 45 objects for each look.
  it('keeps nothing of what it has shown before', async () => {
    const { page, context } = await browser.open();
    await page.addInitScript(hurried(10));
    await signIn(page, tokens.bob);
    const showRequests = async (count: number) => {
      for (let round = 0; round < count; round += 1) {
        const id = await ask();
        await expect.poll(() => page.title()).toBe('(1) Inbox – Database Change Gateway');
        await api.call('POST', `/api/requests/${id}/reject`, { token: tokens.carol, body: {} });
        await expect.poll(() => page.title()).toBe('Inbox – Database Change Gateway');
      }
      return objectsOf({ page, context });
    };
    const before = await showRequests(5);
    expect(await showRequests(12)).toBeLessThan(before + 500);
  });

  it('offers what the roles of now allow (CO-20)', async () => {
    const { page } = await browser.signIn(api.url, tokens.alice);
    const link = page.getByRole('link', { name: 'New request' });
    await link.waitFor();
    await change('alice', { rm_roles: ['requester'] });
    await link.waitFor({ state: 'detached' });
    await page.keyboard.press('c');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/');
    await change('alice', { add_roles: ['requester'] });
    await link.waitFor();
    await change('alice', { rm_roles: ['requester', 'approver'] });
    await page.getByText('The gateway refuses this session: insufficient permissions.').waitFor();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  it.each([
    ['/console/audit', 'token.created'],
    ['/console/people?show=tokens', 'audrey'],
  ])('leaves nothing of %s in sight that the roles of now refuse (CO-21)', async (path, text) => {
    const { page } = await browser.signIn(api.url, tokens.erin);
    await page.goto(`${api.url}${path}`);
    const found = page.locator('main').getByText(text, { exact: true }).filter({ visible: true }).first();
    await found.waitFor();
    await change('erin', { rm_roles: ['admin'] });
    await found.waitFor({ state: 'detached' });
    await page.close();
    await change('erin', { add_roles: ['admin'] });
  });

  it('tells times by the clock of the server, whatever day the machine shows (CO-31)', async () => {
    const id = await ask();
    const { page, context } = await browser.open();
    await context.addInitScript(`{ const now = Date.now; Date.now = () => now() + 40 * 86_400_000; }`);
    await signIn(page, tokens.bob);
    await page.goto(`${api.url}/console/requests/${id}`);
    await page.getByText('expires in').waitFor();
    await page.goto(`${api.url}/console/people?show=tokens`);
    await page.getByText('New token of mine').click();
    await page.getByLabel('Name').fill('a month');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('dialog', { name: 'a month' }).getByRole('button', { name: 'Close' }).click();
    const { body } = await api.call('GET', '/api/tokens', { token: tokens.bob });
    const { created_at, expires_at } = body.tokens.find(({ name }: { name: string }) => name === 'a month');
    expect(Math.round((Date.parse(expires_at) - Date.parse(created_at)) / 86_400_000)).toBe(30);
    await api.call('POST', `/api/requests/${id}/reject`, { token: tokens.carol, body: {} });
  });

  it('asks for no requests where the roles show none', async () => {
    const { page } = await browser.open();
    const refused: string[] = [];
    page.on('response', (response) => response.status() === 403 && refused.push(response.url()));
    await signIn(page, tokens.audrey);
    await page.getByText('Your roles show you no requests.').waitFor();
    await page.getByText('live', { exact: true }).filter({ visible: true }).waitFor();
    expect(refused).toEqual([]);
  });

  it('says after signing out neither who was there nor what waited for them', async () => {
    const id = await ask();
    const { page } = await browser.signIn(api.url, tokens.bob);
    await expect.poll(() => page.title()).toBe('(1) Inbox – Database Change Gateway');
    await page.route('**/api/console/session', (route) => route.fulfill({ status: 503, json: {} }));
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('alert').getByText('The server answered 503').waitFor();
    await page.unroute('**/api/console/session');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are signed out').waitFor();
    await expect.poll(() => page.title()).toBe('Sign in – Database Change Gateway');
    await api.call('POST', `/api/requests/${id}/reject`, { token: tokens.carol, body: {} });
  });

  it('tells each tab when a link has signed in somebody else than who was there (CO-33), and when they signed out', async () => {
    const { page } = await browser.signIn(api.url, tokens.bob);
    const openLink = async (token: string) => {
      const { body } = await api.call('POST', '/api/console/code', { token });
      await page.goto('about:blank');
      await page.goto(`${api.url}/console/#code=${body.code}`);
      await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    };
    await openLink(tokens.bob);
    const told = (at: Page) => at.getByText('You are now signed in as mallory');
    expect(await told(page).count()).toBe(0);
    const other = await page.context().newPage();
    await other.goto(`${api.url}/console/new`);
    await other.getByLabel('Reason').fill('of bob');
    await openLink(tokens.mallory);
    await page.getByText('You are now signed in as mallory, by a link or in another tab. Before, you were bob.').waitFor();
    await page.getByRole('button', { name: 'Understood' }).click();
    await told(page).waitFor({ state: 'detached' });
    // The other tab has the same session: it must not go on as if it were bob's.
    await told(other).waitFor();
    expect(await other.getByLabel('Reason').inputValue()).toBe('');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await other.getByLabel('API token').waitFor();
    expect(await other.evaluate('sessionStorage.length')).toBe(0);
  });

  it('takes single letters for keys unless they are switched off, which the browser remembers (WCAG 2.1.4)', async () => {
    const { page } = await browser.signIn(api.url, tokens.bob);
    const keys = page.getByRole('dialog', { name: 'Keys' });
    await page.keyboard.press('?');
    await keys.getByLabel('Single letters are keys').uncheck();
    await keys.getByRole('button', { name: 'Close' }).click();
    await page.reload();
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    await page.keyboard.press('c');
    await page.keyboard.press('?');
    await page.getByRole('button', { name: 'Keys' }).click();
    await keys.waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/');
    await keys.getByLabel('Single letters are keys').check();
    await keys.getByRole('button', { name: 'Close' }).click();
    await page.keyboard.press('c');
    await page.getByRole('heading', { name: 'New request' }).waitFor();
  });

  async function signIn(page: Page, token: string, url = api.url): Promise<void> {
    await page.goto(`${url}/console/`);
    await page.getByLabel('API token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  }

  async function ask(): Promise<string> {
    const body = { database: 'shop', environment: 'production', detail: 'select 1', reason: 'a test' };
    const answer = await api.call('POST', '/api/requests', { token: tokens.mallory, body });
    expect(answer.status).toBe(201);
    return answer.body.id;
  }

  async function change(user: string, body: object): Promise<void> {
    const { status, text } = await api.call('PATCH', `/api/users/${user}`, { token: api.tokens.admin, body });
    expect({ status, text }).toMatchObject({ status: 200 });
  }
});

/** How many objects of JavaScript the page holds, without garbage. */
async function objectsOf({ page, context }: Pick<Window, 'page' | 'context'>): Promise<number> {
  const inspector = await context.newCDPSession(page);
  const { result } = await inspector.send('Runtime.evaluate', { expression: 'Object.prototype' });
  const { objects } = await inspector.send('Runtime.queryObjects', { prototypeObjectId: result.objectId! });
  const { result: properties } = await inspector.send('Runtime.callFunctionOn', {
    objectId: objects.objectId!,
    functionDeclaration: 'function () { return this.length; }',
  });
  await inspector.detach();
  return properties.value;
}

const icon = (page: Window['page']) => page.locator('link[rel=icon]').getAttribute('href');

/** As when the person goes to another tab, and comes back. */
const setVisibility = (page: Page, state: 'hidden' | 'visible') =>
  page.evaluate(`(() => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => '${state}' });
    document.dispatchEvent(new Event('visibilitychange'));
  })()`);
