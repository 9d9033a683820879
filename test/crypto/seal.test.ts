import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { apiToken, newApiToken } from '../../crypto/api-token.js';
import { openFormerSeed, openSeed, sealSeed } from '../../crypto/seal.js';

const key1 = { keyId: 'key-1', purpose: 'execution_token' };
const key2 = { ...key1, keyId: 'key-2' };
const audit = { ...key1, purpose: 'audit' };

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 });

describe('sealed seeds (ET-21)', () => {
  it('open with the same secret key, key id and purpose alone, and never twice look alike', () => {
    fc.assert(
      fc.property(bytes32, bytes32, bytes32, (seed, secret, other) => {
        const sealed = sealSeed(seed, key1, secret);
        expect(openSeed(sealed, key1, secret)).toEqual(seed);
        for (const wrong of [key2, audit]) expect(openSeed(sealed, wrong, secret)).toBeNull();
        expect(openFormerSeed(sealed, 'key-1', secret)).toBeNull();
        if (Buffer.compare(secret, other) !== 0) expect(openSeed(sealed, key1, other)).toBeNull();
        expect(sealSeed(seed, key1, secret)).not.toBe(sealed);
      }),
    );
  });

  it('do not open once a byte has changed', () => {
    const secret = new Uint8Array(32).fill(7);
    const sealed = Uint8Array.from(Buffer.from(sealSeed(new Uint8Array(32), key1, secret).slice('v2.'.length), 'base64'));
    for (let index = 0; index < sealed.length; index += 1) {
      const changed = sealed.map((byte, at) => (at === index ? byte ^ 1 : byte));
      expect(openSeed(`v2.${Buffer.from(changed).toString('base64')}`, key1, secret)).toBeNull();
    }
    expect(openSeed('', key1, secret)).toBeNull();
  });
});

describe('API tokens (IM-10 to IM-12)', () => {
  it('are stored as in the vector', () => {
    expect(apiToken('svc_00112233445566778899aabbccddeeff')).toMatchObject({
      prefix: '00112233',
      hash: '9ad37740a08ecba65356c93fedc91036d8ed833bfea999d4c56d996267b428c9',
    });
  });

  it('are random and of one form', () => {
    const made = Array.from({ length: 100 }, () => newApiToken().token);
    expect(new Set(made).size).toBe(100);
    for (const token of made) expect(token).toMatch(/^svc_[0-9a-f]{32}$/);
  });
});
