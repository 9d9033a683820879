import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openTestBrowser, type TestBrowser } from '../support/console.js';
import { type ConsoleGateway, startConsoleGateway } from '../support/console-gateway.js';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const browser = (await openTestBrowser(import.meta.url)) as TestBrowser;

describe.skipIf(browser === null)('the way of a change in two browsers', () => {
  let gateway: ConsoleGateway;
  beforeAll(async () => {
    gateway = await startConsoleGateway();
    await gateway.database.query("insert into items values (1, 'old'), (2, 'old')");
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
    await alice.page.getByRole('textbox', { name: 'SQL' }).click();
    await alice.page.keyboard.type("update items set name = 'new' where id = 1 returning id, name");
    await alice.page.getByText('needed').waitFor();
    await alice.page.getByLabel('Reason').fill('the old name was wrong');
    await alice.page.getByRole('button', { name: 'Send the request' }).click();
    await alice.page.getByText('waits for group:dba-team').waitFor();

    // It comes without a reload.
    await bob.page.getByText('the old name was wrong').waitFor();
    await bob.page.keyboard.press('j');
    await bob.page.keyboard.press('Enter');
    await bob.page.getByRole('heading', { name: 'Your decision' }).waitFor();
    expect(await bob.page.getByRole('region', { name: 'At a glance' }).innerText()).toContain('the old name was wrong');
    await bob.page.getByLabel('Comment').fill('looked at it');
    await bob.page.getByRole('button', { name: 'Approve' }).click();
    await bob.page.getByText('waits for alice to resume it').waitFor();

    await alice.page.getByText('waits for you to resume it').waitFor();
    await alice.page.getByText('“looked at it”').waitFor();
    await alice.page.getByRole('button', { name: 'Resume: run it now' }).click();
    await alice.page.getByRole('grid', { name: 'Result' }).waitFor();
    expect(await alice.page.getByRole('gridcell').allInnerTexts()).toEqual(['1', 'new']);
    const { rows } = await gateway.database.query('select name from items order by id');
    expect(rows).toEqual([{ name: 'new' }, { name: 'old' }]);
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
    const id = await gateway.ask('select 1');
    const alice = await browser.signIn(gateway.api.url, gateway.tokens.alice);
    await alice.page.goto(`${gateway.api.url}/console/requests/${id}`);
    await alice.page.getByText('waits for group:dba-team').waitFor();
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
    await gateway.api.call('POST', `/api/requests/${id}/cancel`, { token: gateway.tokens.alice, body: {} });
  });
});
