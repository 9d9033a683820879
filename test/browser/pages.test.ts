import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openTestBrowser, problemIn, type TestBrowser, type Window } from '../support/console.js';
import { type ConsoleGateway, startConsoleGateway } from '../support/console-gateway.js';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 240_000 });

const browser = (await openTestBrowser(import.meta.url)) as TestBrowser;
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const hostile = '<script>alert(1)</script><img src=x onerror=alert(2)> javascript:alert(3) \u202egnp.exe';

describe.skipIf(browser === null)('every page', () => {
  let gateway: ConsoleGateway;
  let id: string;
  beforeAll(async () => {
    gateway = await startConsoleGateway();
    id = await gateway.ask(`select '${hostile}' as "\u202e${hostile.slice(0, 40)}", repeat('x', 1000000) as long`, {
      reason: hostile,
    });
    await gateway.api.call('POST', `/api/requests/${id}/approve`, { token: gateway.tokens.bob, body: { comment: hostile } });
    await gateway.api.call('POST', `/api/requests/${id}/resume`, { token: gateway.tokens.alice, body: {} });
    await gateway.api.call('GET', `/api/requests/${id}?wait=30`, { token: gateway.tokens.alice });
    await gateway.ask(`update items set name = '${hostile}' where id = 1 -- ${hostile}`, { reason: hostile });
  });
  afterAll(async () => {
    await browser.close();
    await gateway.close();
  });

  const addresses = () => [
    '/console/',
    '/console/new',
    '/console/requests',
    `/console/requests/${id}`,
    '/console/databases?database=shop&environment=staging',
    '/console/audit',
    '/console/agents',
    '/console/webhooks',
    '/console/people',
    '/console/people?show=roles',
    '/console/people?show=tokens',
    '/console/health',
    '/console/no-such-page',
  ];

  it.each(['light', 'dark'] as const)('has nothing that axe finds, in %s colours (CO-30)', async (scheme) => {
    const window = await browser.signIn(gateway.api.url, gateway.api.tokens.admin, { scheme });
    for (const address of addresses()) {
      await look(window, address);
      expect({ address, found: await findings(window) }).toEqual({ address, found: [] });
    }
    expect(window.complaints).toEqual([]);
  });

  it('fits a telephone of 360 px, and texts from outside stay texts (CO-3, CO-30)', async () => {
    const window = await browser.signIn(gateway.api.url, gateway.api.tokens.admin, { width: 360, height: 740 });
    for (const address of addresses()) {
      await look(window, address);
      const wide = await window.page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect({ address, wide }).toEqual({ address, wide: 0 });
      expect(await window.page.locator('img, main script').count()).toBe(0);
      expect({ address, isReordered: await isReordered(window) }).toEqual({ address, isReordered: false });
    }
    expect(window.complaints).toEqual([]);
  });

  it.each([360, 1280])('long names and messages do not widen a page of %s px (CO-30)', async (width) => {
    const name = `u${width}${'w'.repeat(120)}`;
    const token = await gateway.api.createUser(name, { roles: ['requester'] });
    const body = { database: 'shop', environment: 'staging', detail: `select 1 from ${'t'.repeat(63)}`, reason: 'a test' };
    const { body: made } = await gateway.api.call('POST', '/api/requests', { token, body });
    for (const who of [token, gateway.api.tokens.admin]) {
      const window = await browser.signIn(gateway.api.url, who, { width });
      for (const address of ['/console/', '/console/requests', `/console/requests/${made.id}`, '/console/audit']) {
        await look(window, address);
        const wide = await window.page.evaluate('document.documentElement.scrollWidth - innerWidth');
        expect({ address, wide }).toEqual({ address, wide: 0 });
      }
      const isNameInside = `[...document.querySelectorAll('.self strong')]
        .every((one) => one.getBoundingClientRect().right <= one.closest('header').getBoundingClientRect().right)`;
      expect(await window.page.evaluate(isNameInside)).toBe(true);
      await window.context.close();
    }
  });

  it('the name of a column is a text in the title of its value too (CO-3)', async () => {
    const window = await browser.signIn(gateway.api.url, gateway.api.tokens.admin);
    await look(window, `/console/requests/${id}`);
    await window.page.getByRole('gridcell').first().waitFor();
    await window.page.getByRole('grid', { name: 'Result' }).focus();
    await window.page.keyboard.press('Enter');
    await window.page.getByRole('heading', { name: '\\u{202e}<script>alert(1)</script>' }).waitFor();
    expect(await isReordered(window)).toBe(false);
    expect(window.complaints).toEqual([]);
  });

  it('a statement that the database refused is told in the words of svc (CO-31)', async () => {
    const refused = await gateway.ask('select 1 / 0');
    await gateway.api.call('POST', `/api/requests/${refused}/approve`, { token: gateway.tokens.bob, body: {} });
    await gateway.api.call('POST', `/api/requests/${refused}/resume`, { token: gateway.tokens.alice, body: {} });
    await gateway.api.call('GET', `/api/requests/${refused}?wait=30`, { token: gateway.tokens.alice });
    const { page } = await browser.signIn(gateway.api.url, gateway.tokens.alice);
    await page.goto(`${gateway.api.url}/console/requests/${refused}`);
    await problemIn(page, 'Result').getByText('PostgreSQL: division by zero (SQLSTATE 22012).').waitFor();
    expect(await page.getByText('driver error').count()).toBe(0);
  });

  /** Whether a character that reorders its neighbours is in the text of the page. */
  const isReordered = ({ page }: Window) => page.evaluate('/[\\u202a-\\u202e\\u2066-\\u2069]/.test(document.body.innerText)');

  async function look({ page }: Window, address: string): Promise<void> {
    await page.goto(`${gateway.api.url}${address}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await expect.poll(() => page.getByText('Loading …').count()).toBe(0);
    await page.waitForLoadState('load');
  }

  /** By the inspector, because the page's policy lets no other code in. */
  async function findings({ page, context }: Window): Promise<string[]> {
    const inspector = await context.newCDPSession(page);
    await inspector.send('Runtime.evaluate', { expression: axe });
    const expression = `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
      JSON.stringify(violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ target }) => target.join(' ')).join(', '))))`;
    const { result } = await inspector.send('Runtime.evaluate', { expression, awaitPromise: true });
    await inspector.detach();
    return JSON.parse(String(result.value)) as string[];
  }
});
