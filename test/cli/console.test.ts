import { existsSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { eventually } from '../support/processes.js';
import { fakeBrowser } from './fake-browser.js';
import { runSvc } from './run-svc.js';

const code = 'c0de-c0de_c0dec0dec0dec0dec0dec0dec0dec0dec';
let api: FakeApi;
let environment: Record<string, string>;
let opened: string;
beforeEach(async () => {
  api = await startFakeApi();
  api.on('POST /api/console/code', { status: 201, body: { code, expires_at: '2026-05-01T09:16:30.000Z' } });
  ({ opened, environment } = await fakeBrowser(api.url));
});
afterEach(() => api.close());

const run = (more: Record<string, string> = {}, ...argv: string[]) =>
  runSvc(['console', ...argv], { environment: { ...environment, ...more } });

describe.skipIf(process.platform !== 'linux')('svc console (CL-55, CO-33)', () => {
  it('opens the console with a code behind the #, and prints the address without it', async () => {
    const { code: exit, stdout, stderr } = await run();
    expect([exit, stdout, stderr]).toEqual([0, `${api.url}/console/\n`, 'opened in your browser\n']);
    await eventually(() => existsSync(opened));
    expect(readFileSync(opened, 'utf8')).toBe(`${api.url}/console/#code=${code}\n`);
    expect(JSON.parse((await run({}, '--json')).stdout).data).toEqual({
      page: `${api.url}/console/`,
      opened: true,
      link: null,
      expires_at: '2026-05-01T09:16:30.000Z',
    });
  });

  it('prints the link where no browser would be seen, over SSH, where none starts, and with --no-browser', async () => {
    const noBrowser = [
      [{ DISPLAY: '' }],
      [{ SSH_CONNECTION: '::1 50000 ::1 22' }],
      [{ PATH: '/nonexistent' }],
      [{}, '--no-browser'],
    ] as const;
    for (const [more, ...argv] of noBrowser) {
      const { code: exit, stdout, stderr } = await run(more, ...argv);
      expect([exit, stdout]).toEqual([0, `${api.url}/console/#code=${code}\n`]);
      expect(stderr).toContain('it signs you in once, within a minute');
    }
    expect(existsSync(opened)).toBe(false);
  });

  it('opens nothing that the server refuses, and shows nothing odd that it answers', async () => {
    api.on('POST /api/console/code', { status: 401, body: { error: 'invalid token', code: 'auth.invalid_token', hint: null } });
    expect((await run()).code).toBe(1);
    api.on('POST /api/console/code', { status: 201, body: { code: 5 } });
    expect(JSON.parse((await run({}, '--json')).stdout).error.code).toBe('server_error');
    api.on('POST /api/console/code', { status: 201, body: { code: 'a\u001b]0;x\u0007 $(touch x)', expires_at: null } });
    expect((await run({ DISPLAY: '' })).stdout).toBe(`${api.url}/console/#code=a%1B%5D0%3Bx%07%20%24(touch%20x)\n`);
    expect(existsSync(opened)).toBe(false);
  });
});
