import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Wall clocks of single programs that can be set while they run. */
export interface SteppedClocks {
  /** The environment of a program with a clock of its own. */
  environmentOf(program: string): NodeJS.ProcessEnv;
  /** Sets that clock so many seconds from the machine's. */
  set(program: string, seconds: number): void;
  close(): void;
}

/** Null without a C compiler. Programs written in Go, such as Temporal, ask the kernel past the library and keep the machine's clock. */
export function openSteppedClocks(): SteppedClocks | null {
  const folder = mkdtempSync(join(tmpdir(), 'svc-clocks-'));
  chmodSync(folder, 0o755);
  const library = join(folder, 'stepped-clock.so');
  const source = fileURLToPath(new URL('./stepped-clock.c', import.meta.url));
  const compiled = spawnSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl'], { stdio: 'ignore' });
  if (compiled.status !== 0) {
    rmSync(folder, { recursive: true });
    return null;
  }
  const fileOf = (program: string) => join(folder, program);
  const set = (program: string, seconds: number) => {
    const bytes = new BigInt64Array([BigInt(seconds)]);
    // In place, for the programs have mapped it.
    writeFileSync(fileOf(program), bytes, { flag: 'r+' });
  };
  return {
    environmentOf(program) {
      writeFileSync(fileOf(program), new Uint8Array(8));
      return { LD_PRELOAD: library, SVC_TEST_CLOCK_FILE: fileOf(program) };
    },
    set,
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}
