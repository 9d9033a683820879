import type { BenchSystem } from './system.js';

/** Runs `work` while the worker stands still. */
export async function withoutWorker<T>({ processes }: Pick<BenchSystem, 'processes'>, work: () => Promise<T>): Promise<T> {
  const workers = processes.filter(({ name }) => name.includes('worker'));
  for (const { pid } of workers) process.kill(pid, 'SIGSTOP');
  try {
    return await work();
  } finally {
    for (const { pid } of workers) process.kill(pid, 'SIGCONT');
  }
}
