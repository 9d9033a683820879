import { isIPv6 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { blockOf, grantedOf, type LimitVerdict, networkOf, tighter } from '../../domain/rate-limit.js';
import { canonicalAddress } from '../../runtime/client-address.js';

describe('shares of a window', () => {
  it('never sum up to more than the limit, whatever is asked for by whom (OP-I2)', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5000 }),
        fc.array(fc.integer({ min: 1, max: 600 }), { maxLength: 40 }),
        (limit, asks) => {
          let taken = 0;
          let passed = 0;
          for (const amount of asks) {
            taken += amount;
            passed += grantedOf(limit, amount, taken);
          }
          expect(passed).toBe(Math.min(limit, taken));
        },
      ),
    );
  });

  it('are small beside the limit, so that other processes find some (OP-34)', () => {
    expect([1, 10, 49, 100, 300, 5000, 60_000, 240_000].map(blockOf)).toEqual([1, 1, 1, 2, 6, 100, 500, 500]);
  });
});

describe('the limit that is told (OP-32)', () => {
  const verdict = (passes: boolean, remaining: number): LimitVerdict => ({ passes, perWindow: 100, remaining, resetMs: 1 });

  it('is a refusal before any other, else the one with the fewest calls left', () => {
    const order = [verdict(true, 0), verdict(false, 3), verdict(true, 7)];
    const tightest = order.reduce<LimitVerdict | null>(tighter, null);
    expect(tightest).toEqual(verdict(false, 3));
    expect(tighter(verdict(true, 7), verdict(true, 2)).remaining).toBe(2);
    expect(tighter(verdict(true, 2), verdict(true, 7)).remaining).toBe(2);
  });
});

describe('what an address is counted as (OP-31)', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['::1', '0:0:0:0::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['1::2:3:4:5:6', '1:0:0:2::/64'],
  ])('%s is %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });

  it('is the same for all hosts of a /64 and another beyond it', () => {
    const group = fc.integer({ min: 0, max: 0xffff }).map((value) => value.toString(16));
    const groups = (count: number) => fc.array(group, { minLength: count, maxLength: count });
    fc.assert(
      fc.property(groups(4), groups(4), groups(4), groups(4), (net, host, otherHost, otherNet) => {
        const of = (parts: string[]) => networkOf(canonicalAddress(parts.join(':')) ?? '');
        fc.pre(isIPv6([...net, ...host].join(':')) && net.some((part) => part !== '0') && otherNet.some((part) => part !== '0'));
        expect(of([...net, ...host])).toBe(of([...net, ...otherHost]));
        if (net.join() !== otherNet.join()) expect(of([...otherNet, ...host])).not.toBe(of([...net, ...host]));
      }),
    );
  });
});
