import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { copyRequest } from '../../bench/stored-requests.js';
import { currentConsole } from '../../bin/console.mjs';
import { sleep } from '../../lib/sleep.js';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { openTestBrowser, type TestBrowser } from '../support/console.js';
import { consoleDist } from '../support/console-gateway.js';
import { expectFocus, keepsFocus } from '../support/keyboard.js';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const browser = (await openTestBrowser(import.meta.url)) as TestBrowser;

const many = 1000;
/** As many rows as the page may have before somebody asks for more. */
const mostRows = 200;

describe.skipIf(browser === null)('an inbox with 1,000 requests', () => {
  let api: TestApi;
  let tokens: Record<'alice' | 'bob' | 'carol', string>;
  let oldest: string;
  beforeAll(async () => {
    await currentConsole();
    api = await startTestApi({ toml: shopToml, consoleDist });
    tokens = await api.createUsers({
      alice: { roles: ['requester'] },
      bob: { roles: ['requester'], groups: ['dba-team'] },
      carol: { roles: ['requester'], groups: ['dba-team'] },
    });
    oldest = await ask(1);
    await copyRequest(api.services.database, oldest, many);
    // What is made from now on is newer.
    await sleep(many);
  });
  afterAll(async () => {
    await browser.close();
    await api?.close();
  });

  it('has few rows, from which each request can be reached by keyboard, and each change moves its own row', async () => {
    const { page, complaints } = await browser.signIn(api.url, tokens.bob);
    await page.getByText(`of ${many}`).waitFor();
    expect(await subjects(page)).toEqual(numbered(1, await rows(page).count()));
    expect(await rows(page).count()).toBeLessThanOrEqual(mostRows);

    for (const number of [1, 2, 3]) {
      await page.keyboard.press('j');
      await expectFocus(page, { name: `select ${number}`, isSeen: true });
    }
    await page.keyboard.press('k');
    await expectFocus(page, { name: 'select 2', isSeen: true });

    // Above the focused row one goes, and at the end one comes.
    await decide(oldest);
    await page.getByText(`of ${many - 1}`).waitFor();
    await rowOf(page, 1).waitFor({ state: 'detached' });
    await expectFocus(page, { name: 'select 2', isSeen: true });
    await ask(many + 1);
    await page.getByText(`of ${many}`).waitFor();
    await expectFocus(page, { name: 'select 2', isSeen: true });

    await showAll(page);
    expect(await subjects(page)).toEqual(numbered(2, many + 1));
    await page.keyboard.press('k');
    await keepsFocus(page);
    await rowOf(page, many + 1).focus();
    await page.keyboard.press('k');
    await expectFocus(page, { name: `select ${many}`, isSeen: true });
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Your decision' }).waitFor();
    await page.getByRole('region', { name: 'SQL' }).getByText(`select ${many}`).waitFor();
    expect(complaints).toEqual([]);
  });

  it('lists them all page by page, by an address that can be kept', async () => {
    const { page } = await browser.signIn(api.url, tokens.bob);
    await page.goto(`${api.url}/console/requests?pending_for_me=true`);
    const found = new Set<string>();
    for (;;) {
      await page.getByText('1,000 requests').waitFor();
      for (const subject of await subjects(page)) found.add(subject);
      const after = page.getByRole('link', { name: 'after →' });
      if ((await after.count()) === 0) break;
      const address = page.url();
      await after.click();
      await expect.poll(() => page.url()).not.toBe(address);
      await expect.poll(async () => found.has((await subjects(page))[0]!)).toBe(false);
    }
    expect(found.size).toBe(many);
  });

  it('keeps an own open request in sight though more than a page of newer ones have ended', async () => {
    const dave = await api.createUser('dave', { roles: ['requester'] });
    await ask(7, { token: dave, environment: 'staging' });
    const ended = await ask(1, { token: dave });
    await api.call('POST', `/api/requests/${ended}/reject`, { token: tokens.carol, body: {} });
    await copyRequest(api.services.database, ended, 101);
    const { page } = await browser.signIn(api.url, dave);
    const section = (name: string) => page.getByRole('region', { name });
    await section('Ended lately').getByRole('link', { name: 'select 101' }).waitFor();
    expect(await subjects(section('Your open requests'))).toEqual(['select 7']);
    expect(await subjects(section('Ended lately'))).toEqual(['select 101', 'select 100', 'select 99', 'select 98', 'select 97']);
  });

  async function ask(number: number, { token = tokens.alice, environment = 'production' } = {}): Promise<string> {
    const body = { database: 'shop', environment, detail: `select ${number}`, reason: 'one of many' };
    const answer = await api.call('POST', '/api/requests', { token, body });
    expect(answer.status).toBe(201);
    return answer.body.id;
  }

  async function decide(id: string): Promise<void> {
    const answer = await api.call('POST', `/api/requests/${id}/approve`, { token: tokens.carol, body: {} });
    expect(answer.status).toBe(200);
  }
});

const rows = (page: Page | Locator) => page.locator('[data-row]');
const rowOf = (page: Page, number: number) => page.getByRole('link', { name: `select ${number}`, exact: true });
const subjects = async (page: Page | Locator) => (await rows(page).allTextContents()).map((text) => text.trim());
const numbered = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => `select ${from + index}`);

/** Rows out of sight are not laid out then. */
async function showAll(page: Page): Promise<void> {
  const more = page.getByRole('button', { name: /^Show \d+ more$/ });
  while ((await more.count()) > 0) {
    const shown = await rows(page).count();
    await more.focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => rows(page).count(), { timeout: 45_000 }).toBeGreaterThan(shown);
  }
}
