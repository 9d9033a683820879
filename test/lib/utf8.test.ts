import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cutBytes } from '../../lib/utf8.js';

it('is the longest start that fits, and never ends inside a character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(40), (text, limit) => {
      const cut = cutBytes(text, limit);
      expect(text.startsWith(cut)).toBe(true);
      expect(cut).not.toMatch(/\p{Surrogate}/u);
      expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(limit);
      const [next = ''] = text.slice(cut.length);
      if (next !== '') expect(Buffer.byteLength(cut + next)).toBeGreaterThan(limit);
    }),
  );
});
