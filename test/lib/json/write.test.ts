import fc from 'fast-check';
import { expect, it } from 'vitest';
import { arrayText, closeObject, insideString, objectText, objectWriter, openObject } from '../../../lib/json/write.js';

/** JSON that prints as it is written, so that texts can be compared. */
const json = fc.json().map((text) => JSON.stringify(JSON.parse(text)));
const key = fc
  .oneof(fc.string({ minLength: 1 }), fc.constantFrom('a"b', 'a\\', 'constructor', '\u2028'))
  .filter((name) => !/^\d/.test(name) && name !== '__proto__');
const members = fc.uniqueArray(fc.tuple(key, json), { selector: ([name]) => name, maxLength: 5 });
const parsed = (pairs: readonly (readonly [string, string])[]) =>
  Object.fromEntries(pairs.map(([name, text]) => [name, JSON.parse(text)]));

it('makes an object of values and of JSON texts, which it keeps as they are', () => {
  fc.assert(
    fc.property(members, members, (values, texts) => {
      const text = objectText(parsed(values), Object.fromEntries(texts));
      expect(text).toBe(JSON.stringify({ ...parsed(values), ...parsed(texts) }));
    }),
  );
  expect(objectText({ a: 1, b: 2, gone: undefined }, { a: '1e400', c: '{ "x":1,"x":2 }' })).toBe(
    '{"a":1e400,"b":2,"c":{ "x":1,"x":2 }}',
  );
});

it('writes arrays and rows as the printer would', () => {
  fc.assert(
    fc.property(members, (pairs) => {
      const texts = pairs.map(([, text]) => text);
      expect(arrayText(texts)).toBe(JSON.stringify(texts.map((text) => JSON.parse(text))));
      expect(objectWriter(pairs.map(([name]) => name))(texts)).toBe(JSON.stringify(parsed(pairs)));
    }),
  );
});

it('writes an object around a member that comes in pieces, also when it is the first or the last one', () => {
  fc.assert(
    fc.property(members, key, members, (before, name, after) => {
      const text = `${openObject(JSON.stringify(parsed(before)), name)}1${closeObject(parsed(after))}`;
      const names = [...before.map(([one]) => one), name, ...after.map(([one]) => one)];
      expect(Object.keys(JSON.parse(text) as object)).toEqual([...new Set(names)]);
    }),
  );
  expect(`${openObject('{}', 'a')}1${closeObject()}`).toBe('{"a":1}');
});

it('escapes a text piece by piece as it would the whole', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' })), (pieces) => {
      expect(`"${pieces.map(insideString).join('')}"`).toBe(JSON.stringify(pieces.join('')));
    }),
  );
});
