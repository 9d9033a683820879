import { describe, expect, it } from 'vitest';
import { signingKeyFromSeed, verifySignature } from '../../crypto/ed25519.js';
import { approvalDigest, detailHash, signExecutionToken, type TokenClaims } from '../../crypto/execution-token.js';
import { sha256Hex } from '../../crypto/hash.js';
import { type TokenVerifier, verifyExecutionToken } from '../../crypto/verify-execution-token.js';
import { canonicalJson } from '../../domain/canonical-json.js';
import { approvalMessage, firstMessage, readTokenFields, secondMessage } from '../../domain/execution-token.js';

const K1 = signingKeyFromSeed(Uint8Array.from({ length: 32 }, (_, i) => i + 1));
const K2 = signingKeyFromSeed(Uint8Array.from({ length: 32 }, (_, i) => i + 0x20));
const utf8 = (text: string) => new TextEncoder().encode(text);

const migration =
  '{"format":"v2","direction":"up","versions":["20310101000000"],"migrations":[{"version":"20310101000000","sql":"CREATE TABLE t (id INT);","transactional":true}],"dir_sha256":"ab","max_count":1}';
const content = { operation: 'execute_dml', database: 'shop', environment: 'staging', policyRevision: 'r42' };
const claims: TokenClaims = {
  requestId: '6b0c6c1e-3c39-4f6c-9a0e-7a1b3a7f0a11',
  operation: 'execute_dml',
  environment: 'staging',
  database: 'shop',
  detail: 'UPDATE parts SET qty = 0 WHERE id = 9',
  executionId: 'c0ffee00-0000-4000-8000-000000000001',
  fence: 2,
  unresolvedFences: [1],
  approvalDigest: '20c587fe8b0284d20b421a67bb9c028c40ade969d2b61d61f3bd964f2e0687c4',
  policyRevision: 'r42',
  statementTimeoutSecs: 45,
  maxRows: null,
  maxResultBytes: 10485760,
  marker: 'required',
  requesterRole: 'requester',
  requesterSubjectId: 'dana',
  agentId: 'agent-eu-1',
  issuedAt: new Date('2031-05-06T07:03:09.123Z'),
};
const verifier: TokenVerifier = {
  keys: new Map([[K1.keyId, K1.publicKeyHex]]),
  agentId: 'agent-eu-1',
  now: new Date('2031-05-06T07:03:10Z'),
  hasExecutionPlan: false,
};

function fieldsOf(tokenText: string) {
  const read = readTokenFields(tokenText);
  if ('why' in read) throw new Error(read.why);
  return read.fields;
}

