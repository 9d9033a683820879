import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseLicenseKey, readLicense, signLicense } from '../../crypto/license-key.js';
import { licenseFor, licenseSigner } from '../support/license.js';

const { publicKeyHex } = licenseSigner;
const payload = {
  key_id: 'lic-0001',
  plan: 'team',
  issued_to: 'Example Ltd',
  issued_at: '2031-01-01T00:00:00Z',
  expires_at: '2032-01-01T00:00:00Z',
};
const signed = (over: object) => readLicense(signLicense(JSON.stringify({ ...payload, ...over }), licenseSigner), publicKeyHex);

describe('a licence key (OP-43)', () => {
  it('is read as in the vector of OP-47', () => {
    const key =
      'svc_lic_v1.eyJrZXlfaWQiOiJsaWMtMDAwMSIsInBsYW4iOiJ0ZWFtIiwiaXNzdWVkX3RvIjoiRXhhbXBsZSBMdGQiLCJpc3N1ZWRfYXQiOiIyMDMxLTAxLTAxVDAwOjAwOjAwWiIsImV4cGlyZXNfYXQiOiIyMDMyLTAxLTAxVDAwOjAwOjAwWiJ9.77+Z6xQjWpI7rvbvRvO4QcPQXFCxc1Ob2T3roIT2Ius/a51j+XOsiA+4vNsnVU8xeRh0BBb2FtkJnsZGBfKuCw==';
    const license = readLicense(`\n ${key}\t`, '03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8');
    expect(license).toEqual({
      keyId: 'lic-0001',
      plan: 'team',
      issuedTo: 'Example Ltd',
      issuedAt: Date.parse('2031-01-01'),
      expiresAt: Date.parse('2032-01-01'),
      limits: { maxUsers: 50, maxDatabases: 20, oidc: true },
    });
    expect(parseLicenseKey(key)?.payload).toBe(JSON.stringify(payload));
  });

  it('may replace the limits of its plan, with null for none', () => {
    expect(signed({ limits: { max_users: null } })).toMatchObject({ limits: { maxUsers: null, maxDatabases: 20 } });
    expect(signed({ limits: { max_users: 0, max_databases: 7 } })).toMatchObject({ limits: { maxUsers: 0, maxDatabases: 7 } });
    expect(signed({ plan: 'free', extra: 1 })).toMatchObject({ plan: 'free', limits: { maxUsers: 20, oidc: false } });
  });

  it('is refused when its payload is none of a licence', () => {
    for (const over of [
      ...[{ plan: 'gold' }, { plan: 'toString' }, { key_id: 1 }, { issued_to: null }, { expires_at: 'soon' }, { issued_at: '' }],
      ...[{ limits: [] }, { limits: null }, { limits: { max_users: -1 } }, { limits: { max_databases: 1.5 } }],
    ])
      expect(signed(over), JSON.stringify(over)).toBe('holds no valid licence');
    for (const text of ['', '[]', 'null', '\xff', '{'])
      expect(readLicense(signLicense(text || ' ', licenseSigner), publicKeyHex)).toBe('holds no valid licence');
  });

  it('is refused with any other byte, and with another public key (property)', () => {
    const { key } = licenseFor(0);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: key.length - 1 }), fc.string({ minLength: 1, maxLength: 1 }), (at, other) => {
        const changed = `${key.slice(0, at)}${other}${key.slice(at + 1)}`;
        if (changed.trim() !== key) expect(typeof readLicense(changed, publicKeyHex)).toBe('string');
      }),
    );
    expect(readLicense(key, 'f'.repeat(64))).toBe('has a signature that does not fit license.public_key');
    expect(readLicense('x'.repeat(100_000), publicKeyHex)).toBe('is not a licence key');
  });
});
