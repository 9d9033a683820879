import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hundredths, percentiles } from './statistics.js';
import type { BenchOptions } from './system.js';

const shells = ['bash', 'zsh', 'fish'] as const;
const configuration = `default_database = "shop"
[server]
url = "http://127.0.0.1:1"
token = "svc_00112233445566778899aabbccddeeff"
[databases.ledger]
migrations_dir = "migrations"
`;

/** `svc completion SHELL` as a shell's start-up file runs it, the process included (CL-46). */
export async function completion({ count = 60, warmup = 3 }: BenchOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-completion-'));
  writeFileSync(join(folder, 'svc.toml'), configuration);
  const svc = join(import.meta.dirname, '..', 'bin', 'svc');
  const once = (shell: string): number => {
    const startedAt = performance.now();
    const { status, stdout, stderr } = spawnSync(process.execPath, [svc, 'completion', shell], { cwd: folder });
    if (status !== 0 || stdout.length === 0) throw new Error(`svc completion ${shell}: ${status} ${stderr}`);
    return performance.now() - startedAt;
  };
  try {
    const ms: Record<string, ReturnType<typeof percentiles>> = {};
    for (const shell of shells) {
      for (let left = warmup; left > 0; left -= 1) once(shell);
      ms[shell] = percentiles(Array.from({ length: count }, () => once(shell)));
    }
    return { count, ms, node_start_ms: nodeStartMs(count) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The part of it that Node itself takes. */
function nodeStartMs(count: number): number {
  const durations = Array.from({ length: count }, () => {
    const startedAt = performance.now();
    spawnSync(process.execPath, ['-e', '']);
    return performance.now() - startedAt;
  });
  return hundredths(durations.sort((a, b) => a - b)[Math.floor(count / 2)] ?? Number.NaN);
}
