import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventHash } from '../../crypto/audit-hash.js';
import { signingKeyFromSeed, verifySignature } from '../../crypto/ed25519.js';
import { type HashedEvent, hashedKeys } from '../../domain/audit/event.js';
import { checkpointText, exportText, headText, purgeText } from '../../domain/audit/signed-texts.js';
import { auditPublicKey, auditSeed, checkpointSignature, hashVectors } from '../support/audit-vectors.js';

const { A, B, C } = hashVectors;

describe('the hash of an event', () => {
  for (const [name, { event, hash }] of Object.entries(hashVectors))
    it(`vector ${name} (AU-30)`, () => expect(eventHash(event)).toBe(hash));

  it('is made from the 22 fields in order, with their lengths in bytes; null and the empty text are the same (AU-30)', () => {
    expect(Object.keys(A.event).toSorted()).toEqual(hashedKeys.toSorted());
    const rest = hashedKeys.slice(1).map((key) => `${Buffer.byteLength(String(A.event[key] ?? ''))}:${A.event[key] ?? ''}`);
    const input = [`36:${A.event.id}`, ...rest].join('\n');
    expect(input.startsWith('36:0d5cf0a1-7c8b-4b3a-9d63-5a1f0c2e4b71\n13:token.created\n5:token\n1:1\n7:success\n4:mira\n')).toBe(
      true,
    );
    expect(createHash('sha256').update(input, 'utf8').digest('hex')).toBe(A.hash);
    expect(eventHash({ ...A.event, reason: '' })).toBe(A.hash);
  });

  it('differs when any field does, whatever stands in the fields beside it (AU-32)', () => {
    const text = fc.string({ unit: 'binary', maxLength: 12 });
    const event = fc.record(Object.fromEntries(hashedKeys.map((key) => [key, text]))) as unknown as fc.Arbitrary<HashedEvent>;
    fc.assert(
      fc.property(event, event, fc.subarray([...hashedKeys], { minLength: 1 }), (one, two, taken) => {
        const other = { ...one, ...Object.fromEntries(taken.map((key) => [key, two[key]])) };
        const same = hashedKeys.every((key) => Buffer.from(String(one[key])).equals(Buffer.from(String(other[key]))));
        expect(eventHash(one) === eventHash(other)).toBe(same);
      }),
    );
  });
});

describe('the signed texts (AU-45)', () => {
  const key = signingKeyFromSeed(auditSeed);
  const createdAt = C.event.created_at;
  const cases = {
    checkpoint: {
      text: checkpointText({ chainHeadHash: B.hash, count: 2, createdAt }),
      signature: checkpointSignature,
    },
    head: {
      text: headText({ seq: 3, eventHash: C.hash, sealedAt: createdAt }),
      signature:
        '241f9a9caf6a80f8605e5702a510ab380d731c8c5ec22001996d3dd5f69a60d1c73683a9aed6866987a82fda80e313442ef40f450e05a462aaddde4c97ac020b',
    },
    purge: {
      text: purgeText({ lastPurgedHash: C.hash, purgedBefore: '2032-04-05T00:00:00.000000Z', retainedCount: 0 }),
      signature:
        '0327a993f8b99bdaf13ab08f0a98ff931e3641a7c33951391fd81c40b10502e82b002387c168819b5851d629c34ca04f2bb7b9b173ac52314213c86082186607',
    },
    export: {
      text: exportText({ firstSeq: 1, lastSeq: 3, count: 3, lastHash: C.hash }),
      signature:
        '58cef9a41eed2db36d29b60a708eb719019b7b417a520b2534fe3808bedabc06ff9d7e7a5647481a3d1b14fd3a43fb3f65385862fd510c1fc9f388c3c0f6c508',
    },
  };

  for (const [name, { text, signature }] of Object.entries(cases))
    it(name, () => {
      expect(key).toMatchObject({ publicKeyHex: auditPublicKey, keyId: '56475aa75463474c' });
      expect(key.sign(Buffer.from(text))).toBe(signature);
      expect(verifySignature(auditPublicKey, Buffer.from(text), signature)).toBe(true);
    });

  it('an export without events has empty places', () => {
    expect(exportText({ firstSeq: null, lastSeq: null, count: 0, lastHash: null })).toBe('audit-export:v1|||0|');
  });
});
