import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { sleep } from '../../lib/sleep.js';
import { untilTaken } from '../api/gateway-calls.js';
import { openTestBrowser, type TestBrowser } from '../support/console.js';
import { type ConsoleGateway, startConsoleGateway } from '../support/console-gateway.js';
import { expectFocus, tabTo } from '../support/keyboard.js';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const browser = (await openTestBrowser(import.meta.url)) as TestBrowser;

/** Its times are measured by `bench/console-*.ts`. */
describe.skipIf(browser === null)('the bounds of the page', () => {
  let gateway: ConsoleGateway;
  beforeAll(async () => {
    gateway = await startConsoleGateway();
  });
  afterAll(async () => {
    await browser.close();
    await gateway?.close();
  });

  it('the first load is at most 250 KiB in 5 files (CO-2)', async () => {
    const { page, context } = await browser.signIn(gateway.api.url, gateway.tokens.bob);
    const inspector = await context.newCDPSession(page);
    await inspector.send('Network.enable');
    await inspector.send('Network.setCacheDisabled', { cacheDisabled: true });
    const names = new Map<string, string>();
    const bytes = new Map<string, number>();
    inspector.on('Network.requestWillBeSent', ({ requestId, request }) => names.set(requestId, new URL(request.url).pathname));
    inspector.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      const name = names.get(requestId) ?? '';
      if (name.startsWith('/console/')) bytes.set(name, encodedDataLength);
    });
    await page.reload();
    await page.getByText('Nothing waits for you').waitFor();
    // The icon may come last.
    await sleep(1000);
    expect(bytes.size).toBeGreaterThan(2);
    expect(bytes.size).toBeLessThanOrEqual(5);
    expect([...bytes.values()].reduce((sum, one) => sum + one, 0)).toBeLessThan(250 * 1024);
  });

  it('a result of 10,000 × 50 has few cells at a time, each of which the keyboard reaches', async () => {
    const columns = Array.from({ length: 50 }, (_, index) => `g * ${index + 1} as column_${index + 1}`);
    const id = await gateway.ask(`select ${columns.join(', ')} from generate_series(1, 10000) as g`);
    const move = async (who: 'alice' | 'bob', what: string) => {
      const ask = () => gateway.api.call('POST', `/api/requests/${id}/${what}`, { token: gateway.tokens[who], body: {} });
      expect((await untilTaken(ask)).status).toBe(200);
    };
    await move('bob', 'approve');
    await move('alice', 'resume');
    await expect.poll(() => gateway.statusOf(id), { timeout: 60_000 }).toBe('executed');
    const { page } = await browser.signIn(gateway.api.url, gateway.tokens.alice);
    await page.goto(`${gateway.api.url}/console/requests/${id}`);
    await page.getByRole('grid', { name: 'Result' }).waitFor();
    await tabTo(page, 'Result');
    await page.keyboard.press('Control+End');
    const last = page.getByRole('gridcell', { name: '500000', exact: true });
    await last.waitFor();
    await expect.poll(() => last.getAttribute('aria-selected')).toBe('true');
    await expectFocus(page, { name: 'Result' });
    expect(await page.getByRole('gridcell').count()).toBeLessThan(1500);
  });
});
