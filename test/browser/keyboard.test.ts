import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openTestBrowser, type TestBrowser, type Window } from '../support/console.js';
import { type ConsoleGateway, startConsoleGateway } from '../support/console-gateway.js';
import { controlsOf, expectFocus, keepsFocus, tabTo, unnamed } from '../support/keyboard.js';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const browser = (await openTestBrowser(import.meta.url)) as TestBrowser;

describe.skipIf(browser === null)('without a mouse (CO-30)', () => {
  let gateway: ConsoleGateway;
  beforeAll(async () => {
    gateway = await startConsoleGateway();
  });
  afterAll(async () => {
    await browser.close();
    await gateway?.close();
  });

  it('alice signs in by a link, asks and watches; bob opens it from his inbox and approves with a comment; she lets it run', async () => {
    const alice = await enter('alice');
    await alice.page.keyboard.press('c');
    await alice.page.getByRole('heading', { name: 'New request' }).waitFor();
    await alice.page.locator('.cm-content').waitFor();
    await tabTo(alice.page, 'shop/staging');
    await tabTo(alice.page, 'SQL');
    await alice.page.keyboard.type("update customers set city = 'Bruges' where id = 12 returning id, city");
    await alice.page.getByText('1 needed').waitFor();
    await tabTo(alice.page, 'Reason (optional)');
    await alice.page.keyboard.type('moved house');
    await tabTo(alice.page, 'Send the request');
    await alice.page.keyboard.press('Enter');
    await alice.page.getByText('waits for group:dba-team').waitFor();
    await keepsFocus(alice.page);

    const bob = await enter('bob');
    await bob.page.getByText('moved house').waitFor();
    await bob.page.keyboard.press('j');
    await expectFocus(bob.page, { name: expect.stringContaining('update customers'), isSeen: true });
    await bob.page.keyboard.press('Enter');
    await bob.page.getByRole('heading', { name: 'Your decision' }).waitFor();
    await expectFocus(bob.page, { tag: 'H1' });
    await tabTo(bob.page, 'Comment');
    await bob.page.keyboard.type('looked at it');
    await tabTo(bob.page, 'Approve');
    await bob.page.keyboard.press('Enter');
    await bob.page.getByText('waits for alice to resume it').waitFor();
    await keepsFocus(bob.page);

    await alice.page.getByText('“looked at it”').waitFor();
    await keepsFocus(alice.page);
    await tabTo(alice.page, 'Resume: run it now');
    await alice.page.keyboard.press('Space');
    await alice.page.getByRole('grid', { name: 'Result' }).waitFor();
    await keepsFocus(alice.page);
    await tabTo(alice.page, 'Result');
    await alice.page.keyboard.press('ArrowRight');
    await alice.page.keyboard.press('Enter');
    await alice.page.getByRole('dialog').getByText('Bruges').waitFor();
    await alice.page.keyboard.press('Escape');
    await expectFocus(alice.page, { name: 'Result' });
    expect([...alice.complaints, ...bob.complaints]).toEqual([]);
  });

  it('bob rejects, with a comment', async () => {
    const id = await gateway.ask('delete from orders where id = 1', { reason: 'no longer wanted' });
    const { page } = await enter('bob');
    await page.getByText('no longer wanted').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Your decision' }).waitFor();
    await tabTo(page, 'Comment');
    await page.keyboard.type('not that one');
    await tabTo(page, 'Reject');
    await page.keyboard.press('Enter');
    await page.getByText('rejected step 1 of 1').waitFor();
    expect(await gateway.statusOf(id)).toBe('rejected');
    await keepsFocus(page);
  });

  it('a dialog keeps the focus inside and gives it back, whether it is left or done', async () => {
    const id = await gateway.ask('select 1 as to_cancel');
    await gateway.api.call('POST', `/api/requests/${id}/approve`, { token: gateway.tokens.bob, body: {} });
    const { page } = await enter('alice');
    await page.goto(`${gateway.api.url}/console/requests/${id}`);
    await page.getByText('waits for you to resume it').waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await expectFocus(page, { tag: 'H1' });

    await tabTo(page, 'Cancel the request');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Cancel this request?' }).waitFor();
    const inside = ['Reason', 'Cancel the request', 'Keep it'];
    for (const name of inside) {
      await expectFocus(page, { name, isSeen: true });
      await page.keyboard.press('Tab');
    }
    // After the last one the browser's own controls may come, but nothing of the page behind.
    await expectFocus(page, { name: expect.toSatisfy((name: string) => ['', ...inside].includes(name)) });
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await expectFocus(page, { tag: 'BUTTON', name: 'Cancel the request', isSeen: true });

    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.type('not needed');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByText('by alice: not needed').first().waitFor();
    expect(await gateway.statusOf(id)).toBe('cancelled');
    await keepsFocus(page);
  });

  it('a screen reader hears a name for everything that can be operated', async () => {
    const id = await gateway.ask("update items set name = 'x' where id = 1");
    const { page } = await browser.signIn(gateway.api.url, gateway.api.tokens.admin);
    const addresses = [
      ...['', 'new', 'requests', `requests/${id}`, 'databases?database=shop&environment=staging', 'audit', 'agents', 'webhooks'],
      ...['people', 'people?show=groups', 'people?show=roles', 'people?show=tokens', 'health'],
    ];
    for (const address of addresses) {
      const found = await open(page, address);
      expect({ address, unnamed: unnamed(found) }).toEqual({ address, unnamed: [] });
      expect(found).toContain('navigation Pages');
    }
    expect(await open(page, 'new')).toEqual(
      expect.arrayContaining([
        ...['radio shop/staging', 'textbox SQL', 'textbox Reason (optional)', 'textbox Share with (optional)'],
        ...['region What it would come to', 'button Send the request'],
      ]),
    );
    const bob = await enter('bob');
    expect(await open(bob.page, '')).toEqual(
      expect.arrayContaining(['region Waiting for your decision', "link update items set name = 'x' where id = 1"]),
    );
    expect(await open(bob.page, `requests/${id}`)).toEqual(
      expect.arrayContaining([
        ...['region At a glance', 'region SQL', 'button copy the SQL', 'region Your decision', 'textbox Comment'],
        ...['button Approve', 'button Reject', 'region Approval', 'region What happened'],
      ]),
    );
    await gateway.api.call('POST', `/api/requests/${id}/cancel`, { token: gateway.tokens.alice, body: {} });
  });

  /** As the link of `svc console` does. */
  async function enter(who: 'alice' | 'bob'): Promise<Window> {
    const { url } = gateway.api;
    const { body } = await gateway.api.call('POST', '/api/console/code', { token: gateway.tokens[who] });
    const window = await browser.open();
    await window.page.goto(`${url}/console/#code=${body.code}`);
    await window.page.getByRole('heading', { name: 'Inbox' }).waitFor();
    expect(window.page.url()).toBe(`${url}/console/`);
    return window;
  }

  async function open(page: Page, address: string): Promise<string[]> {
    await page.goto(`${gateway.api.url}/console/${address}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await expect.poll(() => page.getByText('Loading …').count()).toBe(0);
    if (address === 'new') await page.locator('.cm-content').waitFor();
    return controlsOf(page);
  }
});
