import { countTasks, inBrowser } from './browser.js';
import { create } from './requests.js';
import { hundredths, percentiles } from './statistics.js';
import { copyRequest } from './stored-requests.js';
import type { BenchOptions, BenchSystem } from './system.js';
import { withoutWorker } from './without-worker.js';

/** From the last answer with rows until this many rows are painted. */
const paintedAfter = (rows: number) => `new Promise((resolve) => {
  const look = () => {
    if (document.querySelectorAll('[data-row]').length < ${rows}) return requestAnimationFrame(look);
    requestAnimationFrame(() => setTimeout(() => {
      const answers = performance.getEntriesByType('resource').filter(({ name }) => name.includes('limit=100'));
      resolve(performance.now() - Math.max(...answers.map(({ responseEnd }) => responseEnd)));
    }));
  };
  look();
})`;

/** The inbox of an approver for whom `waiting` requests wait: how long its first rows take from their answer to the screen, then all. */
export async function consoleInbox(system: BenchSystem, { waiting = 1000, count = 5 }: BenchOptions) {
  // The copies have no workflows, which the worker would make during the measurement.
  const id = await create(system.alice, 'production', 'select 1');
  return withoutWorker(system, async () => {
    await copyRequest(system.database, id, waiting);
    return inBrowser(system, system.bob, async ({ page }) => {
      await page.addInitScript(countTasks);
      const first: number[] = [];
      const all: number[] = [];
      let longest = 0;
      while (all.length < count) {
        await page.goto(`${system.serverUrl}/console/`);
        first.push(await page.evaluate<number>(paintedAfter(Math.min(waiting, 100))));
        const more = page.getByRole('button', { name: /^Show \d+ more$/ });
        let last = first.at(-1)!;
        for (let rows = 200; (await more.count()) > 0; rows += 100) {
          await more.click();
          last = await page.evaluate<number>(paintedAfter(Math.min(waiting, rows)));
        }
        all.push(last);
        longest = Math.max(longest, await page.evaluate<number>('globalThis.longestTask'));
      }
      return { waiting, count, first_ms: percentiles(first), all_ms: percentiles(all), longest_task_ms: hundredths(longest) };
    });
  });
}
