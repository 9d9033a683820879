import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compactJson, onOneLine, readJson } from '../../../lib/json/read.js';

describe('reading JSON exactly', () => {
  it('keeps the digits of numbers (CL-15)', () => {
    const value = readJson('{"a":9007199254740993,"b":1.0,"c":-0,"d":1e400}');
    expect(value.entries().map(([key, item]) => [key, item.text])).toEqual([
      ['a', '9007199254740993'],
      ['b', '1.0'],
      ['c', '-0'],
      ['d', '1e400'],
    ]);
  });

  it('keeps repeated keys and their order; the last one counts when asked by name (CL-15)', () => {
    const value = readJson('{"id":1,"name":"x","id":2}');
    expect(value.entries().map(([key]) => key)).toEqual(['id', 'name', 'id']);
    expect(value.get('id')?.text).toBe('2');
  });

  it('reads texts nested 100,000 deep without running out of stack', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(compactJson(readJson(deep).items()[0]!.text)).toHaveLength(199_998);
  });

  it('refuses what is no JSON', () => {
    for (const text of ['', '{', '[1,]', "{'a':1}", '1 2']) expect(() => readJson(text)).toThrow(SyntaxError);
  });

  it('agrees with JSON.parse on every JSON text (property)', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(undefined, 2, '\t'), (text, space) => {
        const spaced = JSON.stringify(JSON.parse(text), null, space);
        expect(JSON.parse(compactJson(spaced))).toEqual(JSON.parse(text));
        expect(JSON.parse(onOneLine(spaced))).toEqual(JSON.parse(text));
        expect(onOneLine(spaced)).not.toMatch(/[\r\n]/);
        expect(rebuilt(readJson(spaced))).toEqual(JSON.parse(text));
      }),
    );
  });
});

function rebuilt(value: ReturnType<typeof readJson>): unknown {
  if (value.kind === 'object') return Object.fromEntries(value.entries().map(([key, item]) => [key, rebuilt(item)]));
  if (value.kind === 'array') return value.items().map(rebuilt);
  return JSON.parse(value.text);
}
