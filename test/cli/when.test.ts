import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseWhen } from '../../cli/when.js';

const now = Date.parse('2026-05-10T12:00:00.000Z');
const units = { d: 86_400_000, h: 3_600_000, m: 60_000 } as const;

describe('times on the command line (CL-28)', () => {
  it('lie in the future for --expires and in the past for the others (property)', () => {
    fc.assert(
      fc.property(
        fc.nat(99_999),
        fc.constantFrom('d', 'h', 'm'),
        fc.constantFrom('expires', 'since', 'until'),
        (n, unit, use) => {
          const away = Date.parse(parseWhen(`${n}${unit}`, use, now)) - now;
          expect(away).toBe((use === 'expires' ? 1 : -1) * n * units[unit] + 0);
        },
      ),
    );
  });

  it('mean the end of a day, and its start for --since', () => {
    expect(parseWhen('2026-05-01', 'since', now)).toBe('2026-05-01T00:00:00Z');
    expect(parseWhen('2026-05-01', 'expires', now)).toBe('2026-05-01T23:59:59Z');
    expect(parseWhen('2026-05-01', 'until', now)).toBe('2026-05-01T23:59:59.999999Z');
  });

  it.each(['2026-05-01T09:15:30Z', '2026-05-01t09:15:30.123z', '2026-05-01T09:15:30+02:00'])('may be RFC 3339: %s', (text) => {
    expect(parseWhen(text, 'since', now)).toBe(text);
  });

  it.each([
    '',
    'tomorrow',
    '7',
    '7w',
    '-7d',
    '1.5h',
    '2026-5-1',
    '2026-13-01',
    '2026-02-30',
    '2026-04-31T00:00:00Z',
    '2026-05-01T00:00:00',
    '2026-05-01T25:00:00Z',
    '9999999d',
  ])('are refused in another form, and as days that do not exist: %j', (text) => {
    expect(() => parseWhen(text, 'expires', now)).toThrow(/^--expires takes 7d/);
  });
});
