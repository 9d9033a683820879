import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { currentConsole } from '../../bin/console.mjs';
import { putInForce, type RedeliveryApi, redeliveryCalls, startRedeliveryApi } from '../api/redelivery-calls.js';
import { openTestBrowser, problemIn, type TestBrowser } from '../support/console.js';
import { consoleDist } from '../support/console-gateway.js';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

const browser = (await openTestBrowser(import.meta.url)) as TestBrowser;

describe.skipIf(browser === null)('the deliveries of the page Webhooks', () => {
  let own: RedeliveryApi;
  beforeAll(async () => {
    await currentConsole();
    own = await startRedeliveryApi({ consoleDist });
  });
  afterAll(async () => {
    await browser.close();
    await own?.api.close();
  });

  it('one that is dead is sent again; what today goes elsewhere is not, and the page says why (NT-63)', async () => {
    const { api, calls } = own;
    const { ended, stored } = redeliveryCalls(own);
    await calls.sql('delete from webhook_deliveries');
    const { id } = await ended();
    const { page, complaints } = await browser.signIn(api.url, api.tokens.admin);
    await page.goto(`${api.url}/console/webhooks`);
    const again = page.getByRole('button', { name: 'Send again' });
    await again.click();
    await page.getByText('It is on its way again, as a new delivery.').waitFor();
    expect((await stored()).length).toBe(2);
    await putInForce(api, { policy: { webhooks: ['people'] } });
    await again.click();
    await problemIn(page, 'Deliveries').getByText('This event no longer goes to the webhook of this delivery.').waitFor();
    expect(await page.getByText('It is on its way again').count()).toBe(0);
    expect([(await stored()).length, (await stored()).includes(id), complaints]).toEqual([2, true, []]);
  });
});
