import { inBrowser, valueIn } from './browser.js';
import { hundredths, percentiles } from './statistics.js';
import type { BenchOptions, BenchSystem } from './system.js';

/** When the first part of the inbox is painted. */
const noteUsable = `new MutationObserver((_, observer) => {
  if (document.querySelector('main section') === null) return;
  observer.disconnect();
  requestAnimationFrame(() => setTimeout(() => { globalThis.usableMs = performance.now(); }));
}).observe(document, { childList: true, subtree: true });`;

/** The first load of the web console with an empty cache: its files and their bytes as sent, and how long until the inbox is there. */
export async function consoleLoad(system: BenchSystem, { count = 10 }: BenchOptions) {
  return inBrowser(system, system.bob, async (window) => {
    const { page, context } = window;
    const inspector = await context.newCDPSession(page);
    await inspector.send('Network.enable');
    await inspector.send('Network.setCacheDisabled', { cacheDisabled: true });
    const files = new Map<string, number>();
    const names = new Map<string, string>();
    inspector.on('Network.requestWillBeSent', ({ requestId, request }) => names.set(requestId, new URL(request.url).pathname));
    inspector.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      const name = names.get(requestId) ?? '';
      if (name.startsWith('/console/')) files.set(name, encodedDataLength);
    });
    await page.addInitScript(noteUsable);
    const durations: number[] = [];
    while (durations.length < count) {
      await page.goto(`${system.serverUrl}/console/`);
      durations.push(await valueIn<number>(window, 'globalThis.usableMs'));
    }
    const bytes = [...files.values()].reduce((sum, one) => sum + one, 0);
    return { count, files: files.size, kib: hundredths(bytes / 1024), usable_ms: percentiles(durations) };
  });
}
