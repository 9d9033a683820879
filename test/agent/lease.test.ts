import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Lease, moment } from '../../agent/lease.js';

const clocks = { monotonicMs: 5000, clockMs: 1_900_000_000_000 };
beforeEach(() => {
  vi.spyOn(performance, 'now').mockImplementation(() => clocks.monotonicMs);
  vi.spyOn(Date, 'now').mockImplementation(() => clocks.clockMs);
});
afterEach(() => vi.restoreAllMocks());

function pass({ awakeMs = 0, asleepMs = 0, setByMs = 0 }) {
  clocks.monotonicMs += awakeMs;
  clocks.clockMs += awakeMs + asleepMs + setByMs;
}

const lease = (secs?: number) => new Lease({ lease_secs: secs }, moment());

describe('the lease as its agent knows it (AG-40a)', () => {
  it('holds for its length, by the clock that is further on', () => {
    const awake = lease(60);
    pass({ awakeMs: 59_999 });
    expect(awake.holds).toBe(true);
    pass({ awakeMs: 1 });
    expect(awake.holds).toBe(false);
    const asleep = lease(60);
    pass({ asleepMs: 60_000 });
    expect(asleep.holds).toBe(false);
    const setBack = lease(60);
    pass({ awakeMs: 60_000, setByMs: -3_600_000 });
    expect(setBack.holds).toBe(false);
  });

  it('is extended from when the heartbeat was sent, and never shortened by one that was sent earlier', () => {
    const one = lease(60);
    const before = moment();
    pass({ awakeMs: 50_000 });
    one.extend(moment());
    pass({ awakeMs: 50_000 });
    one.extend(before);
    expect(one.holds).toBe(true);
    pass({ awakeMs: 10_000 });
    expect(one.holds).toBe(false);
  });

  it('does not come back after the gateway has said that it is over, and has no end without a length', () => {
    const ended = lease();
    pass({ awakeMs: 86_400_000 });
    expect(ended.holds).toBe(true);
    ended.end();
    ended.extend(moment());
    expect(ended.holds).toBe(false);
  });
});
