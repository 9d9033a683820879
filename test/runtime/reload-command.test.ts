import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runReload } from '../../runtime/commands/reload.js';
import { temporaryFolder } from '../support/processes.js';

it('svc server reload tells in one line that it cannot read what another user owns (OP-51, CL-60)', async () => {
  const folder = await temporaryFolder();
  const config = join(folder, 'server.toml');
  const pidFile = join(folder, 'state', 'server.pid');
  await writeFile(config, 'state_dir = "state"');
  // A folder in its place is not readable for anybody, root included.
  await mkdir(pidFile, { recursive: true });
  const lines: string[] = [];
  const say = { out: (line: string) => void lines.push(line), err: (line: string) => void lines.push(line) };
  expect(await runReload({ config }, say)).toBe(1);
  expect(lines).toEqual([`${pidFile}: cannot be read (it is a folder); run this as the user of the server`]);
});
