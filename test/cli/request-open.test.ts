import { existsSync, readFileSync, rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { eventually } from '../support/processes.js';
import { fakeBrowser } from './fake-browser.js';
import { runSvc } from './run-svc.js';
import { paths, requestId, shown } from './samples.js';

let api: FakeApi;
let environment: Record<string, string>;
let opened: string;
beforeEach(async () => {
  api = await startFakeApi();
  api.on(paths.show, shown('pending'));
  ({ opened, environment } = await fakeBrowser(api.url));
});
afterEach(() => api.close());

const open = (more: Record<string, string> = {}, ...argv: string[]) =>
  runSvc(['request', 'open', requestId, ...argv], { environment: { ...environment, ...more } });

describe.skipIf(process.platform !== 'linux')('svc request open (CL-38)', () => {
  it('opens the page to which messages link, and prints its address, without a credential', async () => {
    const { code, stdout, stderr } = await open();
    const page = `${api.url}/console/requests/${requestId}`;
    expect([code, stdout, stderr]).toEqual([0, `${page}\n`, 'opened in your browser\n']);
    await eventually(() => existsSync(opened));
    expect(readFileSync(opened, 'utf8')).toBe(`${page}\n`);
    rmSync(opened);
    expect(JSON.parse((await open({}, '--json')).stdout)).toEqual({ ok: true, data: { page, opened: true } });
    await eventually(() => existsSync(opened));
  });

  it('only prints it where no browser would be seen or none starts', async () => {
    for (const more of [{ DISPLAY: '' }, { PATH: '/nonexistent' }]) {
      const { code, stdout, stderr } = await open(more);
      expect([code, stdout]).toEqual([0, `${api.url}/console/requests/${requestId}\n`]);
      expect(stderr).toContain('open this address yourself');
    }
    expect(existsSync(opened)).toBe(false);
  });

  it('opens nothing of a request that does not exist, or that the caller may not see', async () => {
    for (const [status, code] of [
      [404, 'request.not_found'],
      [403, 'auth.forbidden'],
      [401, 'auth.unauthorized'],
    ] as const) {
      api.on(paths.show, { status, body: { error: 'no', code, hint: null } });
      const { code: exit, stdout } = await open({}, '--json');
      expect([exit, JSON.parse(stdout).error.code]).toEqual([1, code]);
    }
    api.on(paths.show, shown('pending'));
    const odd = `4f0c9d0e-6a53-4c0b-9d4a-;touch evil;1`.slice(0, 36);
    expect((await runSvc(['request', 'open', odd], { environment })).code).toBe(1);
    expect(existsSync(opened)).toBe(false);
  });
});
