import { expect, it } from 'vitest';
import { anySignal } from '../../lib/signals.js';

it('aborts with the reason of the first signal that does', () => {
  const [one, other] = [new AbortController(), new AbortController()];
  const { signal } = anySignal([one.signal, other.signal]);
  expect(signal.aborted).toBe(false);
  other.abort('other');
  one.abort('one');
  expect(signal.reason).toBe('other');
  expect(anySignal([one.signal]).signal.reason).toBe('one');
});

it('follows none of them after its release', () => {
  const one = new AbortController();
  const { signal, release } = anySignal([one.signal]);
  release();
  one.abort();
  expect(signal.aborted).toBe(false);
});
