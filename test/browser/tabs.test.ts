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
  });
});
