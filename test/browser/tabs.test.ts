import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { currentConsole } from '../../bin/console.mjs';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { openTestBrowser, type TestBrowser } from '../support/console.js';
import { consoleDist } from '../support/console-gateway.js';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const browser = (await openTestBrowser(import.meta.url)) as TestBrowser;

describe.skipIf(browser === null)('two tabs of a browser', () => {
  let api: TestApi;
  let tokens: Record<'alice' | 'bob', string>;
  beforeAll(async () => {
    await currentConsole();
    api = await startTestApi({ toml: shopToml, consoleDist });
    tokens = await api.createUsers({ alice: { roles: ['requester'] }, bob: { roles: ['requester'] } });
  });
  afterAll(async () => {
    await browser.close();
    await api?.close();
  });

  it('tell each other who is signed in, also after a sign-in at the identity provider (CO-14, CO-33)', async () => {
    const { page, context } = await browser.signIn(api.url, tokens.alice);
    // The way back from a provider sets the cookie and leads to the page, without a word of a page before it.
    const headers = { origin: api.url };
    const answer = await context.request.post(`${api.url}/api/console/session`, { data: { token: tokens.bob }, headers });
    expect(answer.status()).toBe(204);
    const other = await context.newPage();
    await other.goto(`${api.url}/console/`);
    await other.getByRole('heading', { name: 'Inbox' }).waitFor();
    await page.getByText('You are now signed in as bob').waitFor();
    await context.close();
  });

  it('sign each other in where they ask for it', async () => {
    const { page, context } = await browser.signIn(api.url, tokens.alice);
    const other = await context.newPage();
    await other.goto(`${api.url}/console/new`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await other.getByText('You are signed out').waitFor();
    await page.getByLabel('API token').fill(tokens.alice);
    await page.keyboard.press('Enter');
    await other.getByRole('heading', { name: 'New request' }).waitFor();
    await context.close();
  });

  it.each(['signed in', 'signed out'])(
    'take a link that is opened in a tab of the console, %s, and keep no code in the address (CO-33)',
    async (how) => {
      const { page, context } = how === 'signed in' ? await browser.signIn(api.url, tokens.alice) : await browser.open();
      await page.goto(`${api.url}/console/`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      const { body } = await api.call('POST', '/api/console/code', { token: tokens.bob });
      await page.evaluate(`location.href = ${JSON.stringify(`${api.url}/console/#code=${body.code}`)}`);
      await page.locator('.self strong').getByText('bob').filter({ visible: true }).waitFor();
      expect(page.url()).toBe(`${api.url}/console/`);
      await context.close();
    },
  );

  it('have one stream of changes, however many they are: the browser needs its connections for calls (CO-21)', async () => {
    const { page, context } = await browser.signIn(api.url, tokens.alice);
    const streams: string[] = [];
    context.on('request', (request) => request.url().endsWith('/api/events') && streams.push(request.url()));
    const more = [];
    for (let tab = 2; tab <= 8; tab += 1) {
      const other = await context.newPage();
      await other.goto(`${api.url}/console/`);
      await other.getByRole('heading', { name: 'Your open requests' }).waitFor();
      await other.getByText('live', { exact: true }).filter({ visible: true }).waitFor();
      more.push(other);
    }
    expect(streams).toEqual([]);
    await api.call('POST', '/api/requests', { token: tokens.alice, body: asked('first') });
    for (const tab of [page, ...more]) await rowOf(tab, 'first').waitFor();
    // It goes with the tab that has it; another one opens it then.
    const opened = context.waitForEvent('request', (request) => request.url().endsWith('/api/events'));
    await page.close();
    await opened;
    for (const tab of more) await tab.getByText('live', { exact: true }).filter({ visible: true }).waitFor();
    await api.call('POST', '/api/requests', { token: tokens.alice, body: asked('second') });
    for (const tab of more) await rowOf(tab, 'second').waitFor();
    expect(streams).toHaveLength(1);
    await context.close();
  });

  it('leave the stream to the others while the browser keeps them for the way back, and then show what came meanwhile (CO-21)', async () => {
    const { page, context } = await browser.signIn(api.url, tokens.alice);
    await page.getByText('live', { exact: true }).filter({ visible: true }).waitFor();
    const other = await context.newPage();
    await other.goto(`${api.url}/console/`);
    await other.getByRole('heading', { name: 'Inbox' }).waitFor();
    const opened = context.waitForEvent('request', (request) => request.url().endsWith('/api/events'));
    await transit(page, 'pagehide');
    expect((await opened).frame().page()).toBe(other);
    // It may be asking still; kept aside, it would not hear the answer.
    await page.route('**/api/requests?*', (route) => route.abort());
    await api.call('POST', '/api/requests', { token: tokens.alice, body: asked('third') });
    await rowOf(other, 'third').waitFor();
    expect(await rowOf(page, 'third').count()).toBe(0);
    await page.unroute('**/api/requests?*');
    await transit(page, 'pageshow');
    await rowOf(page, 'third').waitFor();
    await context.close();
  });
});

/** As the browser tells a page that it keeps for the way back, and later shows again. */
const transit = (page: Page, name: 'pagehide' | 'pageshow') =>
  page.evaluate(`void dispatchEvent(new PageTransitionEvent('${name}', { persisted: true }))`);

const asked = (word: string) => ({
  database: 'shop',
  environment: 'production',
  detail: `select '${word}'`,
  reason: 'a test',
});

const rowOf = (page: Page, word: string) => page.getByRole('link', { name: `select '${word}'` });
