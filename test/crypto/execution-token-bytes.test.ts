import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { signingKeyFromSeed, verifySignature } from '../../crypto/ed25519.js';
import { approvalDigest, signExecutionToken, type TokenClaims } from '../../crypto/execution-token.js';
import { verifyExecutionToken } from '../../crypto/verify-execution-token.js';
import { canonicalJson } from '../../domain/canonical-json.js';

const key = signingKeyFromSeed(new Uint8Array(32).fill(11));
const issuedAt = new Date('2031-05-06T07:03:09.123Z');
const content = { operation: 'execute_dml', database: 'shop', environment: 'staging', policyRevision: 'r42' };
const detail = "UPDATE parts SET note = 'groß 😀' WHERE id = 9";
const claims: TokenClaims = {
  ...content,
  detail,
  requestId: '6b0c6c1e-3c39-4f6c-9a0e-7a1b3a7f0a11',
  executionId: 'c0ffee00-0000-4000-8000-000000000001',
  fence: 2,
  unresolvedFences: [1],
  approvalDigest: approvalDigest({ ...content, detail }),
  statementTimeoutSecs: 45,
  maxRows: null,
  maxResultBytes: 10_485_760,
  marker: 'required',
  requesterRole: 'requester',
  requesterSubjectId: 'dana',
  agentId: 'agent-eu-1',
  issuedAt,
};
const token = signExecutionToken(claims, key);
const verifier = {
  keys: new Map([[key.keyId, key.publicKeyHex]]),
  agentId: 'agent-eu-1',
  now: issuedAt,
  hasExecutionPlan: false,
};
const accepted = (text: string, claim = claims) => verifyExecutionToken(text, claim, verifier).ok;

/** Every text that one changed, lost or added byte makes of this one. */
function* altered(text: string): Generator<string> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    // A low bit, the bit of the case, the highest one, and what a token is made of.
    const others = new Set([byte ^ 1, byte ^ 0x20, byte ^ 0x80]);
    for (const like of ['0', 'f', '"', ' ']) others.add(like.charCodeAt(0));
    others.delete(byte);
    for (const other of others) {
      const changed = Buffer.from(bytes);
      changed[at] = other;
      yield changed.toString('utf8');
    }
    yield Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]).toString('utf8');
    yield Buffer.concat([bytes.subarray(0, at), Buffer.from('0'), bytes.subarray(at)]).toString('utf8');
  }
}

