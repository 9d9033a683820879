import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { databaseToml, passesToml } from '../support/toml.js';

const mart = `${databaseToml('mart', ['staging'], null).trimEnd()}\ndialect = "mysql"\n\n`;
const toml = [databaseToml('shop', ['staging']), mart, passesToml('staging')].join('');

let api: TestApi;
let owner: string;
beforeAll(async () => {
  api = await startTestApi({ toml });
  owner = await api.createUser('owner', { roles: ['requester'] });
});
afterAll(() => api?.close());

const create = (over: object) =>
  api.call('POST', '/api/requests', { token: owner, body: { database: 'shop', environment: 'staging', ...over } });

const matched = ['reason is required', 'not registered', 'already approved', 'already dispatched', 'ambiguous'];

/** What a refused creation says in two cases only. */
const meant = /reason is required|not registered/;

/** Texts that a parser quotes when it refuses them. */
const quoting = [
  (text: string) => `select 1 "${text}" x`,
  (text: string) => `"${text}"`,
  (text: string) => `set "${text}" = 1`,
  (text: string) => `reset "${text}"`,
  (text: string) => `select '${text}`,
  (text: string) => `execute "${text}"`,
  (text: string) => `select \`${text}\` x y`,
  (text: string) => `${text} 1`,
];

describe('texts that clients match are in the answers that mean them, and in no other (section 7.2 of the HTTP rules)', () => {
  it.each(['shop', 'mart'])('whatever SQL for %s quotes', async (database) => {
    const texts = matched.flatMap((text) => quoting.map((quote) => quote(text)));
    const answers = await Promise.all(texts.map((detail) => create({ database, detail })));
    const errors = answers.flatMap(({ status, body }) => (status === 201 ? [] : [`${status} ${body.error}`]));
    expect(errors.length).toBeGreaterThan(texts.length / 2);
    expect(errors.filter((error) => !error.startsWith('400 ') || meant.test(error))).toEqual([]);
  });

  it('whatever the fields hold', async () => {
    const word = fc.constantFrom(...matched);
    const over = fc.dictionary(
      fc.constantFrom(
        'operation',
        'reason',
        'share_with',
        'idempotency_key',
        'metadata',
        'emergency',
        'allow_ddl',
        'detail',
        'x',
      ),
      fc.oneof(word, fc.array(word, { maxLength: 2 }), fc.dictionary(word, word, { maxKeys: 1 }), fc.constant(5)),
    );
    await fc.assert(
      fc.asyncProperty(over, async (fields) => {
        const { status, body } = await create({ detail: 'select 1', ...fields });
        expect([200, 201, 400, 409]).toContain(status);
        if (status === 400 && fields.emergency === undefined) expect(body.error).not.toMatch(meant);
      }),
      { numRuns: 40 },
    );
  });
});
