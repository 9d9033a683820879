import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closingText } from './closing.js';
import { startDemo } from './demo-gateway.js';
import { lockFolder, removeCluster } from './folder-lock.js';
import { layoutOf } from './layout.js';
import { play } from './play.js';
import { freePort } from './ports.js';
import { createReport } from './report.js';
import { runSession } from './run-session.js';

/**
 * `npm run demo`: plays the demo in a new temporary folder, on free ports; exits 0 only if every step succeeded. `--keep` stays
 * until Ctrl-C.
 */
export async function main(argv: string[]): Promise<number> {
  const unknown = argv.find((word) => word !== '--keep');
  if (unknown !== undefined) {
    process.stderr.write(`error: unknown option ${unknown}; there is only --keep\n`);
    return 2;
  }
  const keep = argv.includes('--keep');
  const report = createReport((text) => process.stdout.write(text));
  const folder = mkdtempSync(join(tmpdir(), 'svc-demo-'));
  const layout = layoutOf(folder);
  return runSession(async (session) => {
    session.atEnd(() => {
      removeCluster(layout);
      rmSync(folder, { recursive: true, force: true });
    });
    session.atEnd(lockFolder(layout));
    report.line(`Starting a new gateway in ${folder}`);
    const stage = await startDemo(session, layout, { api: await freePort(), ui: await freePort() }, report);
    await play(stage);
    report.line('\nEvery step held.');
    if (keep) report.line(await closingText(stage, 'Ctrl-C stops everything and removes the folder.'));
  }, !keep);
}
