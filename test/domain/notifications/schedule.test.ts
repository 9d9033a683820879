import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Failure, maxAttempts, nextAttemptMs, retryAfterMs } from '../../../domain/notifications/schedule.js';

const now = Date.UTC(2031, 1, 3, 4, 5, 6);
const failure = (over: Partial<Failure> = {}): Failure => ({ status: 500, retryAfter: null, ...over });
const table = [1, 2, 60, 960, 1500, 2160, 2940, 3840, 4860];
const secsOf = (n: number, over?: Partial<Failure>, random = 0) => nextAttemptMs(n, failure(over), now, random)! / 1000;

describe('the delay after a failed attempt', () => {
  it('is that of the table, and none after the tenth (NT-50)', () => {
    expect(table.map((_, index) => secsOf(index + 1))).toEqual(table);
    expect(nextAttemptMs(10, failure(), now, 0)).toBeNull();
    expect(nextAttemptMs(10, failure({ status: 429, retryAfter: '5' }), now, 0)).toBeNull();
    expect(nextAttemptMs(11, failure(), now, 0)).toBeNull();
    expect(maxAttempts).toBe(10);
  });

  it('is the same without a status, and after a redirect or a server error (NT-50)', () => {
    for (const status of [null, 101, 301, 304, 500, 502, 503]) expect(secsOf(1, { status })).toBe(1);
  });

  it('is at least a minute after a refusal, but for those that pass (NT-51)', () => {
    for (const status of [400, 401, 403, 404, 410, 422, 499]) {
      expect([1, 2, 3, 4].map((n) => secsOf(n, { status }))).toEqual([60, 60, 60, 960]);
    }
    for (const status of [408, 425, 429]) expect(secsOf(1, { status })).toBe(1);
  });

  it('is what the receiver asks for when that is longer, up to an hour (NT-51)', () => {
    for (const status of [429, 503]) {
      expect(secsOf(1, { status, retryAfter: '90' })).toBe(90);
      expect(secsOf(4, { status, retryAfter: '90' })).toBe(960);
      expect(secsOf(1, { status, retryAfter: 'Mon, 03 Feb 2031 04:07:06 GMT' })).toBe(120);
      for (const retryAfter of ['3600', '3601', '9'.repeat(400), 'Mon, 03 Feb 2042 04:07:06 GMT']) {
        expect(secsOf(1, { status, retryAfter }, 0.9)).toBe(3600);
        expect(secsOf(8, { status, retryAfter })).toBe(3840);
      }
      for (const retryAfter of ['0', '-5', '1.5', 'soon', '', 'Mon, 03 Feb 2031 04:05:00 GMT'])
        expect(secsOf(1, { status, retryAfter })).toBe(1);
    }
    for (const status of [null, 301, 500, 502]) expect(secsOf(1, { status, retryAfter: '90' })).toBe(1);
    expect(secsOf(1, { status: 404, retryAfter: '90' })).toBe(60);
  });

  it('is never shortened, and at most a tenth longer than it must be (NT-51)', () => {
    const asked = fc.oneof(
      fc.constant(null),
      fc.nat(10_000).map(String),
      fc.string(),
      fc.date({ noInvalidDate: true }).map((at) => at.toUTCString()),
    );
    const status = fc.option(fc.integer({ min: 300, max: 599 }));
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), status, asked, random, (n, got, retryAfter, chance) => {
        const one = failure({ status: got, retryAfter });
        const delay = nextAttemptMs(n, one, now, chance)!;
        const shortest = nextAttemptMs(n, one, now, 0)!;
        const heeded = got === 429 || got === 503;
        const wish = heeded && retryAfter !== null ? Math.min(retryAfterMs(retryAfter, now) ?? 0, 3_600_000) : 0;
        const refused = got !== null && got >= 400 && got < 500 && ![408, 425, 429].includes(got) ? 60_000 : 0;
        expect(shortest).toBe(Math.max(table[n - 1]! * 1000, refused, wish));
        expect(delay).toBeGreaterThanOrEqual(shortest);
        expect(delay).toBeLessThanOrEqual(shortest * 1.1);
        expect(Number.isSafeInteger(delay)).toBe(true);
        if (table[n - 1]! <= 2940) expect(delay).toBeLessThanOrEqual(3_600_000);
      }),
      { numRuns: 3000 },
    );
  });
});

describe('Retry-After', () => {
  it('is seconds, or a date in any of the three forms of HTTP, always in UTC (NT-51)', () => {
    expect(retryAfterMs('120', now)).toBe(120_000);
    const at = Date.UTC(1994, 10, 6, 8, 49, 37);
    for (const text of ['Sun, 06 Nov 1994 08:49:37 GMT', 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994'])
      expect(retryAfterMs(text, at - 5000)).toBe(5000);
  });

  it('is not read when it is anything else (NT-51)', () => {
    for (const text of [
      '',
      ' 5',
      '5 ',
      '+5',
      '1e3',
      '0x10',
      '5s',
      '2031-02-03',
      'Mon, 99 Foo 2031 04:05:06 GMT',
      'Mon, 03 Feb 2031 04:05:06 +0100',
    ])
      expect(retryAfterMs(text, now)).toBeNull();
  });
});
