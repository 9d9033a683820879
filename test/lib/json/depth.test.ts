import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isNestedDeeper } from '../../../lib/json/depth.js';

const bytes = (text: string) => new TextEncoder().encode(text);

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe('the depth of JSON text (HD-90)', () => {
  it.each<[string, number]>([
    ['{}', 1],
    ['[[],[],[]]', 2],
    ['["\\"[[[",[1]]', 2],
    ['["\\\\",[1]]', 2],
    ['{"[[[[":{"a\\"[":[{}]}}', 4],
    ['["\\u0022",[[1]]]', 3],
    ['[1,[2,[3]],[4]]', 3],
    ['["ü[😀[",[]]', 2],
  ])('%s: %i', (text, depth) => {
    expect(depthOf(JSON.parse(text))).toBe(depth);
    expect([isNestedDeeper(bytes(text), depth), isNestedDeeper(bytes(text), depth - 1)]).toEqual([false, true]);
  });

  it('of a text that ends early is counted as far as the text goes', () => {
    expect(isNestedDeeper(bytes('"[[[["'), 0)).toBe(false);
    for (const text of ['[[[', '{"a":{"b":{"c":', '[[["', '[[["\\', '[[[}}}', '[[[1 2']) {
      expect([isNestedDeeper(bytes(text), 2), isNestedDeeper(bytes(text), 3)]).toEqual([true, false]);
    }
  });

  it('is that of the value, in any spelling', () => {
    fc.assert(
      fc.property(fc.json({ depthSize: 'large', maxDepth: 12 }), fc.integer({ min: 0, max: 3 }), (text, indent) => {
        const value = JSON.parse(text) as unknown;
        const depth = depthOf(value);
        const spelt = bytes(JSON.stringify(value, null, indent));
        expect(isNestedDeeper(spelt, depth)).toBe(false);
        if (depth > 0) expect(isNestedDeeper(spelt, depth - 1)).toBe(true);
      }),
    );
  });

  it('never lets a parser build deeper, whatever the bytes', () => {
    const piece = fc.constantFrom('[', ']', '{', '}', '"', '\\', ',', ':', '1', '"a":', ' ');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), fc.integer({ min: 1, max: 4 }), (pieces, max) => {
        const text = pieces.join('');
        let value: unknown = null;
        try {
          value = JSON.parse(text);
        } catch {
          return;
        }
        expect(isNestedDeeper(bytes(text), max)).toBe(depthOf(value) > max);
      }),
      { numRuns: 20_000 },
    );
  });
});
