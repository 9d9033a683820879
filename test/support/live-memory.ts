import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const everyMs = 100;

/** Bytes that this process uses after garbage collection. */
function liveBytes(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Runs `work` and returns by how much the memory in use rose meanwhile: the highest of several samples. */
export async function withLiveMemory<T>(work: () => Promise<T>): Promise<{ value: T; grownBytes: number }> {
  const before = liveBytes();
  let peak = before;
  const over = new AbortController();
  const looking = (async () => {
    while (!over.signal.aborted) {
      peak = Math.max(peak, liveBytes());
      await sleep(everyMs, undefined, { signal: over.signal }).catch(() => {});
    }
  })();
  try {
    const value = await work();
    return { value, grownBytes: peak - before };
  } finally {
    over.abort();
    await looking;
  }
}
