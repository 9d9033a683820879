import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { signingKeyFromSeed } from '../../crypto/ed25519.js';
import { type ExplainTerms, explainTokenProblem, signExplainToken } from '../../crypto/explain-token.js';
import { sha256Hex } from '../../crypto/hash.js';
import { readTokenFields, secondMessage } from '../../domain/execution-token.js';
import { explainMessage } from '../../domain/explain-token.js';

const k1 = signingKeyFromSeed(Uint8Array.from(Array.from({ length: 32 }, (_, index) => index + 1)));
const keys = new Map([[k1.keyId, k1.publicKeyHex]]);
const signedAt = new Date('2031-05-06T07:03:09.123Z');
const later = (secs: number) => new Date(signedAt.getTime() + secs * 1000);
const job: ExplainTerms = {
  jobId: 'a90d3b1c-0d1c-4c7e-8a57-5b8f0f6b2c33',
  kind: 'preflight',
  database: 'shop',
  environment: 'staging',
  sql: 'SELECT * FROM parts',
  agentId: 'agent-eu-1',
};
const accents: ExplainTerms = { ...job, kind: 'dry_run', sql: "UPDATE notes SET t = 'zu groß 😀' WHERE id = 9" };
const problem = (token: string, terms = job, now = later(1), known: ReadonlyMap<string, string> = keys) =>
  explainTokenProblem(token, terms, { keys: known, now });
const messageOf = (token: string) => {
  const read = readTokenFields(token);
  if ('why' in read) throw new Error(read.why);
  return explainMessage(read.fields);
};

describe('explain tokens (HD-81)', () => {
  it.each([
    [
      job,
      '7558bb1f5d95f839fa8c4e3ef14c8861dd9b294f954362849b3fa47960840d2e',
      [301, 'cd59205261de601a475229ec1e0bec4aa57bb6a9533982bbd0af5ca45dc2eef2'],
      'dee8e11064721435db979913ab4fb00f46ccc2fbf6161320fee5d2d9ced247d3e86f23b57bfb7ee78a52e85dfa9fe0ed0dca2127f7562bcd20d42d68aee79a07',
    ],
    [
      accents,
      '2af99970cfffea03a3dad6c0bf1fbdb79fee9193807936533fb9e4fa9db1bb39',
      [299, '22c0b80e8466933c901d67d24c00f657680c77d36b2b36895090df48f89c0178'],
      '07ed8a3fcfa5cfab9c60b8b0dd10e2492982998aa2e5d28710901c64429da4768fd36eb410afe4442e815bfac60a37b41bb72645a196503db42be8340fa58a0b',
    ],
  ] as const)('have these bytes, as docs/agent.md says', (terms, sqlHash, message, signature) => {
    const token = signExplainToken(terms, k1, signedAt);
    expect(JSON.parse(token)).toEqual({
      job_id: terms.jobId,
      kind: terms.kind,
      database: 'shop',
      environment: 'staging',
      agent_id: 'agent-eu-1',
      sql_hash: sqlHash,
      expires_at: '2031-05-06T07:04:09.123Z',
      key_id: '65b60673d6ed884b',
      signature,
    });
    const signed = messageOf(token);
    expect([Buffer.byteLength(signed), sha256Hex(signed)]).toEqual(message);
    expect(problem(token, terms)).toBeNull();
  });

  it('hold for the job they were signed for, and its agent', () => {
    const token = signExplainToken(job, k1, signedAt);
    const others: [string, Partial<ExplainTerms>][] = [
      ['job_id', { jobId: 'a90d3b1c-0d1c-4c7e-8a57-5b8f0f6b2c34' }],
      ['kind', { kind: 'dry_run' }],
      ['database', { database: 'shop2' }],
      ['environment', { environment: 'production' }],
      ['agent_id', { agentId: 'agent-eu-2' }],
      ['sql_hash', { sql: 'SELECT * FROM parts ' }],
      ['sql_hash', { sql: '' }],
    ];
    for (const [name, over] of others) expect([over, problem(token, { ...job, ...over })]).toEqual([over, `${name} mismatch`]);
  });

  it('live 60 s, and clocks may differ by 30 s', () => {
    const token = signExplainToken(job, k1, signedAt);
    expect([-30, 0, 60, 90].map((secs) => problem(token, job, later(secs)))).toEqual([null, null, null, null]);
    expect(problem(token, job, later(90.001))).toBe('token expired');
    // One that would live longer was not made by the gateway's rule.
    expect(problem(token, job, later(-30.001))).toBe('invalid expires_at');
  });

  it('hold with a known key only', () => {
    const other = signingKeyFromSeed(new Uint8Array(32).fill(66));
    const token = signExplainToken(job, other, signedAt);
    expect(problem(token)).toBe('unknown key');
    const claimed = JSON.stringify({ ...JSON.parse(token), key_id: k1.keyId });
    expect(problem(claimed)).toBe('signature invalid');
    expect(problem(token, job, later(1), new Map())).toBe('unknown key');
  });

  it.each<[string, string]>([
    ['', 'invalid token JSON: not a JSON text'],
    ['[]', 'invalid token JSON: not an object'],
    ['{"a":{}}', 'invalid token JSON: nested value in a'],
    ['{"key_id":"a","key_id":"b"}', 'invalid token JSON: duplicate key key_id'],
    ['{}', 'unknown key'],
    [`{"key_id":"${k1.keyId}"}`, 'signature invalid'],
    [`{"key_id":"${k1.keyId}","signature":7}`, 'signature invalid'],
  ])('%s is none', (token, why) => {
    expect(problem(token)).toBe(why);
  });

  it('lose their signature by any change, an added or a missing key (HD-81)', () => {
    const fields = JSON.parse(signExplainToken(job, k1, signedAt)) as Record<string, string>;
    const change = fc.constantFrom(...Object.keys(fields)).chain((key) => fc.tuple(fc.constant(key), fc.string()));
    fc.assert(
      fc.property(change, ([key, value]) => {
        fc.pre(fields[key] !== value);
        expect(problem(JSON.stringify({ ...fields, [key]: value }))).not.toBeNull();
      }),
    );
    expect(problem(JSON.stringify({ ...fields, x: 1 }))).toBe('signature invalid');
    for (const key of Object.keys(fields)) {
      const { [key]: _, ...rest } = fields;
      expect(problem(JSON.stringify(rest))).not.toBeNull();
    }
  });

  it('are no execution tokens: the first line differs, whatever the fields', () => {
    const read = readTokenFields(signExplainToken(job, k1, signedAt));
    if ('why' in read) throw new Error(read.why);
    expect(explainMessage(read.fields).split('\n')[0]).not.toBe(secondMessage(read.fields).split('\n')[0]);
  });

  it('verify for any texts', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.uuid(), (sql, jobId) => {
        const terms = { ...job, sql, jobId };
        expect(problem(signExplainToken(terms, k1, signedAt), terms)).toBeNull();
      }),
    );
  });
});
