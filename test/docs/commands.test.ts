import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { demoWaitMs, startDemo } from '../support/demo.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const blocksOf = (page: string) =>
  [...readFileSync(join(root, 'docs', page), 'utf8').matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text]) => text!);
const pages = readdirSync(join(root, 'docs'))
  .filter((name) => name.endsWith('.md') && name !== 'performance.md')
  .filter((name) => blocksOf(name).length > 0);

let demo: Awaited<ReturnType<typeof startDemo>>;
let url: string;
let folder: string;
beforeAll(async () => {
  demo = await startDemo();
  const data = /--config (\S+)\/alice\.toml whoami/.exec(demo.output())![1]!;
  url = /^url = "([^"]+)"$/m.exec(readFileSync(join(data, 'alice.toml'), 'utf8'))![1]!;
  folder = mkdtempSync(join(tmpdir(), 'svc-docs-'));
  symlinkSync(data, join(folder, '.svc'));
}, demoWaitMs + 10_000);
afterAll(() => void demo?.child.kill('SIGINT'));

/**
 * Blocks marked `sh` are run as a reader would run them beside `npm start`: in the folder that holds `.svc`, with `svc` on the path and
 * the administrator's configuration. Blocks that are not to be run are marked otherwise.
 */
describe.each(pages)('docs/%s', (page) => {
  it('shows commands that run as they stand', { timeout: 120_000 }, () => {
    for (const block of blocksOf(page)) {
      const script = block.replaceAll('http://localhost:3000', url).replaceAll('npx svc', 'svc');
      const result = spawnSync('bash', ['--norc', '-e', '-o', 'pipefail', '-c', script], {
        cwd: folder,
        encoding: 'utf8',
        timeout: 60_000,
        env: { PATH: `${join(root, 'bin')}:${process.env.PATH}`, HOME: folder, SVC_CONFIG: '.svc/admin.toml', SVC_YES: '1' },
      });
      expect({ block, status: result.status, output: result.stdout + result.stderr }).toMatchObject({ block, status: 0 });
    }
  });
});
