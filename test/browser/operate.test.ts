import { hash } from 'node:crypto';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { currentConsole } from '../../bin/console.mjs';
import { showDuration } from '../../lib/duration.js';
import { gatewayCalls } from '../api/gateway-calls.js';
import { type Loose, shopToml, startTestApi, type TestApi } from '../support/api.js';
import { sealAll, tamper } from '../support/audit-api.js';
import { openTestBrowser, problemIn, type TestBrowser } from '../support/console.js';
import { consoleDist } from '../support/console-gateway.js';
import { roleToml } from '../support/toml.js';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

const browser = (await openTestBrowser(import.meta.url)) as TestBrowser;

const users = {
  alice: { roles: ['requester'] },
  bob: { roles: ['requester'], groups: ['dba-team'] },
  olga: { roles: ['shop-auditor'] },
  otto: { roles: ['observer'] },
};

describe.skipIf(browser === null)('the pages of those who operate the gateway', () => {
  let api: TestApi;
  let toml: string;
  let tokens: Record<'alice' | 'bob' | 'olga' | 'otto', string>;
  beforeAll(async () => {
    await currentConsole();
    const ofOnePair = roleToml('shop-auditor', ['audit.read'], { databases: ['shop'] });
    const everywhere = roleToml('observer', ['audit.read', 'metrics.view', 'request.view:any']);
    toml = [shopToml, ofOnePair, everywhere].join('');
    api = await startTestApi({ toml, consoleDist });
    tokens = await api.createUsers(users);
  });
  afterAll(async () => {
    await browser.close();
    await api?.close();
  });

  it('Audit shows the signed head of the log: how many events are sealed, and the root over them', async () => {
    const { page } = await browser.signIn(api.url, tokens.otto);
    await visit(page, '/console/audit');
    await chain(page).getByText('Sealed events').waitFor();
    expect(await factsOf(page)).toEqual(['0', hash('sha256', '', 'base64')]);

    await sealAll(api);
    const { text } = await api.call('GET', '/api/audit/checkpoint', { token: tokens.otto });
    const [, size = '', root = ''] = text.split('\n');
    await visit(page, '/console/audit');
    await chain(page).getByText('Sealed events').waitFor();
    expect(await factsOf(page)).toEqual([size, root]);
    expect(Number(size)).toBeGreaterThan(0);
  });

  it('shows no head to who may read one part of the log only, and complains of nothing', async () => {
    const { page } = await browser.signIn(api.url, tokens.olga);
    const refused = page.waitForResponse('**/api/audit/checkpoint');
    await visit(page, '/console/audit');
    expect((await refused).status()).toBe(403);
    await page.getByText('No event that you may see matches.').waitFor();
    await chain(page).getByText('Verify reads them all').waitFor();
    expect([await factsOf(page), await page.getByRole('alert').count()]).toEqual([[], 0]);
  });

  it('shows no head that nobody has signed, says so, and what Verify finds', async () => {
    const broken = await startTestApi({ toml, consoleDist });
    const otto = await broken.createUser('otto', { roles: ['observer'] });
    await sealAll(broken);
    await tamper(broken, "update audit_head set tree_signature = repeat('0', 128)");
    const { page } = await browser.signIn(broken.url, otto);
    await page.goto(`${broken.url}/console/audit`);
    await problemIn(page, 'Chain').getByText('The audit log cannot be proven. Verify it.').waitFor();
    expect(await factsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Verify' }).click();
    await chain(page).getByText('✕ broken: tree mismatch').waitFor();
    await broken.close();
  });

  it('Health draws the last hour, and says the same in sentences', async () => {
    // Its requests would be in the audit log of the other tests.
    const own = await startTestApi({ toml, consoleDist });
    const { alice, bob, otto } = await own.createUsers(users);
    const calls = gatewayCalls(own);
    const [approved, rejected] = [await calls.created(alice), await calls.created(alice)];
    await calls.act(bob, approved, 'approve');
    await calls.act(bob, rejected, 'reject');
    await calls.poll(['shop/production']);
    // A server looks at agents and backlog when it starts, and then once a minute.
    const later = await own.another({ consoleDist });
    const minutes = async (): Promise<Loose[]> =>
      (await later.call('GET', '/api/operations/summary', { token: otto })).body.minutes;
    const looked = async () => (await minutes()).findLast((minute) => minute.backlog !== null);
    await expect.poll(looked).toBeDefined();
    const { page, complaints } = await browser.signIn(later.url, otto);
    await page.goto(`${later.url}/console/health`);
    await haveLines(page, 3);
    const { agent_slots: slots, backlog } = (await looked())!;
    const wait = Math.max(...(await minutes()).map((minute) => minute.decision_wait_secs ?? 0));
    expect(slots).toBeGreaterThan(0);
    expect(backlog).toBeGreaterThan(0);
    const says = (title: string, sentence: string) => page.getByRole('region', { name: title }).getByText(sentence).waitFor();
    await says('Ready', 'of any version');
    await says('Requests per minute', 'In the last hour: 2 made, 1 rejected.');
    await says('Seconds until a decision', `At most ${showDuration(wait * 1000)} in a minute of the last hour.`);
    await says('Agents and backlog', `At most 0 of ${slots} slots were busy, and ${backlog} waited.`);
    expect(complaints).toEqual([]);
    await page.close();
    await later.close();
    await own.close();
  });

  const visit = (page: Page, path: string) => page.goto(`${api.url}${path}`);
});

const chain = (page: Page) => page.getByRole('region', { name: 'Chain' });

/** What the page says of the head of the audit log. */
const factsOf = (page: Page) => chain(page).locator('dd').allTextContents();

/** Waits until so many charts have lines: these have colours, the axes are grey. */
const haveLines = (page: Page, charts: number) =>
  expect
    .poll(() =>
      page.evaluate(`[...document.querySelectorAll('.chart canvas')].filter((canvas) => {
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        for (let at = 0; at < data.length; at += 4) {
          const colour = data.slice(at, at + 3);
          if (data[at + 3] === 255 && Math.max(...colour) - Math.min(...colour) > 80) return true;
        }
        return false;
      }).length`),
    )
    .toBe(charts);
