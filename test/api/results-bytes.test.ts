import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { TestApi } from '../support/api.js';
import { share } from '../support/share.js';
import { ownerAndApprover, startCalls } from './calls-api.js';
import type { CreationOver, GatewayCalls } from './gateway-calls.js';

/** Single tests make hundreds of calls. */
vi.setConfig({ testTimeout: 60_000 });

let api: TestApi;
let calls: GatewayCalls;
let owner: string;
beforeAll(async () => {
  ({
    api,
    calls,
    tokens: { owner },
  } = await startCalls(ownerAndApprover, ['shop/staging', 'ledger/staging']));
});
afterAll(() => api?.close());

/** The `result_data` of an envelope as it stands in the answer; it is the last key (RS-10). */
const rawData = (text: string) => text.slice(text.indexOf('"result_data":') + '"result_data":'.length, -1);

const space = fc.constantFrom('', ' ', '\n', '\t ', '\r\n');
const number = fc.oneof(
  fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }).map(String),
  fc.constantFrom('1.0', '-0', '0.10', '1e400', '1E-7', '-1.5e+03', '9007199254740993', '0.1000000000000000055511151231257827'),
);
const string = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }).map((text) => JSON.stringify(text)),
  fc.constantFrom('"\\u0041\\/\\ud83d\\ude80"', '"\\ud800"', '"\\u0000"', '"é\u2028𝄞"', '"</script>"', '"__proto__"', '""'),
);
/** JSON texts, not values: repeated keys, odd white space, escapes and numbers that no parser keeps. */
const { json } = fc.letrec<{ json: string; list: string; object: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    number,
    string,
    fc.constantFrom('true', 'false', 'null'),
    tie('list'),
    tie('object'),
  ),
  list: fc
    .tuple(space, fc.array(tie('json'), { maxLength: 4 }), space)
    .map(([before, items, after]) => `[${before}${items.join(`${after},${before}`)}${after}]`),
  object: fc
    .tuple(space, fc.array(fc.tuple(fc.oneof(string, fc.constant('"same"')), tie('json')), { maxLength: 4 }), space)
    .map(
      ([before, entries, after]) =>
        `{${before}${entries.map(([key, value]) => `${key}${after}:${before}${value}`).join(',')}${after}}`,
    ),
}));

/** One execution that takes a result again and again: only the way from submission to reader is looked at. */
async function passThrough(data: string, over: CreationOver): Promise<{ stream: string; content: string | null }> {
  const { id } = await calls.run(owner, over, { success: true, result_data: data });
  const stream = await calls.stream(owner, id);
  const content = await calls.content(owner, id);
  return { stream: rawData(stream.text), content: content.status === 200 ? rawData(content.text) : null };
}

describe('the bytes of a result (RS-10, RS-I1)', () => {
  it('come to the reader as the agent sent them, whatever JSON text they are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.tuple(space, json, space), async ([before, text, after]) => {
        const data = before + text + after;
        expect(await passThrough(data, {})).toEqual({ stream: data, content: data });
      }),
      { numRuns: share(30, 60) },
    );
  });

  it('come through the relay unchanged too', async () => {
    await fc.assert(
      fc.asyncProperty(json, async (text) => {
        expect(await passThrough(text, { no_result_store: true })).toEqual({ stream: text, content: null });
      }),
      { numRuns: share(12, 25) },
    );
  });

  it.each(['', ' ', 'no json', '{"a":1', '[1,]', "{'a':1}", '01', 'NaN', '"a\u0001"', '\ufeff{}', '{} {}'])(
    'are a JSON string of the text when it is %j (RS-11)',
    async (text) => {
      for (const over of [{}, { no_result_store: true }])
        expect((await passThrough(text, over)).stream).toBe(JSON.stringify(text));
    },
  );

  it('survive 5,000 levels of arrays and a megabyte of text', async () => {
    for (const data of [`${'['.repeat(5000)}${']'.repeat(5000)}`, JSON.stringify(['é'.repeat(500_000)])])
      expect(await passThrough(data, {})).toEqual({ stream: data, content: data });
  });

  it('that are no JSON come as one JSON string however large they are (RS-11)', async () => {
    const data = `no "json" \u0001 ${'é🚀\n'.repeat(300_000)}`;
    expect(await passThrough(data, {})).toEqual({ stream: JSON.stringify(data), content: JSON.stringify(data) });
  });

  it('hold U+FFFD where the agent sent U+0000 or half a surrogate pair (AG-50a)', async () => {
    const { id } = await calls.run(owner, {}, { success: true, result_data: '["a\u0000b\ud800c"]' });
    expect(rawData((await calls.content(owner, id)).text)).toBe('["a\ufffdb\ufffdc"]');
  });

  it('have a row count beyond 2^53 as it was reported', async () => {
    const { id } = await calls.run(owner, { detail: 'delete from t where id > 0' }, { success: true, rows_affected: 2 ** 53 });
    expect((await calls.content(owner, id)).text).toContain('"rows_affected":9007199254740992,');
  });
});
