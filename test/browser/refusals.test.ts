import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { currentConsole } from '../../bin/console.mjs';
import { sleep } from '../../lib/sleep.js';
import { type ProxiedApi, startProxiedApi } from '../api/proxied-api.js';
import type { TestApi } from '../support/api.js';
import { openTestBrowser, pasteSql, problemIn, type TestBrowser, type Window } from '../support/console.js';
import { consoleDist } from '../support/console-gateway.js';
import { databaseToml, dbaTeamToml, needsDbaToml } from '../support/toml.js';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const browser = (await openTestBrowser(import.meta.url)) as TestBrowser;

/** Requests on `short` expire unless somebody approves them within that time. */
const shortSecs = 15;
const toml = [
  databaseToml('shop', ['staging', 'short']),
  dbaTeamToml,
  needsDbaToml('staging'),
  needsDbaToml('short', `pending_ttl_secs = ${shortSecs}`),
  '[preflight]\nrate_limit_per_minute = 2\n',
].join('');

const typed = 'half a sentence';

describe.skipIf(browser === null)('what the API refuses', () => {
  let behind: ProxiedApi;
  let api: TestApi;
  let tokens: Record<'alice' | 'erin' | 'bob' | 'carol', string>;
  beforeAll(async () => {
    await currentConsole();
    behind = await startProxiedApi({ toml, consoleDist });
    api = behind.api;
    tokens = await api.createUsers({
      alice: { roles: ['requester'] },
      erin: { roles: ['requester'] },
      bob: { roles: ['requester'], groups: ['dba-team'] },
      carol: { roles: ['requester'], groups: ['dba-team'] },
    });
  });
  afterAll(async () => {
    await browser.close();
    await behind?.close();
  });

  it('401: a session that was revoked asks for a new one, and what was typed is still there', async () => {
    const bob = await deciding('bob', await ask());
    // Only then: the page itself notices within seconds that its session has ended.
    await bob.page.route('**/approve', async (route) => {
      await endSessions('bob');
      await route.continue();
    });
    await press(bob, 'Approve');
    await bob.page.getByText('Your session has ended. Sign in again').waitFor();
    expect(await bob.page.getByLabel('Comment').count()).toBe(0);
    await bob.page.getByLabel('API token').fill(tokens.bob);
    await bob.page.keyboard.press('Enter');
    await bob.page.unroute('**/approve');
    await approves(bob);
  });

  it('403: an approver who no longer is one is told why', async () => {
    const bob = await deciding('bob', await ask());
    const release = await holdBack(bob.page);
    await api.call('PATCH', '/api/users/bob', { token: api.tokens.admin, body: { rm_groups: ['dba-team'] } });
    await press(bob, 'Approve');
    await saysInDecision(bob, 'Forbidden. This request is not open to you; its requester can share it.');
    await api.call('PATCH', '/api/users/bob', { token: api.tokens.admin, body: { add_groups: ['dba-team'] } });
    release();
    await approves(bob);
  });

  it('404: a request that there is not', async () => {
    const { page } = await browser.signIn(api.url, tokens.bob);
    await page.goto(`${api.url}/console/requests/00000000-0000-4000-8000-000000000000`);
    await says(page, 'Request not found. The address may be wrong, or what it names was removed.');
    await page.getByRole('heading', { level: 1, name: 'Request' }).waitFor();
  });

  it('409: another approver was faster, and the page offers no decision any longer', async () => {
    const id = await ask();
    const [bob, carol] = [await deciding('bob', id), await deciding('carol', id)];
    const release = await holdBack(bob.page);
    await press(carol, 'Approve');
    await carol.page.getByText('waits for alice to resume it').waitFor();
    await press(bob, 'Reject');
    await saysInDecision(bob, 'Request is approved. Look at how it stands now before you go on.');
    release();
    // It is hidden from somebody whom no step waits for any longer.
    await says(bob.page, 'Forbidden. This request is not open to you; its requester can share it.');
    expect(await bob.page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
    expect((await shown(id)).approval_progress.steps[0].approvals).toMatchObject([{ user: 'carol', action: 'approve' }]);
  });

  it('410: a request that expired while its page was open', async () => {
    const bob = await browser.signIn(api.url, tokens.bob);
    const id = await ask({ environment: 'short' });
    await decide(bob, id);
    const release = await holdBack(bob.page);
    await sleep(Math.max(0, Date.parse((await shown(id)).expires_at) - Date.now()) + 200);
    await press(bob, 'Approve');
    await saysInDecision(bob, 'Request has expired. Make a new request.');
    release();
  });

  it('413: a text that is too large stays in the editor', async () => {
    const { page } = await writing('alice', `${'-- '.padEnd(100, 'x')}\n`.repeat(43_000), api.url);
    await says(page, 'The body has more than 4194304 bytes. Make the text shorter.');
    await press({ page }, 'Send the request');
    await expect
      .poll(() => page.locator('form').getByRole('alert').allInnerTexts())
      .toEqual(['The body has more than 4194304 bytes. Make the text shorter.']);
    expect(await page.getByLabel('Reason').inputValue()).toBe(typed);
  });

  it('400: the field is named, and mended, it goes through', async () => {
    const { page } = await writing('alice', 'select 400', api.url);
    await page.getByLabel('Share with').fill('bob, team:ops');
    await press({ page }, 'Send the request');
    await expect
      .poll(() => page.locator('form').getByRole('alert').allInnerTexts())
      .toEqual(['Share_with entry is neither a user id nor a selector. See the field share_with[1].']);
    expect(await page.getByLabel('Reason').inputValue()).toBe(typed);
    await page.getByLabel('Share with').fill('bob');
    await press({ page }, 'Send the request');
    await page.getByText('waits for group:dba-team').waitFor();
  });

  it('429: says when to try again', async () => {
    const { page } = await browser.signIn(api.url, tokens.erin);
    await page.goto(`${api.url}/console/new`);
    await page.getByLabel('shop/staging').check();
    for (const text of ['select 1', ' + 1', ' + 2']) {
      const answered = page.waitForResponse('**/api/preflight');
      await pasteSql(page, text);
      await answered;
    }
    const problem = problemIn(page, 'What it would come to');
    await expect.poll(() => problem.innerText()).toMatch(/^More than 2 preflights per minute\. Try again in \d+ s\.$/);
    expect((await page.locator('.cm-content').innerText()).length).toBe('select 1 + 1 + 2'.length);
  });

  it('503: the database of the gateway is away, and comes back', async () => {
    const bob = await deciding('bob', await ask());
    behind.proxy.cut();
    await press(bob, 'Approve');
    await saysInDecision(bob, 'The gateway database is not reachable. Try again in 1 s.');
    behind.proxy.heal();
    await expect.poll(async () => (await api.call('GET', '/api/me', { token: tokens.bob })).status).toBe(200);
    await approves(bob);
  });

  it('503: the server drains', async () => {
    const other = await api.another({ toml, consoleDist, drainSecs: 10 });
    const { page } = await writing('alice', 'select 503', other.url);
    other.drain();
    await press({ page }, 'Send the request');
    await expect
      .poll(() => page.locator('form').getByRole('alert').allInnerTexts())
      .toEqual(['Server is shutting down. Try again in 1 s.']);
    expect(await page.getByLabel('Reason').inputValue()).toBe(typed);
    expect(await page.locator('.cm-content').innerText()).toBe('select 503');
    await page.context().close();
    await other.close();
  });

  // A proxy sends these, or a server too rarely: the test makes the answers up.
  it.each([
    [
      '429',
      { status: 429, headers: { 'retry-after': '7' }, json: { error: 'more than 9 calls per minute with this token' } },
      'More than 9 calls per minute with this token. Try again in 7 s.',
    ],
    [
      '500',
      { status: 500, json: { error: 'internal error', code: 'internal', hint: null } },
      'Internal error. Try again, or tell whoever runs the gateway.',
    ],
    ['502', { status: 502, contentType: 'text/html', body: '<h1>Bad gateway</h1>' }, 'The server answered 502.'],
  ] as const)('%s to a decision, made up in the browser, loses nothing', async (_status, answer, told) => {
    const bob = await deciding('bob', await ask());
    await bob.page.route('**/approve', (route) => route.fulfill({ ...answer }));
    await press(bob, 'Approve');
    await saysInDecision(bob, told);
    await bob.page.unroute('**/approve');
    await approves(bob);
  });

  it('a link that a busy server refuses, made up in the browser, signs in once the server has time', async () => {
    const { body } = await api.call('POST', '/api/console/code', { token: tokens.bob });
    const { page } = await browser.open();
    await page.route('**/api/console/session', (route) => route.fulfill({ status: 503, json: {} }));
    await page.goto(`${api.url}/console/#code=${body.code}`);
    await page.getByText('this page goes on by itself').waitFor();
    expect(page.url()).toBe(`${api.url}/console/`);
    await page.unroute('**/api/console/session');
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
  });

  async function ask(more: object = {}): Promise<string> {
    const body = { database: 'shop', environment: 'staging', detail: 'select 1', reason: 'a test', ...more };
    const { status, body: made, text } = await api.call('POST', '/api/requests', { token: tokens.alice, body });
    if (status !== 201) throw new Error(text);
    return made.id;
  }

  const shown = async (id: string) => (await api.call('GET', `/api/requests/${id}`, { token: tokens.alice })).body;

  /** The page of a request, with a comment begun. */
  async function deciding(who: 'bob' | 'carol', id: string): Promise<Window> {
    const window = await browser.signIn(api.url, tokens[who]);
    await decide(window, id);
    return window;
  }

  async function decide({ page }: Window, id: string): Promise<void> {
    await page.goto(`${api.url}/console/requests/${id}`);
    await page.getByLabel('Comment').fill(typed);
  }

  async function endSessions(who: 'bob'): Promise<void> {
    const { body } = await api.call('GET', '/api/tokens', { token: tokens[who] });
    for (const token of body.tokens.filter(({ name }: { name: string }) => name === 'console'))
      await api.call('DELETE', `/api/tokens/${token.id}`, { token: api.tokens.admin });
  }

  /** The page of a new request with its SQL and reason. */
  async function writing(who: 'alice' | 'erin', sql: string, url: string): Promise<Window> {
    const window = await browser.signIn(url, tokens[who]);
    await window.page.goto(`${url}/console/new`);
    await window.page.getByLabel('shop/staging').check();
    await pasteSql(window.page, sql);
    await window.page.getByLabel('Reason').fill(typed);
    return window;
  }
});

const press = ({ page }: Pick<Window, 'page'>, name: string) => page.getByRole('button', { name }).click();
const says = (page: Page, text: string) => expect.poll(() => page.getByRole('alert').first().innerText()).toBe(text);

/** The refusal stands beside what was typed. */
async function saysInDecision({ page }: Window, text: string): Promise<void> {
  await expect.poll(() => problemIn(page, 'Your decision').allInnerTexts()).toEqual([text]);
  expect(await page.getByLabel('Comment').inputValue()).toBe(typed);
}

/** Once nothing is refused any longer, pressing again succeeds with what was typed. */
async function approves(window: Window): Promise<void> {
  const { page } = window;
  await expect.poll(() => page.getByLabel('Comment').inputValue()).toBe(typed);
  await press(window, 'Approve');
  await page.getByText('waits for alice to resume it').waitFor();
  await page.getByText(`“${typed}”`).waitFor();
}

/** Holds back what the page asks about its request, so that it shows what was, until the returned function is called. */
async function holdBack(page: Page): Promise<() => void> {
  const looks = /\/api\/requests\/[0-9a-f-]{36}(\/executions)?$/;
  let open = (): void => {};
  const isOpen = new Promise<void>((resolve) => {
    open = resolve;
  });
  await page.route(looks, async (route) => {
    await isOpen;
    // The page may have asked again meanwhile.
    await route.continue().catch(() => undefined);
  });
  return open;
}
