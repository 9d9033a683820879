import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Answer, callApi } from '../../dev/api-call.js';
import { openTestBrowser, pasteSql, problemIn, type TestBrowser, type Window } from '../support/console.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { type System, startSystem } from '../support/system.js';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 240_000 });

const browser = (await openTestBrowser(import.meta.url)) as TestBrowser;
const isAway = 'The gateway does not answer. What you see may be old';

describe.skipIf(browser === null)('a server that is killed while pages are open', () => {
  let stored: TestDatabase;
  let system: System;
  beforeAll(async () => {
    stored = await createTestDatabase();
    // Nothing runs here, so neither a worker nor an agent is needed.
    const parts = { servers: 2, workers: 0, agents: 0, withoutAgent: true };
    system = await startSystem({ databaseUrl: stored.url, temporalAddress: '127.0.0.1:1', ...parts });
  });
  afterAll(async () => {
    await browser.close();
    await system?.close();
    await stored?.drop();
  });

  it('is told, costs nothing that was typed, and what changed meanwhile shows by itself (CO-21)', async () => {
    const [killed] = system.servers;
    const { url } = killed!;
    const seen = await ask("select 'seen' as word");
    const inbox = await browser.signIn(url, system.tokens.bob);
    await inbox.page.getByText("'seen'").waitFor();
    const deciding = await browser.signIn(url, system.tokens.bob);
    await deciding.page.goto(`${url}/console/requests/${seen}`);
    await deciding.page.getByLabel('Comment').fill('half a sentence');
    const writing = await browser.signIn(url, system.tokens.alice);
    await writing.page.goto(`${url}/console/new`);
    await writing.page.getByLabel('shop/production').check();
    await pasteSql(writing.page, "select 'written' as word");
    await writing.page.getByLabel('Reason').fill('half a reason');

    await killed!.kill();
    for (const { page } of [inbox, deciding, writing]) await page.getByText(isAway).waitFor();
    await deciding.page.getByRole('button', { name: 'Approve' }).click();
    await problemIn(deciding.page, 'Your decision').getByText('The server does not answer.').waitFor();
    expect(await deciding.page.getByText('Approved').count()).toBe(0);
    await writing.page.getByRole('button', { name: 'Send the request' }).click();
    await writing.page.getByRole('alert').getByText('The server does not answer.').last().waitFor();
    await ask("select 'meanwhile' as word");
    expect(await inbox.page.getByText("'meanwhile'").count()).toBe(0);

    await killed!.start();
    await inbox.page.getByText("'meanwhile'").waitFor();
    for (const { page } of [inbox, deciding, writing]) await page.getByText(isAway).waitFor({ state: 'detached' });
    expect(await deciding.page.getByLabel('Comment').inputValue()).toBe('half a sentence');
    await deciding.page.getByRole('button', { name: 'Approve' }).click();
    await deciding.page.getByText('waits for alice to resume it').waitFor();
    await deciding.page.getByText('“half a sentence”').first().waitFor();
    await inbox.page.getByText("'seen'").waitFor({ state: 'detached' });
    expect(await writing.page.getByLabel('Reason').inputValue()).toBe('half a reason');
    await writing.page.getByRole('button', { name: 'Send the request' }).click();
    await writing.page.getByText('waits for group:dba-team').waitFor();
    await expectOnce("select 'written' as word");
    expect([inbox, deciding, writing].flatMap(({ complaints }: Window) => complaints)).toEqual([]);
  });

  /** At the server that lives. */
  async function ask(detail: string): Promise<string> {
    const body = { database: 'shop', environment: 'production', detail, reason: 'a test' };
    const answer: Answer = await callApi(
      { server: system.servers[1]!.url, token: system.tokens.alice },
      'POST',
      '/api/requests',
      body,
    );
    expect(answer.status).toBe(201);
    return String(answer.body.id);
  }

  async function expectOnce(detail: string): Promise<void> {
    const { rows } = await system.database.query('select count(*)::int as count from requests where detail = $1', [detail]);
    expect(rows).toEqual([{ count: 1 }]);
  }
});
