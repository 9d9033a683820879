import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, vi } from 'vitest';
import { beforeDeadline, stopAfter, waitUntil, within } from '../../lib/deadline.js';
import { sleep } from '../../lib/sleep.js';

const never = new Promise<never>(() => {});
const aborted = AbortSignal.abort(new Error('given up'));

it('within: the value in time, else the fallback; an aborted signal ends the wait', async () => {
  expect(await within(Promise.resolve('value'), 60_000, 'fallback')).toBe('value');
  expect(await within(never, 1, 'fallback')).toBe('fallback');
  expect(await within(never, 60_000, 'fallback', aborted)).toBe('fallback');
  await expect(within(Promise.reject(new Error('broken')), 60_000, 'fallback')).rejects.toThrow('broken');
});

it('beforeDeadline: what comes too late goes to `onLate`, and a late error to nobody', async () => {
  const late = () => new Error('too late');
  const onLate = vi.fn();
  expect(await beforeDeadline(Promise.resolve(1), 60_000, { late, onLate })).toBe(1);
  await expect(beforeDeadline(Promise.reject(new Error('broken')), 60_000, { late })).rejects.toThrow('broken');
  await expect(
    beforeDeadline(
      sleep(40).then(() => Promise.reject(new Error('unheard'))),
      1,
      { late },
    ),
  ).rejects.toThrow('too late');
  await expect(
    beforeDeadline(
      sleep(40).then(() => 2),
      1,
      { late, onLate },
    ),
  ).rejects.toThrow('too late');
  await vi.waitFor(() => expect(onLate.mock.calls).toEqual([[2]]));
});

it('beforeDeadline: what arrived while this process stood still is in time', async () => {
  const echo = spawn(process.execPath, ['-e', 'process.stdin.pipe(process.stdout)']);
  const said = async () => String((await once(echo.stdout, 'data'))[0]);
  echo.stdin.write('ready');
  expect(await said()).toBe('ready');
  const answer = beforeDeadline(said(), 50, { late: () => new Error('too late') });
  echo.stdin.write('answer');
  for (const from = performance.now(); performance.now() - from < 500; );
  expect(await answer).toBe('answer');
  echo.kill();
});

it('stopAfter: stops only work that takes too long or whose signal aborts', async () => {
  const stop = vi.fn();
  expect(await stopAfter(60_000, stop, async () => 'done', new AbortController().signal)).toBe('done');
  expect(await stopAfter(Number.POSITIVE_INFINITY, stop, () => sleep(20))).toBeUndefined();
  expect(stop).not.toHaveBeenCalled();
  for (const [ms, signal] of [[1, undefined] as const, [60_000, aborted] as const]) {
    const ended = new AbortController();
    await stopAfter(
      ms,
      () => ended.abort(),
      () => sleep(60_000, ended.signal),
      signal,
    );
    expect(ended.signal.aborted).toBe(true);
  }
});

it('stopAfter: an error of the work is thrown, and nothing is stopped afterwards', async () => {
  const giveUp = new AbortController();
  const stop = vi.fn();
  await expect(stopAfter(1, stop, () => Promise.reject(new Error('broken')), giveUp.signal)).rejects.toThrow('broken');
  giveUp.abort();
  await sleep(20);
  expect(stop).not.toHaveBeenCalled();
});

it('waitUntil: asks again until it is true, the time is over or the signal aborts', async () => {
  let asked = 0;
  const isThird = () => {
    asked += 1;
    return asked === 3;
  };
  expect(await waitUntil(isThird, { ms: 60_000, everyMs: 1 })).toBe(true);
  expect(asked).toBe(3);
  expect(await waitUntil(async () => false, { ms: 5, everyMs: 1 })).toBe(false);
  await expect(waitUntil(() => false, { ms: 60_000, everyMs: 1, signal: aborted })).rejects.toThrow('given up');
  expect(await waitUntil(() => true, { ms: 0, everyMs: 1, signal: aborted })).toBe(true);
});
