import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { signingKeyFromSeed } from '../../crypto/ed25519.js';
import { approvalDigest, signExecutionToken, type TokenClaims } from '../../crypto/execution-token.js';
import { verifyExecutionToken } from '../../crypto/verify-execution-token.js';
import { canonicalJson } from '../../domain/canonical-json.js';
import { approvalMessage, readInstant } from '../../domain/execution-token.js';

const key = signingKeyFromSeed(new Uint8Array(32).fill(7));
const issuedAt = new Date('2031-05-06T07:03:09.123Z');
const text = fc.string({ unit: 'binary', maxLength: 60 });
const name = fc.stringMatching(/^[a-z][a-z0-9_-]{0,20}$/);

const claimsArbitrary: fc.Arbitrary<TokenClaims> = fc
  .record({
    requestId: fc.uuid(),
    operation: fc.constantFrom('execute_select', 'execute_dml', 'migrate_up', 'migrate_status'),
    environment: name,
    database: name,
    detail: text,
    executionId: fc.uuid(),
    fence: fc.integer({ min: 1 }),
    unresolvedFences: fc.array(fc.integer({ min: 1 }), { maxLength: 3 }),
    policyRevision: fc.stringMatching(/^[A-Za-z0-9._:-]{1,128}$/),
    statementTimeoutSecs: fc.nat(),
    maxRows: fc.option(fc.nat()),
    maxResultBytes: fc.nat(),
    marker: fc.constantFrom('required' as const, 'none' as const),
    requesterRole: name,
    requesterSubjectId: name,
    agentId: name,
  })
  .map((claims) => ({ ...claims, issuedAt, approvalDigest: approvalDigest(claims) }));

function verify(token: string, claims: TokenClaims, agentId = claims.agentId) {
  const keys = new Map([[key.keyId, key.publicKeyHex]]);
  return verifyExecutionToken(token, claims, { keys, agentId, now: issuedAt, hasExecutionPlan: false });
}

function changed(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith('x') ? `y${value.slice(1)}` : `x${value.slice(1)}`;
  if (typeof value === 'number') return value + 1;
  return Array.isArray(value) ? [...value, 1] : 5;
}

