import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openTestBrowser, type TestBrowser, type Window } from '../support/console.js';
import { type ConsoleGateway, startConsoleGateway } from '../support/console-gateway.js';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const browser = (await openTestBrowser(import.meta.url)) as TestBrowser;

describe.skipIf(browser === null)('forms and lists', () => {
  let gateway: ConsoleGateway;
  let id: string;
  let window: Window;
  beforeAll(async () => {
    gateway = await startConsoleGateway();
    // A list of more than 100 is a finding, so that the head of the request has all that it can have.
    id = await gateway.ask(`delete from items where id in (${Array.from({ length: 101 }, (_, index) => index)})`);
    window = await browser.signIn(gateway.api.url, gateway.api.tokens.admin);
  });
  afterAll(async () => {
    await browser.close();
    await gateway.close();
  });

  const goTo = (path: string) => window.page.goto(`${gateway.api.url}${path}`);
  const search = () => new URL(window.page.url()).search;
  const answerOf = async (path: string) => (await gateway.api.call('GET', path, { token: gateway.api.tokens.admin })).body;

  it('a row of the inbox and of the list tells the risk', async () => {
    const { risk } = (await answerOf(`/api/requests/${id}`)).decision_trace;
    const bob = await browser.signIn(gateway.api.url, gateway.tokens.bob);
    for (const path of ['/console/', '/console/requests']) {
      await bob.page.goto(`${gateway.api.url}${path}`);
      await bob.page.getByRole('listitem').filter({ hasText: 'delete from items' }).getByText(`${risk.level} risk`).waitFor();
    }
    expect(bob.complaints).toEqual([]);
  });

  it('filters of closed lists are choices, which apply at once and keep the focus; what was typed applies with them', async () => {
    const { page } = window;
    await goTo('/console/audit');
    await page.getByLabel('Actor').fill('alice');
    await page.getByLabel('Event', { exact: true }).focus();
    await page.getByLabel('Event', { exact: true }).selectOption('request.created');
    await expect.poll(search).toBe('?event_type=request.created&actor_id=alice');
    await page.getByText('1 event', { exact: true }).waitFor();
    expect(await page.locator('.event-type').allInnerTexts()).toEqual(['request.created']);
    await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('event_type');
    await page.getByLabel('Database').fill('elsewhere');
    await page.getByLabel('Database').press('Enter');
    await page.getByText('No event that you may see matches.').waitFor();
    await page.goBack();
    await page.getByText('1 event', { exact: true }).waitFor();
    await expect.poll(() => page.getByLabel('Database').inputValue()).toBe('');
    await page.getByRole('link', { name: 'Clear' }).click();
    await expect.poll(search).toBe('');
    await expect.poll(() => page.getByLabel('Event', { exact: true }).inputValue()).toBe('');
    await expect.poll(() => page.getByLabel('Actor').inputValue()).toBe('');
  });

  it('a filter that an address has and no list offers is shown, and refused by the gateway', async () => {
    await goTo('/console/requests?status=half_done');
    await expect.poll(() => window.page.getByLabel('Status').inputValue()).toBe('half_done');
    await window.page.getByRole('alert').waitFor();
    await window.page.getByLabel('Status').selectOption('pending');
    await window.page.getByLabel('only by me').check();
    await expect.poll(search).toBe('?status=pending&decided_by_me=true');
    await window.page.getByText('No request that you may see matches.').waitFor();
  });

  it('databases and environments that there are can be chosen from', async () => {
    await goTo('/console/requests');
    await window.page.locator('datalist option[value="shop"]').waitFor({ state: 'attached' });
    const offered = () =>
      window.page.locator('datalist option').evaluateAll((all) => all.map((one) => one.getAttribute('value')));
    await expect.poll(offered).toEqual(['shop', 'staging']);
  });

  it('a user is made and changed by choosing roles and groups', async () => {
    const { page } = window;
    await goTo('/console/people');
    await page.getByText('New user').click();
    await page.getByLabel('Id').fill('carla');
    await page.getByLabel('requester', { exact: true }).check();
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('button', { name: 'Close' }).click();
    expect(await answerOf('/api/users/carla')).toMatchObject({ roles: ['requester'], groups: [] });
    await expect.poll(() => page.getByLabel('Id').inputValue()).toBe('');
    await expect.poll(() => page.getByLabel('requester', { exact: true }).isChecked()).toBe(false);
    await page.getByRole('button', { name: 'Change carla' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('requester', { exact: true }).uncheck();
    await dialog.getByLabel('dba-team').check();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('Saved.').waitFor();
    expect(await answerOf('/api/users/carla')).toMatchObject({ roles: [], groups: ['dba-team'] });
    await expect.poll(() => dialog.getByLabel('dba-team').isChecked()).toBe(true);
    await dialog.getByRole('button', { name: 'Suspend' }).click();
    await dialog.getByText('From then on carla can do nothing').waitFor();
    expect(await answerOf('/api/users/carla')).toMatchObject({ status: 'active' });
    await dialog.getByRole('button', { name: 'Suspend at once' }).click();
    await dialog.getByText('Suspended:').waitFor();
    expect(await answerOf('/api/users/carla')).toMatchObject({ status: 'suspended' });
  });

  it('a token is limited to roles of its own user', async () => {
    const { page } = window;
    await goTo('/console/people?show=tokens');
    await page.getByText('New token of mine').click();
    await page.getByLabel('Name').fill('nightly');
    await page.getByLabel('admin', { exact: true }).check();
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('button', { name: 'Close' }).click();
    const { tokens } = await answerOf('/api/tokens');
    expect(tokens.find(({ name }: { name: string }) => name === 'nightly')).toMatchObject({
      scope_ceiling: { roles: ['admin'] },
    });
    await expect.poll(() => page.getByLabel('Days until it expires').inputValue()).toBe('30');
  });

  it('health tells whether the server drains and which configuration is in force', async () => {
    await goTo('/console/health');
    const server = window.page.getByRole('region', { name: 'This server' });
    await server.getByText('takes requests').waitFor();
    await server.getByText(`generation ${gateway.api.services.generation().number}, since`).waitFor();
  });

  it.each([360, 1280, 1920])('breaks no word of a badge or of the head of a request at %i px', async (width) => {
    const { page } = window;
    await page.setViewportSize({ width, height: 900 });
    for (const path of [`/console/requests/${id}`, '/console/requests', '/console/health']) {
      await goTo(path);
      await page.locator('.badge').first().waitFor();
      expect({ path, broken: await page.evaluate(brokenWords) }).toEqual({ path, broken: [] });
    }
    expect(window.complaints).toEqual([]);
  });
});

/** Words that stand on more than one line, as the browser lays them out. */
const brokenWords = `[...document.querySelectorAll('.badge, .fact .value, .fact .term')].flatMap((element) => {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const broken = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    for (const { 0: word, index } of node.data.matchAll(/[a-z]+/gi)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) broken.push(word);
    }
  return broken;
})`;
