import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const preload = fileURLToPath(new URL('./killing-preload.mjs', import.meta.url));

export interface Script {
  file: string;
  args: readonly string[];
  /** Changes below these folders are the steps. */
  below: readonly string[];
  environment?: NodeJS.ProcessEnv;
}

/**
 * Runs a script and kills it before its first change to files, then before its second, and so on until it ends by itself. A
 * change with parts is also killed in the middle. `prepare` makes the state that each run starts with. `check` judges what the
 * kill left behind; its errors name the step.
 */
export async function killAtEachStep(prepare: () => Script | Promise<Script>, check: () => unknown): Promise<string[]> {
  for (let at = 1; ; at += 1) {
    const { killed, steps } = await runAndCheck(at, false, prepare, check);
    if (!killed) return steps;
    if (hasParts.test(steps.at(-1) ?? '')) await runAndCheck(at, true, prepare, check);
  }
}

const hasParts = /^(writeFileSync|cpSync|rmSync|spawn|spawnSync) /;

async function runAndCheck(at: number, torn: boolean, prepare: () => Script | Promise<Script>, check: () => unknown) {
  const ran = await run(await prepare(), at, torn);
  try {
    await check();
  } catch (error) {
    const when = ran.killed ? `killed ${torn ? 'in' : 'before'} step ${at}, ${ran.steps.at(-1)}` : 'not killed';
    throw new Error(`${when}: ${(error as Error).message}`, { cause: error });
  }
  return ran;
}

async function run({ file, args, below, environment = {} }: Script, at: number, torn: boolean) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-kill-'));
  const log = join(folder, 'steps');
  try {
    const child = spawn(process.execPath, ['--import', 'tsx', '--import', preload, file, ...args], {
      env: { ...process.env, ...environment, SVC_KILL: JSON.stringify({ below, at, torn, log }) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    if (signal !== 'SIGKILL' && code !== 0) throw new Error(`${file} ended with ${code ?? signal}: ${errors}`);
    return { killed: signal === 'SIGKILL', steps: readFileSync(log, 'utf8').trimEnd().split('\n') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
