import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claimSpanId, firstSpanId, jobSpanId, linkOf, traceIdOf } from '../../tracing/ids.js';

describe('the ids of a trace (OP-94)', () => {
  it('are the digits of the ids that everybody knows', () => {
    const id = '4f0c9d0e-6a53-4c0b-9d4a-0f6b7c1f2a11';
    expect(traceIdOf(id)).toBe('4f0c9d0e6a534c0b9d4a0f6b7c1f2a11');
    expect(firstSpanId(id)).toBe('4f0c9d0e6a534c0b');
    expect([claimSpanId(id), jobSpanId(id)]).toEqual(['4f0c9d0e6a534c0b', '9d4a0f6b7c1f2a11']);
  });

  it('are valid for every id that the gateway makes', () => {
    for (let n = 0; n < 1000; n += 1) {
      const id = randomUUID();
      expect(traceIdOf(id)).toMatch(/^(?!0{32})[0-9a-f]{32}$/);
      for (const span of [firstSpanId(id), jobSpanId(id)]) expect(span).toMatch(/^(?!0{16})[0-9a-f]{16}$/);
    }
  });

  it('do not exist for any other text', () => {
    for (const text of ['', 'x', '4f0c9d0e6a534c0b9d4a0f6b7c1f2a11', '../../etc']) expect(traceIdOf(text)).toBeNull();
  });
});

describe("a caller's traceparent (OP-94)", () => {
  const trace = 'a'.repeat(32);
  const span = 'b'.repeat(16);

  it.each([
    ['version 0', `00-${trace}-${span}-01`],
    ['not sampled', `00-${trace}-${span}-00`],
    ['a later version with more in it', `01-${trace}-${span}-01-what-the-future-will-be-like`],
  ])('is read: %s', (_, header) => {
    expect(linkOf(header)).toEqual({ traceId: trace, spanId: span });
  });

  it.each([
    ['none', undefined],
    ['empty', ''],
    ['ids of zeros', `00-${'0'.repeat(32)}-${span}-01`],
    ['a span of zeros', `00-${trace}-${'0'.repeat(16)}-01`],
    ['upper case', `00-${trace.toUpperCase()}-${span}-01`],
    ['the forbidden version', `ff-${trace}-${span}-01`],
    ['version 0 with more in it', `00-${trace}-${span}-01-more`],
    ['two in one', `00-${trace}-${span}-01, 00-${trace}-${span}-01`],
    ['too short', `00-${trace.slice(1)}-${span}-01`],
    ['very long', `01-${trace}-${span}-01-${'x'.repeat(100_000)}\n`],
  ])('is ignored, or read without what follows: %s', (_, header) => {
    expect([null, { traceId: trace, spanId: span }]).toContainEqual(linkOf(header));
    if (header?.startsWith('01-') !== true) expect(linkOf(header)).toBeNull();
  });

  it('never throws, and gives nothing but hexadecimal digits', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const link = linkOf(text);
        if (link !== null) expect(`${link.traceId}${link.spanId}`).toMatch(/^[0-9a-f]{48}$/);
      }),
    );
  });
});