describe('execution token vectors', () => {
  it('derives both public keys and key ids from their seeds (ET-16)', () => {
    expect([K1.publicKeyHex, K1.keyId]).toEqual([
      '79b5562e8fe654f94078b112e8a98ba7901f853ae695bed7e0e3910bad049664',
      '65b60673d6ed884b',
    ]);
    expect([K2.publicKeyHex, K2.keyId]).toEqual([
      '29acbae141bccaf0b22e1a94d34d0bc7361e526d0bfe12c89794bc9322966dd7',
      '24f6ed6acbfe1009',
    ]);
  });

  it('signs the compatible layout with a plan as TV-1 (ET-04, ET-05)', () => {
    const hash = sha256Hex('["SELECT id FROM widgets WHERE id = 7"]');
    expect(hash).toBe('18f1c124ab53389f28f193a778d157c06c053a8b9532948ebe45242b1f00e9a8');
    const message = firstMessage({
      requestId: '0c1d2e3f-1111-4222-8333-444455556666',
      operation: 'execute_select',
      environment: 'staging',
      database: 'shop',
      detailHash: hash,
      expiresAt: '2031-05-06T07:08:09.123Z',
      requesterRole: 'requester',
      requesterSubjectId: 'dana',
    });
    expect(utf8(message)).toHaveLength(169);
    expect(K1.sign(utf8(message))).toBe(
      '40cb580da38ac25257c6d2fd9f19c18a0e317858bc2e8423b3193d6d78ede8713acb5678f440010724f2355bce613279ef9713d9e32480ef3827c72e7cd5ef06',
    );
  });

  it('writes the canonical form and the detail hashes of TV-2 (ET-08, ET-09)', () => {
    const canonical =
      '{"dir_sha256":"ab","direction":"up","format":"v2","max_count":1,"migrations":[{"sql":"CREATE TABLE t (id INT);","transactional":true,"version":"20310101000000"}],"versions":["20310101000000"]}';
    expect(canonicalJson(migration)).toBe(canonical);
    expect(detailHash('migrate_up', migration)).toBe('bcafcdf2306f958fa44e25fb2192371c1e61f9e580673b2d8bee259c8568c92c');
    expect(sha256Hex(migration)).toBe('813a9d6169f345c003af687b3640f1e927d9c3a9e0ba1d9a88c341504b24b60e');
    expect(detailHash('migrate_status', '')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  });

  it('makes the approval digests of TV-3 (ET-12)', () => {
    const update = { ...content, detail: claims.detail };
    expect(approvalMessage(update)).toBe(
      'svc-approval-v1\n11:execute_dml\n4:shop\n7:staging\n3:r42\n37:UPDATE parts SET qty = 0 WHERE id = 9\n',
    );
    expect(approvalDigest(update)).toBe(claims.approvalDigest);
    const unicode = { ...content, detail: "INSERT INTO notes(t) VALUES ('zu groß 😀')" };
    expect(utf8(approvalMessage(unicode))).toHaveLength(103);
    expect(approvalDigest(unicode)).toBe('4222e80e254a7a603b4e228f7c54576f0c752e085278595941bdd8b35abfec4a');
    expect(detailHash('execute_dml', unicode.detail)).toBe('59759c736dbbbc78f6c2179bc9e2b1588e13eb52fbd4fc18684ade9ca844652a');
    const up = { ...content, operation: 'migrate_up', detail: migration };
    expect(utf8(approvalMessage(up))).toHaveLength(250);
    expect(approvalDigest(up)).toBe('83964109f97ec03f2ee9300b498a337e3633a9bb7578a0d556c8d0e35a347743');
  });

  it('signs a claim with K1 as TV-4 and TV-5 (ET-14)', () => {
    const fields = fieldsOf(signExecutionToken(claims, K1));
    expect(fields.get('signature')).toBe(
      '869bc3415aaa9c114abbafbaa2fc1aed5390bd6b52dd5c4fdc8cbb51958226bc8a6018475fce1d1ff8a0f77a8956a4ef3c916660f0b81756df9fad82ac20c50a',
    );
    const message = secondMessage(fields);
    expect(utf8(message)).toHaveLength(853);
    expect(sha256Hex(message)).toBe('caca10259b5cad075379553b710d40e461db50b2de0f7848ab1015a77635cb3a');
    expect(fields.get('claim_signature')).toBe(
      '5c66a9dbf1cd58587a1e89a1acb4d7ca33b648388cc9085696225b95309c3b08c9d22e56f86034e1098deefc63787e9244063e41c0434c0ce6371bbc5b512f04',
    );
  });

  it('signs the same claim with K2 as TV-6 (ET-14)', () => {
    const fields = fieldsOf(signExecutionToken(claims, K2));
    expect(sha256Hex(secondMessage(fields))).toBe('f1e9509f16926c0eecf0744d18ea2398064c4778d27da27cf2a13144becbca67');
    expect(fields.get('signature')).toBe(
      '9f90998c830dcb0505e04de5db358a3915950472f1f7e70c9acdbc1d811222fa0a7e0d745fcb92bfef08905dc8d2e4d66b76bc7d6777b05244d1aca252d23200',
    );
    expect(fields.get('claim_signature')).toBe(
      '4ca3d9fa9b709d196297e1f0f1a19bd8472f2b21630351b208c7e086fb4e3d6d7ae18c040ab0bffabe68dcc9f1e91ba2a7d0a8ca6031f9853c1e38c08cd77402',
    );
  });

  it('signs a migration as TV-7 (ET-08)', () => {
    const fields = fieldsOf(signExecutionToken({ ...claims, operation: 'migrate_up', detail: migration }, K1));
    expect(fields.get('signature')).toBe(
      'a02c53ae4716a4bd7267dc50a725c1d2428dfd82010f1b38f58f5345fac9df9d1794a8f6190c3f76043021b73c5171006e4604b96deb032607e8f5cfd3fb3402',
    );
  });

  it('refuses every forgery of TV-8 (ET-32)', () => {
    const good = signExecutionToken(claims, K1);
    const token = JSON.parse(good);
    const refused = (changed: object, other: Partial<TokenVerifier> = {}) =>
      verifyExecutionToken(JSON.stringify(changed), claims, { ...verifier, ...other });
    const invalid = { ok: false, why: 'signature invalid' };
    expect(refused(token)).toMatchObject({ ok: true });
    expect(refused({ ...token, fence: 3 })).toMatchObject(invalid);
    expect(refused({ ...token, x: 1 })).toMatchObject(invalid);
    expect(refused({ ...token, signature: token.claim_signature, claim_signature: token.signature })).toMatchObject(invalid);
    expect(refused(token, { keys: new Map([[K1.keyId, K2.publicKeyHex]]) })).toMatchObject(invalid);
    const swapped = utf8(
      `${claims.requestId}|execute_dml|shop|staging|${token.detail_hash}|2031-05-06T07:08:09.123Z|requester|dana`,
    );
    expect(verifySignature(K1.publicKeyHex, swapped, token.signature)).toBe(false);
    for (const key of ['signature', 'claim_signature']) {
      expect(refused({ ...token, [key]: `${token[key].slice(0, -2)}ff` })).toMatchObject(invalid);
    }
  });
});
