import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { clone } from '../../dev/layout.js';
import { temporaryFolder } from '../support/processes.js';

const isDebian = process.platform === 'linux' && process.env.SVC_TEST_MYSQL_URL === undefined;

describe.runIf(isDebian)(
  'DV-12: a run that finds no MariaDB and may not fetch it',
  () => {
    it('names in its last lines which tests did not run and why', async () => {
      const { code, output } = await runWithoutEngines({});
      expect(code).toBe(0);
      expect(output.trimEnd().split('\n').at(-1)).toMatch(/^not run: test\/dev\/mariadb\.test\.ts: no MariaDB \(.+\); install/);
    });

    it('fails with CI=true', async () => {
      expect((await runWithoutEngines({ CI: 'true' })).code).toBe(1);
    });
  },
  60_000,
);

/** A run of one file that needs the server, with an empty cache and a path that leads to no program, installed or not. */
async function runWithoutEngines(more: NodeJS.ProcessEnv): Promise<{ code: number | null; output: string }> {
  const { CI, VITEST, SVC_TEST_NOT_RUN, ...kept } = process.env;
  const child = spawn(process.execPath, [join(clone, 'node_modules/vitest/vitest.mjs'), 'run', 'test/dev/mariadb.test.ts'], {
    cwd: clone,
    env: { ...kept, PATH: '/no/bin', XDG_CACHE_HOME: await temporaryFolder(), ...more },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const output = text(child.stderr);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, output: await output };
}
