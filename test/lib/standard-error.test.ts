import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { expect, it } from 'vitest';

const logFile = new URL('../../runtime/log.ts', import.meta.url).pathname;

/** Logs for a while, as server and worker do, then prints that it lives. */
const script = `
  const { createLog } = await import(${JSON.stringify(logFile)});
  const log = createLog({ process: 'server', version: '0', level: 'info', format: 'text' });
  for (let line = 0; line < 5; line++) {
    log.info('a line');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  process.stdout.write('lives');
  process.exit(0);`;

async function run(log: 'pipe' | number): Promise<[code: unknown, told: string]> {
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', log],
  });
  child.stderr?.destroy();
  let told = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (told += chunk));
  const [code] = await once(child, 'close');
  return [code, told];
}

it('a log that nobody reads any more ends no process', async () => {
  expect(await run('pipe')).toEqual([0, 'lives']);
});

it.skipIf(!existsSync('/dev/full'))('a log on a full disk ends no process', async () => {
  const full = openSync('/dev/full', 'w');
  try {
    expect(await run(full)).toEqual([0, 'lives']);
  } finally {
    closeSync(full);
  }
});
