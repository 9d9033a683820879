import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { eventually } from './processes.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** It builds first, and starts six programs. */
export const demoWaitMs = 240_000;

/** The demo as `npm run demo -- --keep` runs it, once it is ready. The caller has to kill it. */
export async function startDemo(): Promise<{ child: ChildProcess; output(): string }> {
  const child = spawn(process.execPath, ['dev/demo.mjs', '--keep'], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const ended = new Promise((resolve) => child.once('exit', resolve));
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const isReady = () => output.includes('Ctrl-C stops everything');
  const failed = (error?: Error) => Promise.reject(new Error(`${error?.message ?? 'the demo ended'}:\n${output}`));
  await Promise.race([eventually(isReady, demoWaitMs).catch(failed), ended.then(() => failed())]);
  return { child, output: () => output };
}
