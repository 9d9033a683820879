import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../support/processes.js';
import { login } from './run-svc.js';

/** A browser that writes what it is to open into the file `opened`, and the environment in which svc finds it. */
export async function fakeBrowser(url: string): Promise<{ opened: string; environment: Record<string, string> }> {
  const folder = await temporaryFolder();
  const opened = join(folder, 'opened');
  const program = join(folder, 'xdg-open');
  writeFileSync(program, `#!/bin/sh\nprintf '%s\\n' "$@" > "${opened}.new" && mv "${opened}.new" "${opened}"\n`);
  chmodSync(program, 0o755);
  return { opened, environment: { ...login(url), PATH: `${folder}:${process.env.PATH}`, DISPLAY: ':0' } };
}
