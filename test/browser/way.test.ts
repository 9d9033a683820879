import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openTestBrowser, pasteSql, type TestBrowser } from '../support/console.js';
import { type ConsoleGateway, startConsoleGateway } from '../support/console-gateway.js';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const browser = (await openTestBrowser(import.meta.url)) as TestBrowser;

/** Where README's first picture is written, if anywhere. */
const picture = process.env.SVC_TEST_PICTURE;

const reason = 'ticket 4711: paid and sent in June, never marked';
const condition = `where status = 'paid'
  and ordered_at < '2024-07-01'`;
const sql = `update orders
set status = 'shipped'
${condition}
returning id, status`;

describe.skipIf(browser === null)('the way of a change in two browsers', () => {
  let gateway: ConsoleGateway;
  beforeAll(async () => {
    gateway = await startConsoleGateway();
  });
  afterAll(async () => {
    await browser.close();
    await gateway.close();
  });

  it('alice asks, bob finds it in his inbox by keyboard and approves, alice lets it run and reads the result (CO-20, CO-21)', async () => {
    const { url } = gateway.api;
    const alice = await browser.signIn(url, gateway.tokens.alice);
    const bob = await browser.signIn(url, gateway.tokens.bob);
    await bob.page.getByRole('heading', { name: 'Inbox' }).waitFor();

    await alice.page.getByRole('link', { name: 'New request' }).click();
    await alice.page.getByLabel('shop/staging').check();
    await pasteSql(alice.page, sql);
    await alice.page.getByText('1 needed').waitFor();
    await alice.page.getByLabel('Reason').fill(reason);
    await alice.page.getByRole('button', { name: 'Send the request' }).click();
    await alice.page.getByText('waits for group:dba-team').waitFor();

    // It comes without a reload.
    await bob.page.getByText(reason).waitFor();
    await bob.page.keyboard.press('j');
    await bob.page.keyboard.press('Enter');
    await bob.page.getByRole('heading', { name: 'Your decision' }).waitFor();
    expect(await bob.page.getByRole('region', { name: 'At a glance' }).innerText()).toContain(reason);
    await bob.page.getByLabel('Comment').fill('looked at it');
    if (picture) await bob.page.screenshot({ path: picture, clip: { x: 0, y: 0, width: 1280, height: 800 } });
    await bob.page.getByRole('button', { name: 'Approve' }).click();
    await bob.page.getByText('waits for alice to resume it').waitFor();
    const told = bob.page.getByText('Its requester can let it run');
    await told.waitFor();

    await alice.page.getByText('waits for you to resume it').waitFor();
    await alice.page.getByText('bob approved for group:dba-team').waitFor();
    await alice.page.getByText('“looked at it”').waitFor();
    expect(await paid()).toBeGreaterThan(10);
    await alice.page.getByRole('button', { name: 'Resume: run it now' }).click();
    await alice.page.getByRole('grid', { name: 'Result' }).waitFor();
    const firstCells = async () => (await alice.page.getByRole('gridcell').allInnerTexts()).slice(0, 4);
    await expect.poll(firstCells).toEqual(['1', 'shipped', '7', 'shipped']);
    expect(await paid()).toBe(0);
    // What was told of a move is not told of what came later.
    await told.waitFor({ state: 'detached' });
    expect([...alice.complaints, ...bob.complaints]).toEqual([]);
  });

  it('bob rejects with a comment, and alice sees it', async () => {
    const id = await gateway.ask('delete from items where id = 1');
    const bob = await browser.signIn(gateway.api.url, gateway.tokens.bob);
    await bob.page.goto(`${gateway.api.url}/console/requests/${id}`);
    await bob.page.getByLabel('Comment').fill('not that one');
    await bob.page.getByRole('button', { name: 'Reject' }).click();
    await bob.page.getByText('rejected step 1 of 1').waitFor();
    expect(await gateway.statusOf(id)).toBe('rejected');
    expect(bob.complaints).toEqual([]);
  });

  it('a session that ends by revocation asks for a new one, and the address stays', async () => {
    const alice = await browser.signIn(gateway.api.url, gateway.tokens.alice);
    await alice.page.getByRole('link', { name: 'All requests' }).click();
    await alice.page.getByRole('heading', { name: 'Requests' }).waitFor();
    const { body } = await gateway.api.call('GET', '/api/tokens', { token: gateway.tokens.alice });
    for (const token of body.tokens.filter(({ name }: { name: string }) => name === 'console'))
      await gateway.api.call('DELETE', `/api/tokens/${token.id}`, { token: gateway.api.tokens.admin });
    await alice.page.getByText('Your session has ended').waitFor();
    await alice.page.getByLabel('API token').fill(gateway.tokens.alice);
    await alice.page.getByRole('button', { name: 'Sign in' }).click();
    await alice.page.getByRole('heading', { name: 'Requests' }).waitFor();
    expect(alice.page.url()).toBe(`${gateway.api.url}/console/requests`);
  });

  it("a draft outlives a reload and a session that ends, is nobody else's, and goes with signing out", async () => {
    const { page } = await browser.signIn(gateway.api.url, gateway.tokens.alice);
    const written = async () => {
      await page.goto(`${gateway.api.url}/console/new`);
      await page.locator('.cm-content').waitFor();
      return page.getByLabel('Reason').inputValue();
    };
    const signIn = async (token: string) => {
      await page.getByLabel('API token').fill(token);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'New request' }).waitFor();
    };
    await written();
    await page.getByLabel('Reason').fill('a draft');
    expect(await written()).toBe('a draft');
    await page.context().clearCookies();
    await page.reload();
    await signIn(gateway.tokens.bob);
    expect(await written()).toBe('');
    await page.context().clearCookies();
    await page.reload();
    await signIn(gateway.tokens.alice);
    expect(await written()).toBe('a draft');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are signed out').waitFor();
    await signIn(gateway.tokens.alice);
    expect(await written()).toBe('');
  });

  it('an earlier request that is asked again is a draft of its own, whose changes outlive a reload', async () => {
    const id = await gateway.ask('select 1 as first', { reason: 'the first time' });
    const { page } = await browser.signIn(gateway.api.url, gateway.tokens.alice);
    await page.goto(`${gateway.api.url}/console/new`);
    await pasteSql(page, 'select 1 as unsent');
    await page.goto(`${gateway.api.url}/console/requests/${id}`);
    await page.getByRole('link', { name: 'Ask again' }).click();
    await page.locator('.cm-content').getByText('as first').waitFor();
    expect(page.url()).toBe(`${gateway.api.url}/console/new?from=${id}`);
    await page.getByLabel('Reason').fill('the second time');
    await page.reload();
    await page.locator('.cm-content').getByText('as first').waitFor();
    expect(await page.getByLabel('Reason').inputValue()).toBe('the second time');
    await page.getByRole('link', { name: 'New request' }).first().click();
    await page.locator('.cm-content').getByText('as unsent').waitFor();
    expect(await page.getByLabel('Reason').inputValue()).toBe('');
    await page.goto(`${gateway.api.url}/console/new?from=`);
    await page.locator('.cm-content').getByText('as unsent').waitFor();
    // The first request in bob's inbox is that of another test.
    await gateway.api.call('POST', `/api/requests/${id}/cancel`, { token: gateway.tokens.alice });
  });

  it('a request whose answer is lost is one request, also when it is sent again after a reload (RQ-32)', async () => {
    const { page } = await browser.signIn(gateway.api.url, gateway.tokens.alice);
    await page.goto(`${gateway.api.url}/console/new`);
    await page.getByLabel('shop/staging').check();
    await pasteSql(page, 'select 1 as sent_twice');
    await page.getByLabel('Reason').fill('sent twice');
    await page.getByLabel('Do not store the result').check();
    await page.route('**/api/requests', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await page.getByRole('button', { name: 'Send the request' }).click();
    await page.getByRole('alert').waitFor();
    await page.unroute('**/api/requests');
    await page.reload();
    await page.locator('.cm-content').getByText('sent_twice').waitFor();
    expect(await page.getByLabel('Do not store the result').isChecked()).toBe(true);
    await page.getByRole('button', { name: 'Send the request' }).click();
    await expect.poll(() => page.url()).toContain('/console/requests/');
    const made = `select id, no_result_store as "notStored" from requests where reason = 'sent twice'`;
    const rows = await gateway.api.services.database.query<{ id: string; notStored: boolean }>(made);
    expect(rows).toEqual([{ id: page.url().split('/').at(-1), notStored: true }]);
    await gateway.api.call('POST', `/api/requests/${rows[0]?.id}/cancel`, { token: gateway.tokens.alice });
  });

  const paid = async () => (await gateway.database.query(`select 1 from orders ${condition}`)).rowCount;
});