describe('a token altered in any byte (ET-I1)', () => {
  it('is refused: every byte of the text, payload, key and both signatures', () => {
    expect(accepted(token)).toBe(true);
    const passed: string[] = [];
    let tried = 0;
    for (const text of altered(token)) {
      tried += 1;
      if (accepted(text)) passed.push(text);
    }
    expect(passed).toEqual([]);
    expect(tried).toBeGreaterThan(Buffer.byteLength(token) * 8);
  }, 60_000);

  it('is refused when any byte of the text that would run is another (ET-37, ET-38, ET-40)', () => {
    const passed = [...altered(detail)].filter((other) => accepted(token, { ...claims, detail: other }));
    expect(passed).toEqual([]);
  }, 60_000);

  it.each([
    'requestId',
    'operation',
    'database',
    'environment',
    'executionId',
    'approvalDigest',
    'policyRevision',
    'marker',
  ] as const)('is refused when any byte of the claim’s %s is another (ET-34, ET-35)', (field) => {
    const passed = [...altered(claims[field])].filter((other) => accepted(token, { ...claims, [field]: other }));
    expect(passed).toEqual([]);
  });

  it('is refused when a migration is written another way, though it means the same (ET-08, ET-38)', () => {
    const bundle = '{"b":[1,2],"a":"x"}';
    const migration = { ...content, operation: 'migrate_up', detail: bundle };
    const up = { ...claims, ...migration, approvalDigest: approvalDigest(migration) };
    const signed = signExecutionToken(up, key);
    expect(verifyExecutionToken(signed, up, verifier)).toMatchObject({ ok: true });
    for (const [other, why] of [
      ['{"a":"x","b":[1,2]}', 'approval_digest mismatch'],
      [' {"b":[1,2],"a":"x"}', 'approval_digest mismatch'],
      ['{"b":[1,2],"a":"\\u0078"}', 'approval_digest mismatch'],
      ['{"b":[2,1],"a":"x"}', 'detail_hash mismatch'],
    ] as const)
      expect(verifyExecutionToken(signed, { ...up, detail: other }, verifier)).toMatchObject({ ok: false, why });
  });

  it('is refused for another agent, whichever byte of its name differs (ET-36)', () => {
    for (const agentId of altered('agent-eu-1'))
      expect(verifyExecutionToken(token, claims, { ...verifier, agentId })).toMatchObject({
        ok: false,
        why: 'agent_id mismatch',
      });
  });

  it('is refused when the claim has another number, or lost one that the token has (ET-35)', () => {
    for (const over of [
      { fence: 1 },
      { fence: 20 },
      { unresolvedFences: [] },
      { unresolvedFences: [1, 2] },
      { statementTimeoutSecs: 0 },
      { statementTimeoutSecs: null },
      { maxRows: 0 },
      { maxResultBytes: 10_485_761 },
    ])
      expect(accepted(token, { ...claims, ...over })).toBe(false);
    // A limit of 0 says "none": a claim that does not mention it must not pass for it.
    const endless = { ...claims, statementTimeoutSecs: 0 };
    const signed = signExecutionToken(endless, key);
    expect([accepted(signed, endless), accepted(signed, { ...endless, statementTimeoutSecs: null })]).toEqual([true, false]);
  });

  it('stays valid when only white space and the order of its keys differ (ET-02)', () => {
    const spaced = JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(token)).reverse()), null, '\t');
    expect(accepted(`\n ${spaced} \r\n`)).toBe(true);
    expect(accepted(token.replace('"dana"', '"d\\u0061na"'))).toBe(true);
  });

  it('is refused when a key is added, renamed, doubled or taken away, known or not (ET-01, ET-14)', () => {
    const fields = JSON.parse(token) as Record<string, unknown>;
    for (const name of Object.keys(fields)) {
      const { [name]: value, ...rest } = fields;
      for (const other of [rest, { ...rest, [`${name}_`]: value }, { ...rest, [name.toUpperCase()]: value }])
        expect([name, accepted(JSON.stringify(other))]).toEqual([name, false]);
      expect(accepted(token.replace('{', `{${JSON.stringify(name)}:${JSON.stringify(value)},`))).toBe(false);
    }
    for (const added of ['"x":1', '"__proto__":1', '"":null', '"claim_signature ":""'])
      expect([added, accepted(token.replace('{', `{${added},`))]).toEqual([added, false]);
  });

  it('is refused with any other signature, also one from another token of the same key (ET-05, ET-32)', () => {
    const other = JSON.parse(signExecutionToken({ ...claims, fence: 3 }, key));
    const fields = JSON.parse(token);
    expect(other.signature, 'the first signature knows no fence').toBe(fields.signature);
    expect(accepted(JSON.stringify({ ...fields, claim_signature: other.claim_signature }))).toBe(false);
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 64, maxLength: 64 }), fc.boolean(), (bytes, first) => {
        const hex = Buffer.from(bytes).toString('hex');
        return !accepted(JSON.stringify({ ...fields, [first ? 'signature' : 'claim_signature']: hex }));
      }),
      { numRuns: 300 },
    );
  });

  it('is refused when S of a signature is raised by the order of the group: there is one signature, not two', () => {
    const order = 2n ** 252n + 27_742_317_777_372_353_535_851_937_790_883_648_493n;
    const fields = JSON.parse(token);
    const raised = (hex: string) => {
      const bytes = Buffer.from(hex, 'hex');
      const s = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString('hex')}`) + order;
      const high = Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse();
      return Buffer.concat([bytes.subarray(0, 32), high]).toString('hex');
    };
    for (const name of ['signature', 'claim_signature'])
      expect(accepted(JSON.stringify({ ...fields, [name]: raised(fields[name]) }))).toBe(false);
  });
});

describe('what the key signs', () => {
  it('begins with its own line, so that no first message can pass for a second one (ET-15)', () => {
    const fields = JSON.parse(token);
    const { claim_signature: second, ...rest } = fields;
    const message = `svc-execution-token-v2\n${canonicalJson(JSON.stringify(rest))}`;
    expect(verifySignature(key.publicKeyHex, Buffer.from(message), second)).toBe(true);
    expect(verifySignature(key.publicKeyHex, Buffer.from(message.replace('svc-execution-token-v2\n', '')), second)).toBe(false);
    const first = [
      claims.requestId,
      'execute_dml',
      'staging',
      'shop',
      fields.detail_hash,
      fields.expires_at,
      'requester',
      'dana',
    ];
    expect(verifySignature(key.publicKeyHex, Buffer.from(first.join('|')), fields.signature)).toBe(true);
    expect(verifySignature(key.publicKeyHex, Buffer.from(first.join('|')), second)).toBe(false);
  });

  it('lives exactly 300 s; a token that says more, or whose instants are none, is refused though it is signed (ET-33)', () => {
    const fields = JSON.parse(token);
    expect(Date.parse(fields.expires_at) - Date.parse(fields.issued_at)).toBe(300_000);
    const signedWith = (over: object) => {
      const changed = { ...fields, ...over };
      const names = ['request_id', 'operation', 'environment', 'database', 'detail_hash', 'expires_at', 'requester_role'];
      const first = [...names, 'requester_subject_id'].map((name) => changed[name]).join('|');
      const { claim_signature: _, ...rest } = { ...changed, signature: key.sign(Buffer.from(first)) };
      const second = key.sign(Buffer.from(`svc-execution-token-v2\n${canonicalJson(JSON.stringify(rest))}`));
      return verifyExecutionToken(JSON.stringify({ ...rest, claim_signature: second }), claims, verifier);
    };
    expect(signedWith({})).toMatchObject({ ok: true });
    expect(signedWith({ expires_at: '2031-05-06T07:08:09.123+00:00' })).toMatchObject({ ok: true });
    for (const over of [
      { expires_at: '2031-05-06T07:08:09.124Z' },
      { expires_at: 'tomorrow' },
      { expires_at: '' },
      { issued_at: 'yesterday' },
    ])
      expect(signedWith(over)).toMatchObject({ ok: false, why: 'invalid expires_at' });
  });
});
