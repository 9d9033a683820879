import { sleep } from '../lib/sleep.js';
import type { Window } from '../test/support/console.js';
import { hurried } from '../test/support/hurried.js';
import { evenly } from './arrivals.js';
import { inBrowser } from './browser.js';
import { create } from './requests.js';
import { hundredths } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

/** The page is at rest after so long. */
const settleMs = 3000;
/** Long enough to be in the list. */
const shownMs = 1000;

/**
 * The inbox of an approver while `changes` changes come, `rate` each second: requests that are made and cancelled. 3,600 at 10 a second are an
 * hour with one each second, played ten times as fast. Answers what the page holds, after its garbage was collected, before them, at each quarter of them and at their end.
 */
export async function consoleMemory(system: BenchSystem, { changes = 3600, rate = 10 }: BenchOptions) {
  const { alice, bob, serverUrl } = system;
  const play = async (count: number) => {
    const { failures } = await evenly({ rate: rate / 2, seconds: count / rate }, async () => {
      const id = await create(alice, 'production', 'select 1');
      await sleep(shownMs);
      await alice.call('POST', `/api/requests/${id}/cancel`, {});
    });
    if (failures.length > 0) throw new Error(failures[0]);
  };
  return inBrowser(system, bob, async (window) => {
    let looks = 0;
    window.page.on('response', (response) => {
      if (response.url().includes('pending_for_me=true&limit=100')) looks += 1;
    });
    await window.page.addInitScript(hurried(rate));
    await window.page.goto(`${serverUrl}/console/`);
    // So that what is made once, such as compiled code, is there.
    await play(rate * 10);
    looks = 0;
    const held = [await heldBy(window)];
    for (let quarter = 0; quarter < 4; quarter += 1) {
      await play(changes / 4);
      held.push(await heldBy(window));
    }
    return { changes, rate, looks, held };
  });
}

async function heldBy({ page, context }: Window) {
  await sleep(settleMs);
  const inspector = await context.newCDPSession(page);
  await inspector.send('HeapProfiler.collectGarbage');
  const { usedSize } = await inspector.send('Runtime.getHeapUsage');
  const { nodes, jsEventListeners } = await inspector.send('Memory.getDOMCounters');
  await inspector.detach();
  return { mib: hundredths(usedSize / 2 ** 20), nodes, listeners: jsEventListeners };
}
