import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type KeptWatches, keepWatch, takeWatch, type WorkWatch } from '../../api/agent/work-watch.js';
import type { Work } from '../../db/claimable-jobs.js';

const nothing: Work = { jobs: [], dryRuns: [], dryRunSoon: false, preflightWaits: false };
const topics = ['j:shop/staging', 'j:shop/production'];

let kept: KeptWatches;
let subscribers: Map<string, Set<() => void>>;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  kept = new Map();
  subscribers = new Map(topics.map((name) => [name, new Set()]));
});
afterEach(() => {
  vi.useRealTimers();
});

const notifications = {
  subscribe(name: string, wake: () => void) {
    subscribers.get(name)?.add(wake);
    return () => void subscribers.get(name)?.delete(wake);
  },
};
const notify = (name: string) => {
  for (const wake of subscribers.get(name) ?? []) wake();
};
const heard = () => [...subscribers.values()].reduce((sum, { size }) => sum + size, 0);
const take = (asked = 'all', agentId = 'agent-1') => takeWatch(kept, notifications, { agentId, asked, topics });
const keep = (watch: WorkWatch, asked = 'all', agentId = 'agent-1') => keepWatch(kept, watch, { agentId, asked });
/** A poll that looks and finds nothing. */
async function emptyPoll(asked = 'all'): Promise<void> {
  const watch = take(asked);
  await watch.look(async () => nothing);
  keep(watch, asked);
}

it('is quiet only after a look that found nothing', async () => {
  const watch = take();
  expect(watch.isQuiet()).toBe(false);
  await watch.look(async () => nothing);
  expect(watch.isQuiet()).toBe(true);
  await expect(watch.look(() => Promise.reject(new Error('gone')))).rejects.toThrow('gone');
  expect(watch.isQuiet()).toBe(false);
});

it.each([[{ jobs: [{}] }], [{ dryRuns: [{}] }], [{ dryRunSoon: true }], [{ preflightWaits: true }]])(
  'is not quiet after a look that found %j',
  async (found) => {
    const watch = take();
    await watch.look(async () => nothing);
    await watch.look(async () => ({ ...nothing, ...found }) as Work);
    expect(watch.isQuiet()).toBe(false);
  },
);

it.each(topics)('is not quiet once %s was notified: after the look, during it, or between two polls', async (name) => {
  const watch = take();
  await watch.look(async () => nothing);
  notify(name);
  expect(watch.isQuiet()).toBe(false);
  await watch.look(async () => {
    notify(name);
    return nothing;
  });
  expect(watch.isQuiet()).toBe(false);
  await watch.look(async () => nothing);
  keep(watch);
  notify(name);
  expect(take().isQuiet()).toBe(false);
});

it('goes over to the next poll that asks for the same, within a second', async () => {
  await emptyPoll();
  vi.advanceTimersByTime(999);
  expect(take().isQuiet()).toBe(true);
});

it('does not go over to a poll that asks for something else, or of another agent', async () => {
  await emptyPoll();
  expect(take('more').isQuiet()).toBe(false);
  await emptyPoll();
  expect(take('all', 'agent-2').isQuiet()).toBe(false);
});

it('believes a look for five seconds, however many polls follow it', async () => {
  await emptyPoll();
  for (let passed = 0; passed < 4500; passed += 500) {
    vi.advanceTimersByTime(500);
    const watch = take();
    expect(watch.isQuiet(), `${passed + 500} ms`).toBe(true);
    keep(watch);
  }
  vi.advanceTimersByTime(500);
  expect(take().isQuiet()).toBe(false);
});

it('hears of nothing more a second after the last poll, and keeps one watch for each agent', async () => {
  const [first, second] = [take(), take()];
  keep(first);
  keep(second);
  expect(heard()).toBe(topics.length);
  keep(take('more'), 'more');
  expect(heard()).toBe(topics.length);
  vi.advanceTimersByTime(1000);
  expect([heard(), kept.size]).toEqual([0, 0]);
});
