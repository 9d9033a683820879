import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createWorkWatches } from '../../api/agent/work-watch.js';
import { createWatches, type Watches } from '../../api/http/watches.js';
import type { Work } from '../../db/claimable-jobs.js';

const topics = ['j:shop/staging', 'j:shop/production'];

let watches: Watches<string>;
let subscribers: Map<string, Set<() => void>>;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  watches = createWatches({ believedMs: 5000, stands: (found) => found !== 'unfit' });
  hears = true;
  subscribers = new Map(topics.map((name) => [name, new Set()]));
});
afterEach(() => {
  vi.useRealTimers();
});

let hears: boolean;
const notifications = {
  hears: () => hears,
  subscribe(name: string, wake: () => void) {
    subscribers.get(name)?.add(wake);
    return () => void subscribers.get(name)?.delete(wake);
  },
};
const notify = (name: string) => {
  for (const wake of subscribers.get(name) ?? []) wake();
};
const heard = () => [...subscribers.values()].reduce((sum, { size }) => sum + size, 0);
const join = (key = 'one') => watches.join(notifications, key, topics);
/** A call that looks and leaves. */
async function lookOnce(key = 'one'): Promise<void> {
  const watch = join(key);
  await watch.look(async () => 'found');
  watch.leave();
}

it('has what the last look found, if that may stand for another one', async () => {
  const watch = join();
  expect(watch.standing()).toBeNull();
  await watch.look(async () => 'found');
  expect(watch.standing()).toBe('found');
  await watch.look(async () => 'unfit');
  expect(watch.standing()).toBeNull();
  await watch.look(async () => 'found');
  await expect(watch.look(() => Promise.reject(new Error('gone')))).rejects.toThrow('gone');
  expect(watch.standing()).toBeNull();
});

it.each(topics)('has nothing once %s was notified: after the look, during it, or between two calls', async (name) => {
  const watch = join();
  await watch.look(async () => 'found');
  notify(name);
  expect(watch.standing()).toBeNull();
  await watch.look(async () => {
    notify(name);
    return 'found';
  });
  expect(watch.standing()).toBeNull();
  await watch.look(async () => 'found');
  watch.leave();
  notify(name);
  expect(join().standing()).toBeNull();
});

it('has nothing while news of other processes does not come', async () => {
  const watch = join();
  hears = false;
  await watch.look(async () => 'found');
  expect([watch.standing(), watches.standing('one')]).toEqual([null, null]);
  hears = true;
  expect([watch.standing(), watches.standing('one')]).toEqual(['found', 'found']);
});

it('has what a look found although another has begun since, of which nothing is known', async () => {
  const [one, other] = [join(), join()];
  const ends: ((found: string) => void)[] = [];
  const find = () => new Promise<string>((resolve) => ends.push(resolve));
  const looks = [one.look(find), other.look(find)];
  ends[0]?.('found');
  await looks[0];
  expect(one.standing()).toBe('found');
  ends[1]?.('unfit');
  await looks[1];
  expect(one.standing()).toBeNull();
});

it('has only what the look found that began last', async () => {
  const [one, other] = [join(), join()];
  let end = (_found: string) => {};
  const early = one.look(
    () =>
      new Promise((resolve) => {
        end = resolve;
      }),
  );
  await other.look(async () => 'late');
  end('early');
  expect([await early, one.standing()]).toEqual(['early', 'late']);
});

it('is shared by calls of one key, also one that comes within a second of the last one, and by no others', async () => {
  await lookOnce();
  vi.advanceTimersByTime(999);
  const [next, beside] = [join(), join()];
  expect([next.standing(), beside.standing(), join('other').standing()]).toEqual(['found', 'found', null]);
  next.leave();
  vi.advanceTimersByTime(1000);
  expect([beside.standing(), watches.standing('one'), watches.standing('none')]).toEqual(['found', 'found', null]);
});

it('stands for its time, however many calls follow', async () => {
  await lookOnce();
  for (let passed = 0; passed < 4500; passed += 500) {
    vi.advanceTimersByTime(500);
    const watch = join();
    expect(watch.standing(), `${passed + 500} ms`).toBe('found');
    watch.leave();
  }
  vi.advanceTimersByTime(500);
  expect(join().standing()).toBeNull();
});

it('hears of nothing more, and holds nothing, a second after its last call', () => {
  const [first, second] = [join(), join()];
  expect(heard()).toBe(topics.length);
  first.leave();
  vi.advanceTimersByTime(2000);
  expect([heard(), watches.size]).toEqual([topics.length, 1]);
  second.leave();
  vi.advanceTimersByTime(1000);
  expect([heard(), watches.size]).toEqual([0, 0]);
});

const nothing: Work = { jobs: [], dryRuns: [], dryRunSoon: false, preflightWaits: false };

it.each([[{ jobs: [{}] }], [{ dryRuns: [{}] }], [{ dryRunSoon: true }], [{ preflightWaits: true }]])(
  'of an agent has a look that found nothing, for five seconds, and none that found %j',
  async (found) => {
    const watch = createWorkWatches().join(notifications, 'agent-1 all', topics);
    await watch.look(async () => ({ ...nothing, ...found }) as Work);
    expect(watch.standing()).toBeNull();
    await watch.look(async () => nothing);
    vi.advanceTimersByTime(4999);
    expect(watch.standing()).toEqual(nothing);
    vi.advanceTimersByTime(1);
    expect(watch.standing()).toBeNull();
  },
);
