import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { chmod, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

/** A folder that every user may enter; it is removed after the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-folder-'));
  await chmod(folder, 0o755);
  // A program that the test started may still write to it: unlike `rmSync`, this then removes all of it again.
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
}

/** Runs a TypeScript file in a process of its own and returns its first line of output. The process is killed after the test. */
export async function runScript(
  file: string,
  args: string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<{ process: ChildProcess; line: string }> {
  const child = spawn(process.execPath, ['--import', 'tsx', file, ...args], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`${file} ended with code ${code}`))),
  ])) as [string];
  return { process: child, line };
}

/** Whether a process is running. One that has ended but was not reaped yet is not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Asks again until there is an answer, for at most `waitMs`. */
export async function eventually<T>(ask: () => T | Promise<T>, waitMs = 15_000): Promise<Exclude<T, false | null | undefined>> {
  const deadline = Date.now() + waitMs;
  for (;;) {
    const answer = await ask();
    if (answer !== false && answer !== null && answer !== undefined) return answer as Exclude<T, false | null | undefined>;
    if (Date.now() > deadline) throw new Error(`the condition did not come true within ${waitMs / 1000} s`);
    await sleep(25);
  }
}
