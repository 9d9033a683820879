import { type Caller, expectStatus } from './caller.js';
import { hundredths, percentiles, timed } from './statistics.js';

interface Paging {
  /** The list, by its path and filter. */
  path: string;
  filter: string;
  count: number;
  warmup: number;
  /** CPU time so far; with it, the CPU milliseconds of a page are told too. */
  cpuSeconds?: () => number;
}

/** How long pages of 50 take: the first call alone, then the first page, and one at half depth. */
export async function timePages(caller: Caller, { path, filter, count, warmup, cpuSeconds }: Paging) {
  let total = 0;
  const look = (offset: number) =>
    timed(async () => {
      const page = await expectStatus(200, caller.call('GET', `${path}?limit=50&offset=${offset}&${filter}`));
      total = page.total;
    });
  const first_call_ms = hundredths(await look(0));
  const many = async (offset: number) => {
    for (let left = warmup; left > 0; left -= 1) await look(offset);
    const before = cpuSeconds?.() ?? 0;
    const durations: number[] = [];
    while (durations.length < count) durations.push(await look(offset));
    const cpu = cpuSeconds === undefined ? {} : { cpu: hundredths(((cpuSeconds() - before) * 1000) / count) };
    return { ...percentiles(durations), ...cpu };
  };
  const first_ms = await many(0);
  return { total, first_call_ms, first_ms, half_ms: await many(Math.floor(total / 2)) };
}
