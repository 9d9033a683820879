import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clockSummary, countedAt, describe as describeView, newer, readNews, readView } from '../../workflows/known.js';

const clock = { kind: 'pending', at: '2031-01-01T00:00:00.000Z', inMs: 5 } as const;
const view = { version: 3, status: 'pending', turn: 'group:dba-team', clock, final: false } as const;

describe('a view in a payload', () => {
  it('is read with its known fields only', () => {
    expect(readView({ ...view, comment: 'text' })).toEqual(view);
    expect(readNews({ who: 'bob', step: 0, view })).toEqual(view);
  });

  it('of any other shape is none, and reading it never throws', () => {
    for (const broken of [
      { version: '3' },
      { version: Number.NaN },
      { status: 1 },
      { turn: null },
      { final: 0 },
      { clock: {} },
      { clock: { ...clock, inMs: Infinity } },
    ])
      expect(readView({ ...view, ...broken })).toBeUndefined();
    fc.assert(
      fc.property(fc.anything(), (payload) => {
        readNews(payload);
        const read = readView(payload);
        return read === undefined || typeof read.version === 'number';
      }),
    );
  });
});

describe('the clock of news that has waited (TT-6)', () => {
  const instant = Date.parse(clock.at);
  const inMs = (said: number, now: number) => countedAt({ ...view, clock: { ...clock, inMs: said } }, now).clock?.inMs;

  it('has left what it has by Temporal, also nothing', () => {
    expect(inMs(3_600_000, instant - 60_000)).toBe(60_000);
    expect(inMs(3_600_000, instant + 60_000)).toBe(-60_000);
  });

  it('has left what was counted if it has just been sent, or Temporal is behind', () => {
    expect(inMs(60_000, instant - 60_000)).toBe(60_000);
    expect(inMs(60_000, instant - 58_500)).toBe(60_000);
    expect(inMs(60_000, instant - 3_600_000)).toBe(60_000);
  });

  it('that says no instant, as a forged one may, or does not run, stays as it is', () => {
    const forged = { ...view, clock: { ...clock, at: 'x' } };
    expect(countedAt(forged, instant)).toBe(forged);
    expect(countedAt({ ...view, clock: null }, instant).clock).toBeNull();
  });
});

describe('what operators see', () => {
  it('fits what the server takes, whatever the view holds', () => {
    const long = 'x'.repeat(5000);
    expect(clockSummary({ kind: long, at: long }).length).toBeLessThan(130);
    for (const cancelled of [true, false]) expect(describeView({ ...view, turn: long }, cancelled).length).toBeLessThan(1200);
    expect(clockSummary(clock)).toBe('waits for approval until 2031-01-01T00:00:00.000Z');
  });
});

it('the newer of two views has the higher version, and of equal ones the first stays', () => {
  const later = { ...view, version: 4 };
  expect(newer(view, later)).toBe(later);
  expect(newer(later, view)).toBe(later);
  expect(newer(view, { ...view })).toBe(view);
  expect(newer(view, undefined)).toBe(view);
});
