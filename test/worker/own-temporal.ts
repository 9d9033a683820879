import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Child, startChild } from '../../dev/child.js';
import { freePort } from '../../dev/ports.js';
import { findTemporalProgram } from '../../dev/temporal/program.js';
import { hasNamespace } from '../../dev/temporal/ready.js';

/** A Temporal server of one test's own that can be killed and started again on its port, with its data or without. */
export async function openOwnTemporal(dynamicConfig: string[] = []) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-own-temporal-'));
  const { file } = await findTemporalProgram({ environment: process.env, report: () => {}, signal: AbortSignal.timeout(60_000) });
  const port = await freePort();
  let generation = 0;
  let child: Child | undefined;
  const start = async () => {
    child = startChild({
      name: 'Temporal',
      file,
      args: [
        ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--headless', '--log-level', 'error'],
        ...['--db-filename', join(folder, `${generation}.db`), '--sqlite-pragma', 'journal_mode=wal'],
        ...['--sqlite-pragma', 'synchronous=normal'],
        ...dynamicConfig.flatMap((setting) => ['--dynamic-config-value', setting]),
      ],
      logFile: join(folder, 'temporal.log'),
      deathSignal: 'SIGKILL',
    });
    while (!(await hasNamespace(port, 'default'))) {
      if (child.hasExited()) throw new Error(`Temporal did not start: ${child.logFile}`);
      await sleep(25);
    }
  };
  const kill = async () => child?.stop('SIGKILL', 5000);
  return {
    address: `127.0.0.1:${port}`,
    start,
    kill,
    /** Copies its data as they are on disk, as a disk snapshot does; the function that it returns makes the next start find the copy. */
    saveData: () => {
      process.kill(child!.pid, 'SIGSTOP');
      const parts = ['', '-wal'].map((part) => ({ part, kept: join(folder, `kept-${generation}.db${part}`) }));
      for (const { part, kept } of parts) copyFileSync(join(folder, `${generation}.db${part}`), kept);
      process.kill(child!.pid, 'SIGCONT');
      return () => {
        generation += 1;
        for (const { part, kept } of parts) copyFileSync(kept, join(folder, `${generation}.db${part}`));
      };
    },
    /** The next start finds no data. */
    loseData: () => {
      generation += 1;
    },
    async close() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
