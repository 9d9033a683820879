import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { currentConsole } from '../../bin/console.mjs';
import { startTestApi, type TestApi } from '../support/api.js';
import { openTestBrowser, type TestBrowser, type Window } from '../support/console.js';
import { consoleDist } from '../support/console-gateway.js';
import { databaseToml, dbaTeamToml, workflowToml } from '../support/toml.js';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const browser = (await openTestBrowser(import.meta.url)) as TestBrowser;

/** bob may approve both steps. */
const steps = [[{ group: 'dba-team' }], [{ group: 'dba-team' }]];
const twoSteps = workflowToml({ steps, environment: 'staging', more: 'allow_same_approver_across_steps = true' });

const webhookToml = '[[webhooks]]\nid = "people"\nurl = "https://hooks.example.com/in"\n';

describe.skipIf(browser === null)('a double click', () => {
  let api: TestApi;
  let tokens: Record<'alice' | 'bob', string>;
  beforeAll(async () => {
    await currentConsole();
    api = await startTestApi({
      toml: [databaseToml('shop', ['staging']), dbaTeamToml, twoSteps, webhookToml].join(''),
      consoleDist,
    });
    tokens = await api.createUsers({ alice: { roles: ['requester'] }, bob: { roles: ['requester'], groups: ['dba-team'] } });
  });
  afterAll(async () => {
    await browser.close();
    await api?.close();
  });

  it('approves no step that the page has not shown (CO-32)', async () => {
    const { id, bob } = await deciding('select 1');
    const looks = /\/api\/requests\/[0-9a-f-]{36}(\/executions)?$/;
    let show = (): void => {};
    const isShown = new Promise<void>((resolve) => {
      show = resolve;
    });
    await bob.page.route(looks, async (route) => {
      await isShown;
      await route.continue().catch(() => undefined);
    });
    await approve(bob).click();
    await bob.page.getByText('Approved: 1 of 2 steps are done.').waitFor();
    expect(await approve(bob).isDisabled()).toBe(true);
    show();
    await expect.poll(() => approve(bob).isEnabled()).toBe(true);
    expect(await approvals(id)).toBe(1);
    await approve(bob).click();
    await bob.page.getByText('waits for alice to resume it').waitFor();
    expect(await approvals(id)).toBe(2);
  });

  it('approves one step, however fast the page shows the next one (CO-32)', async () => {
    const { id, bob } = await deciding('select 2');
    await approve(bob).click();
    await bob.page.getByText('Approved: 1 of 2 steps are done.').waitFor();
    await expect.poll(() => approve(bob).isEnabled()).toBe(true);
    const calls = callsOf(bob.page);
    await approve(bob).dispatchEvent('click', { detail: 2 });
    await approve(bob).click();
    await bob.page.getByText('waits for alice to resume it').waitFor();
    expect(calls.filter((path) => path.endsWith('/approve'))).toHaveLength(1);
    expect(await approvals(id)).toBe(2);
  });

  it('on Create makes one token: of another one nobody would see the text', async () => {
    const { page } = await browser.signIn(api.url, api.tokens.admin);
    await page.goto(`${api.url}/console/people?show=tokens`);
    await page.getByText('New token of mine').click();
    await page.getByLabel('Name').fill('laptop');
    const calls = callsOf(page);
    await page.getByRole('button', { name: 'Create' }).dblclick();
    await page.getByText('Keep it now').waitFor();
    expect(calls.filter((call) => call === 'POST /api/tokens')).toHaveLength(1);
  });

  it('on Suspend only asks; nobody has read the question yet', async () => {
    const { page, calls } = await userDialog('carol');
    await page.getByRole('button', { name: 'Suspend' }).click();
    await page.getByText('From then on carol can do nothing').waitFor();
    await page.getByRole('button', { name: 'Suspend at once' }).dispatchEvent('click', { detail: 2 });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    expect(calls.filter((call) => call.endsWith('/suspend'))).toEqual([]);
  });

  it('on New first token makes one: a second one would end the first, which somebody may have copied', async () => {
    const { page, calls } = await userDialog('dave');
    await page.getByRole('button', { name: 'New first token' }).dblclick();
    await page.getByText('Keep it now').waitFor();
    expect(calls.filter((call) => call.endsWith('/reissue-initial-token'))).toHaveLength(1);
  });

  it('on Send a test sends one', async () => {
    const { page } = await browser.signIn(api.url, api.tokens.admin);
    await page.goto(`${api.url}/console/webhooks`);
    const calls = callsOf(page);
    await page.getByRole('button', { name: 'Send a test' }).dblclick();
    await page.getByText('A test is on its way').waitFor();
    expect(calls.filter((call) => call.startsWith('POST'))).toEqual(['POST /api/webhooks/people/test']);
  });

  async function userDialog(id: string): Promise<{ page: Page; calls: string[] }> {
    await api.createUser(id, { roles: ['requester'] });
    const { page } = await browser.signIn(api.url, api.tokens.admin);
    await page.goto(`${api.url}/console/people`);
    await page.getByRole('button', { name: `Change ${id}` }).click();
    return { page, calls: callsOf(page) };
  }

  async function deciding(detail: string): Promise<{ id: string; bob: Window }> {
    const body = { database: 'shop', environment: 'staging', detail, reason: 'a test' };
    const { id } = (await api.call('POST', '/api/requests', { token: tokens.alice, body })).body;
    const bob = await browser.signIn(api.url, tokens.bob);
    await bob.page.goto(`${api.url}/console/requests/${id}`);
    await approve(bob).waitFor();
    return { id, bob };
  }

  const approve = ({ page }: Window) => page.getByRole('button', { name: 'Approve', exact: true });

  async function approvals(id: string): Promise<number> {
    const { body } = await api.call('GET', `/api/requests/${id}`, { token: tokens.alice });
    return body.approval_progress.steps.flatMap((step: { approvals: unknown[] }) => step.approvals).length;
  }
});

/** What the page asks of the server from now on. */
function callsOf(page: Page): string[] {
  const calls: string[] = [];
  page.on('request', (request) => calls.push(`${request.method()} ${new URL(request.url()).pathname}`));
  return calls;
}
