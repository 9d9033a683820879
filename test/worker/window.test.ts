import { describe, expect, it } from 'vitest';
import { createWindow } from '../../worker/window.js';

describe('the window of calls to Temporal', () => {
  const noted = (...durations: number[]) => {
    const window = createWindow({ min: 2, max: 32 });
    for (const ms of durations) window.note(ms);
    return window.size;
  };
  const times = (count: number, ms: number) => Array.from({ length: count }, () => ms);

  it('opens to its bound while calls are quick, one per window', () => {
    expect(noted(...times(2, 5))).toBe(2);
    expect(noted(...times(3, 5))).toBe(3);
    expect(noted(...times(2000, 5))).toBe(32);
  });

  it('halves for a window of slow calls and never closes', () => {
    expect(noted(...times(2000, 5), 500)).toBe(16);
    expect(noted(...times(2000, 5), ...times(16, 500))).toBe(16);
    expect(noted(...times(2000, 5), ...times(200, 500))).toBe(2);
  });
});
