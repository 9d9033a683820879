import fc from 'fast-check';
import { expect, it } from 'vitest';
import { memberText, takeString } from '../../../lib/json/member.js';

it('is the exact text of the last member of that name, whatever stands around it (property)', () => {
  const member = fc.tuple(fc.oneof(fc.constantFrom('result', 're"sult', '__proto__'), fc.string()), fc.json());
  fc.assert(
    fc.property(fc.array(member), blank, (members, gap) => {
      const parts = members.map(([key, value]) => `${gap}${JSON.stringify(key)}${gap}:${gap}${value}${gap}`);
      const expected = members.findLast(([key]) => key === 'result')?.[1].trim() ?? null;
      expect(memberText(Buffer.from(`${gap}{${gap}${parts.join(',')}}${gap}`), 'result')).toBe(expected);
    }),
  );
});

const blank = fc.stringMatching(/^[ \t\r\n]{0,2}$/);
/** One character of a JSON string in one of its spellings. */
const character = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).map((one) => JSON.stringify(one).slice(1, -1)),
  fc.nat(0xffff).map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`),
  fc.constantFrom(
    ...[
      '\\"',
      '\\\\',
      '\\/',
      '\\b',
      '\\f',
      '\\n',
      '\\r',
      '\\t',
      '\\u0000',
      '\\u001F',
      '\\u007f',
      '\\u0080',
      '\\u07FF',
      '\\u0800',
    ],
  ),
  fc.constantFrom(
    ...['\\ud800', '\\uDBFF', '\\udc00', '\\uDFFF', '\\ud83d\\ude00', '\\uFFFF', 'é', '😀', '\u2028', '\ufeff', '\x7f'],
  ),
);
const string = fc.array(character, { maxLength: 8 }).map((parts) => `"${parts.join('')}"`);
const key = fc.oneof(
  fc.constantFrom(
    ...['"data"', '"d\\u0061ta"', '"\\u0064\\u0061\\u0074\\u0061"', '"dat"', '"data2"', '"d\\\\u0061ta"', '"__proto__"', '""'],
  ),
  string,
);
const { value, object } = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('true', 'false', 'null', '0', '-1.5E+3', '9007199254740993'),
    string,
    tie('list'),
    tie('object'),
  ),
  list: fc.tuple(blank, fc.array(tie('value'), { maxLength: 3 })).map(([gap, items]) => `[${gap}${items.join(`,${gap}`)}${gap}]`),
  object: fc
    .tuple(blank, fc.array(fc.tuple(key, fc.oneof(string, tie('value'))), { maxLength: 4 }))
    .map(([gap, members]) => `{${gap}${members.map(([name, is]) => `${name}${gap}:${gap}${is}${gap}`).join(`,${gap}`)}}`),
}));

/** What the parser says of a text; `undefined` when it is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The member that the parser sees, and what it sees without the text of it. */
function parsedApart(text: string) {
  const whole = parsed(text);
  const isObject = typeof whole === 'object' && whole !== null && !Array.isArray(whole);
  const data = isObject && 'data' in whole ? whole.data : null;
  if (!isObject || typeof data !== 'string') return { rest: whole, taken: null };
  return { rest: { ...whole, data: '' }, taken: data.replaceAll('\0', '\ufffd').replace(/\p{Surrogate}/gu, '\ufffd') };
}

function takenApart(text: string) {
  const { rest, taken } = takeString(Buffer.from(text), 'data');
  return { rest: parsed(Buffer.from(rest).toString()), taken: taken && Buffer.from(taken).toString() };
}

it('takes the string that the parser would, and leaves the rest as the parser sees it (HT-49, AG-50a, property)', () => {
  fc.assert(
    fc.property(fc.oneof({ weight: 5, arbitrary: object }, value), blank, (text, gap) => {
      expect(takenApart(gap + text + gap)).toEqual(parsedApart(gap + text + gap));
    }),
    { numRuns: 5000 },
  );
});

it('makes no JSON of what is no JSON (HT-43, property)', () => {
  const piece = fc.constantFrom(
    ...['{', '}', '[', ']', ',', ':', '"', '\\', '\\u', '\\ud8', '\n', '\0', '0', 'a', '"data":', '"data":""'],
  );
  fc.assert(
    fc.property(object, fc.nat(), piece, fc.nat(3), (text, place, put, drop) => {
      const at = place % (text.length + 1);
      const broken = text.slice(0, at) + put + text.slice(at + drop);
      // A pair that was cut in two is no UTF-8.
      fc.pre(!/\p{Surrogate}/u.test(broken));
      const whole = parsedApart(broken);
      if (whole.rest === undefined) expect(takenApart(broken).rest).toBeUndefined();
      else expect(takenApart(broken)).toEqual(whole);
    }),
    { numRuns: 5000 },
  );
});

it.each([
  ['{"data":"a","data":null}', null],
  ['{"data":5,"data":"b"}', 'b'],
  ['{"in":{"data":"a"},"data":"b"}', 'b'],
  ['{"in":{"data":"a"}}', null],
  ['["data","a"]', null],
])('of %s takes %j', (text, expected) => {
  expect(takenApart(text).taken).toBe(expected);
});
