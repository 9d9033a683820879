import { sleep } from '../lib/sleep.js';
import { openTestBrowser, type TestBrowser, type Window } from '../test/support/console.js';
import type { Caller } from './caller.js';
import type { BenchSystem } from './system.js';

const waitMs = 60_000;

/** Runs `work` with a browser in which `who` is signed in to the web console. */
export async function inBrowser<T>(
  { serverUrl }: BenchSystem,
  { headers }: Caller,
  work: (window: Window) => Promise<T>,
): Promise<T> {
  const browser: TestBrowser | null = await openTestBrowser(import.meta.url);
  if (browser === null) throw new Error('there is no Chromium');
  try {
    return await work(await browser.signIn(serverUrl, headers.authorization!.replace('Bearer ', '')));
  } finally {
    await browser.close();
  }
}

/** Waits until an expression has a value in the page, and returns it. */
export async function valueIn<T>({ page }: Window, expression: string): Promise<T> {
  for (const deadline = Date.now() + waitMs; Date.now() < deadline; await sleep(20)) {
    const value = await page.evaluate<T | null>(expression).catch(() => null);
    if (value !== null && value !== undefined) return value;
  }
  throw new Error(`the page has no ${expression} after ${waitMs} ms`);
}

/** For `page.addInitScript`: the longest task of the page, in milliseconds, as `longestTask`; tasks below 50 ms are not counted. */
export const countTasks = `
  globalThis.longestTask = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) globalThis.longestTask = Math.max(globalThis.longestTask, duration);
  }).observe({ type: 'longtask' });`;
