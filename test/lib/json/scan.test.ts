import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isJsonText as areJsonBytes } from '../../../lib/json/scan.js';

const isJsonText = (text: string) => areJsonBytes(Buffer.from(text));

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const json = fc.oneof(
  fc.json(),
  fc.jsonValue().map((value) => JSON.stringify(value, null, 2)),
);
// Pieces that stand next to each other in JSON, so that most texts are nearly right.
const pieces = fc.constantFrom(
  ...['{', '}', '[', ']', ',', ':', '"', '\\', '\\u00e9', '\\uD8', '"a"', '0', '01', '-', '1.5', '1.', '.5', '1e9', '1e', 'E+2'],
  ...[
    'true',
    'fals',
    'null',
    ' ',
    '\n',
    '\u00a0',
    '\ufeff',
    '\u0001',
    'é',
    '🚫',
    '\ud800',
    "'a'",
    '//',
    '1e400',
    '9007199254740993',
  ],
);

it('tells JSON from other text exactly as the parser does (RS-10, RS-11)', () => {
  const nearly = fc.array(pieces, { maxLength: 12 }).map((list) => list.join(''));
  const broken = fc.tuple(json, fc.nat(), pieces).map(([text, place, piece]) => {
    const at = place % (text.length + 1);
    return text.slice(0, at) + piece + text.slice(at + (place % 2));
  });
  fc.assert(
    fc.property(fc.oneof(json, nearly, broken, fc.string({ unit: 'binary' })), (text) => isJsonText(text) === parses(text)),
    { numRuns: 20_000 },
  );
});

it.each([
  ['', false],
  ['  \t\r\n 1 ', true],
  ['{"a":1,"a":2}', true],
  ['{"a":1,}', false],
  ['[1,]', false],
  ['[1 2]', false],
  ['{"a" 1}', false],
  ['{1:2}', false],
  ['[}', false],
  ['1 1', false],
  ['-', false],
  ['"\\u12"', false],
  ['"\\', false],
  ['9'.repeat(1_000_000), true],
  [`"${'x'.repeat(1_000_000)}"`, true],
])('judges text %#', (text, expected) => {
  expect(isJsonText(text)).toBe(expected);
});

it('follows any depth', () => {
  const depth = 1_000_000;
  expect(isJsonText('['.repeat(depth) + ']'.repeat(depth))).toBe(true);
  expect(isJsonText('['.repeat(depth) + ']'.repeat(depth - 1))).toBe(false);
  expect(isJsonText(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`)).toBe(true);
});
