import { countTasks, inBrowser } from './browser.js';
import { awaitResult, create } from './requests.js';
import { hundredths, percentiles } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

/** Scrolls the result from one end to the other, a bit with each frame, and answers how long each frame took. */
const scroll = (side: 'Top' | 'Left', frames: number) => `new Promise((resolve) => {
  const grid = document.querySelector('[role=grid]');
  const whole = grid['scroll' + (${JSON.stringify(side)} === 'Top' ? 'Height' : 'Width')];
  const took = [];
  let before;
  const step = (now) => {
    if (before !== undefined) took.push(now - before);
    before = now;
    if (took.length === ${frames}) return resolve(took);
    grid.scroll${side} = whole * took.length / ${frames};
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})`;

/** A result of `rows` × `columns` in the page of its request: how long its frames take while it is scrolled down and across. */
export async function consoleScroll(system: BenchSystem, { rows = 10_000, columns = 50, frames = 300 }: BenchOptions) {
  const names = Array.from({ length: columns }, (_, index) => `g * ${index + 1} % 100003 as column_${index + 1}`);
  const id = await create(system.alice, 'staging', `select ${names.join(', ')} from generate_series(1, ${rows}) as g`);
  await awaitResult(system.alice, id);
  return inBrowser(system, system.alice, async ({ page }) => {
    await page.addInitScript(countTasks);
    await page.goto(`${system.serverUrl}/console/requests/${id}`);
    await page.getByRole('gridcell').first().waitFor();
    const longest = () => page.evaluate<number>('globalThis.longestTask');
    const loading = await longest();
    await page.evaluate('globalThis.longestTask = 0');
    const down = await page.evaluate<number[]>(scroll('Top', frames));
    const across = await page.evaluate<number[]>(scroll('Left', frames));
    const cells = await page.getByRole('gridcell').count();
    return {
      rows,
      columns,
      frames,
      cells,
      frame_down_ms: percentiles(down),
      frame_across_ms: percentiles(across),
      longest_task_ms: hundredths(await longest()),
      longest_task_loading_ms: hundredths(loading),
    };
  });
}
