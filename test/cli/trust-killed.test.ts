import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { killAtEachStep } from '../support/killed-at-steps.js';
import { runSvc } from './run-svc.js';

const before = { folder: '/before', address: 'http://127.0.0.1:1', ca: null };
const address = 'http://127.0.0.1:2';

it('svc trust that is killed anywhere leaves what was trusted before, and the next one goes on (HD-60)', async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-project-')));
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'svc-home-')));
  const kept = join(home, 'svc', 'trusted.json');
  const svc = (...argv: string[]) => runSvc([...argv, '--json'], { directory: folder, environment: { XDG_CONFIG_HOME: home } });
  const trusted = () => JSON.parse(readFileSync(kept, 'utf8')).trusted;
  writeFileSync(join(folder, 'svc.toml'), `[server]\nurl = "${address}"\n`);

  const steps = await killAtEachStep(
    () => {
      rmSync(join(home, 'svc'), { recursive: true, force: true });
      mkdirSync(join(home, 'svc'), { mode: 0o700 });
      writeFileSync(kept, JSON.stringify({ version: 1, trusted: [before] }), { mode: 0o600 });
      const script = fileURLToPath(new URL('./run-trust.ts', import.meta.url));
      return { file: script, args: [folder, address], below: [home], environment: { XDG_CONFIG_HOME: home } };
    },
    async () => {
      expect([[before], [before, { folder, address, ca: null }]]).toContainEqual(trusted());
      // The lock is old when somebody types the command again.
      if (existsSync(`${kept}.lock`)) utimesSync(`${kept}.lock`, 0, 0);
      expect(await svc('trust', address)).toMatchObject({ code: 0 });
      expect(trusted()).toEqual([before, { folder, address, ca: null }]);
      // Nothing is written for what is trusted already, so that the lock waits for the next change.
      expect(await svc('trust', '--remove')).toMatchObject({ code: 0 });
      expect(trusted()).toEqual([before]);
      expect(readdirSync(join(home, 'svc'))).toEqual(['trusted.json']);
    },
  );
  expect(steps.map((step) => step.split(' ')[0])).toEqual(['mkdirSync', 'openSync', 'writeFileSync', 'renameSync', 'rmSync']);
}, 120_000);