describe('execution token properties', () => {
  it('verifies every token it signs (ET-I2)', () => {
    fc.assert(
      fc.property(claimsArbitrary, (claims) => verify(signExecutionToken(claims, key), claims).ok),
      { numRuns: 60 },
    );
  });

  it('refuses a change of any key of the token (ET-I1)', () => {
    const claims = fc.sample(claimsArbitrary, 1)[0] as TokenClaims;
    const token = JSON.parse(signExecutionToken(claims, key)) as Record<string, unknown>;
    for (const field of Object.keys(token)) {
      expect(verify(JSON.stringify({ ...token, [field]: changed(token[field]) }), claims)).toMatchObject({ ok: false });
      const { [field]: _, ...without } = token;
      expect(verify(JSON.stringify(without), claims)).toMatchObject({ ok: false });
    }
  });

  it('refuses a change of any key of the claim (ET-I1, ET-I7)', () => {
    const claims = fc.sample(claimsArbitrary, 1)[0] as TokenClaims;
    const token = signExecutionToken(claims, key);
    const ofTheServer = new Set(['issuedAt', 'requesterRole', 'requesterSubjectId', 'agentId']);
    for (const field of Object.keys(claims).filter((one) => !ofTheServer.has(one)) as (keyof TokenClaims)[]) {
      expect(verify(token, { ...claims, [field]: changed(claims[field]) } as TokenClaims)).toMatchObject({ ok: false });
    }
    expect(verify(token, claims, 'another-agent')).toMatchObject({ ok: false, why: 'agent_id mismatch' });
  });

  it('writes one canonical form for every text of the same value (ET-I3)', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), fc.nat(4), (value, indent) => {
        const canonical = canonicalJson(JSON.stringify(value));
        expect(canonicalJson(canonical)).toBe(canonical);
        expect(canonicalJson(JSON.stringify(reversed(value), null, indent))).toBe(canonical);
        expect(JSON.parse(canonical)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('keeps integer-like keys, __proto__ and long integers in the canonical form (ET-10, ET-11)', () => {
    expect(
      canonicalJson('{"b":1,"10":2,"9":3,"__proto__":{"a":9007199254740993}, "😀":1,"\uffff":2,"a/":"\\u2028\\u0001\\/"}'),
    ).toBe('{"10":2,"9":3,"__proto__":{"a":9007199254740993},"a/":"\u2028\\u0001/","b":1,"\uffff":2,"😀":1}');
    expect(canonicalJson('{"a":1,}')).toBe('{"a":1,}');
    expect(canonicalJson('['.repeat(100_000))).toBe('['.repeat(100_000));
  });

  it('gives different bytes for different approved contents (ET-I4)', () => {
    const content = fc.record({ operation: text, database: text, environment: text, policyRevision: text, detail: text });
    fc.assert(
      fc.property(content, content, (a, b) => {
        const same = Object.keys(a).every((field) => a[field as keyof typeof a] === b[field as keyof typeof b]);
        expect(approvalMessage(a) === approvalMessage(b)).toBe(same);
      }),
    );
  });

  it('reads instants of RFC 3339 in every spelling (ET-03)', () => {
    const instant = Date.parse('2031-05-06T07:08:09.123Z');
    for (const spelling of ['2031-05-06T07:08:09.123Z', '2031-05-06t07:08:09.123456z', '2031-05-06 09:08:09.123+02:00']) {
      expect(readInstant(spelling)).toBe(instant);
    }
    for (const wrong of ['2031-05-06', '2031-13-06T07:08:09Z', 'tomorrow', '2031-05-06T07:08:09']) {
      expect(readInstant(wrong)).toBeNull();
    }
  });
});

describe('execution token refusals', () => {
  const claims = (fc.sample(claimsArbitrary, 1) as TokenClaims[])[0] as TokenClaims;
  const token = JSON.parse(signExecutionToken(claims, key));
  const keys = new Map([[key.keyId, key.publicKeyHex]]);
  const base = { keys, agentId: claims.agentId, now: issuedAt, hasExecutionPlan: false };
  const why = (tokenText: string, other: object = {}) => {
    const verdict = verifyExecutionToken(tokenText, claims, { ...base, ...other });
    return verdict.ok ? 'ok' : verdict.why;
  };

  it.each([
    ['no JSON', '{', 'invalid token JSON: not a JSON text'],
    ['a list', '[1]', 'invalid token JSON: not an object'],
    ['a nested value', '{"a":{}}', 'invalid token JSON: nested value in a'],
    ['a duplicate key', '{"a":1,"a":1}', 'invalid token JSON: duplicate key a'],
    ['a fractional number', '{"a":1.5}', 'invalid token JSON: number of a is no plain integer'],
    ['only the first signature', JSON.stringify({ ...token, claim_signature: undefined }), 'unsupported token version'],
    ['another version', JSON.stringify({ ...token, v: 3 }), 'unsupported token version'],
    ['uppercase hex', JSON.stringify({ ...token, signature: token.signature.toUpperCase() }), 'invalid signature hex'],
    ['short hex', JSON.stringify({ ...token, claim_signature: token.claim_signature.slice(1) }), 'invalid signature hex'],
  ])('refuses a token with %s (ET-28 to ET-31)', (_, tokenText, expected) => {
    expect(why(tokenText)).toBe(expected);
  });

  it('refuses plans, unknown keys and instants outside the life of the token (ET-28, ET-30, ET-33)', () => {
    const good = JSON.stringify(token);
    expect(why(good)).toBe('ok');
    expect(why(good, { hasExecutionPlan: true })).toBe('execution plan not supported');
    expect(why(good, { keys: new Map() })).toBe('unknown key');
    expect(why(good, { now: new Date(issuedAt.getTime() + 330_000) })).toBe('ok');
    expect(why(good, { now: new Date(issuedAt.getTime() + 330_001) })).toBe('token expired');
    expect(why(good, { now: new Date(issuedAt.getTime() - 30_001) })).toBe('token not yet valid');
  });

  it('refuses to sign names that hold a separator or a control character (ET-07)', () => {
    for (const requesterRole of ['a|b', 'a\nb', 'a\ud800']) {
      expect(() => signExecutionToken({ ...claims, requesterRole }, key)).toThrow('cannot be signed');
    }
  });
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([name, member]) => [name, reversed(member)]));
}
