import { type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { login } from './run-svc.js';
import { created, paths, shown, twoRows } from './samples.js';

const fileOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

const full = 'error: standard output cannot be written (the disk is full)\n';

/** As a process of its own; what it prints is written when it ends. */
function startSvc(argv: readonly string[], environment: NodeJS.ProcessEnv, stdio: StdioOptions) {
  const main = JSON.stringify(new URL('../../cli/main.ts', import.meta.url).href);
  const end = JSON.stringify(fileOf('bin/client.cjs'));
  const script = `import { main } from ${main}; import client from ${end}; await client.end(main(process.argv.slice(1)));`;
  const words = ['--import', fileOf('node_modules/tsx/dist/loader.mjs'), '--input-type=module', '-e', script, '--', ...argv];
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', ...environment };
  return spawn(process.execPath, words, { env, cwd: fileOf('.'), stdio });
}

let api: FakeApi;
beforeEach(async () => {
  api = await startFakeApi();
});
afterEach(() => api.close());

describe('the end of a process', () => {
  it('is no success if a command never ends: nothing was told of it', async () => {
    const script = `require(${JSON.stringify(fileOf('bin/client.cjs'))}).end(new Promise(() => {}))`;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'ignore', 'pipe'] });
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += String(chunk);
    });
    expect(await once(child, 'close')).toEqual([1, null]);
    expect(stderr).toBe('error: the command has stopped without an outcome; this is a fault of this program\n');
  });

  describe.skipIf(!existsSync('/dev/full'))('on a full disk (CL-13)', () => {
    it.each([
      ['tells why what it prints is not there', ['init', '--dry-run'], full],
      ['does so with --json', ['init', '--dry-run', '--json'], full],
      ['does so for the version', ['--version'], full],
      ['is silent with quiet (CL-12)', ['init', '--dry-run', '--format', 'quiet'], ''],
    ])('%s', async (_, argv, told) => {
      const disk = openSync('/dev/full', 'w');
      const child = startSvc(argv, {}, ['ignore', disk, 'pipe']);
      closeSync(disk);
      let stderr = '';
      child.stderr?.on('data', (chunk) => {
        stderr += String(chunk);
      });
      expect([await once(child, 'close'), stderr]).toEqual([[1, null], told]);
    });
  });

  it('is that of the command although nobody reads its standard error any more (CL-I1)', async () => {
    let isClosed = false;
    let looks = 0;
    api.on(paths.create, created('dispatched'));
    api.on(paths.show, () => {
      if (isClosed) looks += 1;
      return shown(isClosed ? 'running' : 'dispatched');
    });
    // The news that it runs has been written before its result comes.
    api.on(paths.stream, () => (looks === 0 ? { status: 204 } : { body: twoRows }));
    const child = startSvc(['execute', 'SELECT 1'], login(api.url), ['ignore', 'pipe', 'pipe']);
    let stdout = '';
    child.stdout?.on('data', (chunk) => {
      stdout += String(chunk);
    });
    await once(child.stderr!, 'data');
    child.stderr?.destroy();
    isClosed = true;
    const [code] = await once(child, 'close');
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('(2 rows)') });
  });
});
