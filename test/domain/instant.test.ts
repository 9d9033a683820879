import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseInstant } from '../../domain/instant.js';

describe('times in calls (HT-74)', () => {
  it('reads what toISOString writes, to the millisecond', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('0000-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true }),
        (date) => {
          expect(parseInstant(date.toISOString())).toBe(date.getTime());
        },
      ),
    );
  });

  it.each([
    ['2031-06-01T02:00:00+02:00', '2031-06-01T00:00:00.000Z'],
    ['2031-06-01t00:00:00.123456789z', '2031-06-01T00:00:00.123Z'],
    ['2031-12-31T23:59:59-23:59', '2032-01-01T23:58:59.000Z'],
    ['2032-02-29T00:00:00Z', '2032-02-29T00:00:00.000Z'],
    ['9999-12-31T23:59:59-05:00', '9999-12-31T23:59:59.999Z'],
    ['0000-01-01T00:00:00+05:00', '0000-01-01T00:00:00.000Z'],
  ])('%s is %s', (text, iso) => {
    expect(new Date(parseInstant(text) ?? 0).toISOString()).toBe(iso);
  });

  it.each([
    '2031-06-01T00:00:00',
    '2031-06-01',
    '2031-06-01T00:00Z',
    '2031-06-01 00:00:00Z',
    '2031-02-29T00:00:00Z',
    '2031-04-31T00:00:00Z',
    '2031-13-01T00:00:00Z',
    '2031-00-01T00:00:00Z',
    '2031-06-01T24:00:00Z',
    '2031-06-01T00:60:00Z',
    '2031-06-01T00:00:60Z',
    '2031-06-01T00:00:00+24:00',
    '2031-06-01T00:00:00 02:00',
    '1780000000000',
    '',
  ])('refuses %s', (text) => {
    expect(parseInstant(text)).toBeNull();
  });
});
