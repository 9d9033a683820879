import { expect, it } from 'vitest';
import { planLimits } from '../../runtime/license-limits.js';

const licence = {
  key: 'svc_lic_v1.eyJrZXlfaWQiOiJsaWMtMDAwMSIsInBsYW4iOiJ0ZWFtIiwiaXNzdWVkX3RvIjoiRXhhbXBsZSBMdGQiLCJpc3N1ZWRfYXQiOiIyMDMxLTAxLTAxVDAwOjAwOjAwWiIsImV4cGlyZXNfYXQiOiIyMDMyLTAxLTAxVDAwOjAwOjAwWiJ9.77+Z6xQjWpI7rvbvRvO4QcPQXFCxc1Ob2T3roIT2Ius/a51j+XOsiA+4vNsnVU8xeRh0BBb2FtkJnsZGBfKuCw==',
  publicKey: '03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8',
};
const end = Date.parse('2032-01-01T00:00:00Z');
const free = { maxUsers: 20, maxDatabases: 3, oidc: false };

it('the plan of a licence holds until it expires, and from that instant on it is free (OP-45)', () => {
  expect(planLimits({ license: licence }, end - 1)).toEqual({ maxUsers: 50, maxDatabases: 20, oidc: true });
  expect(planLimits({ license: licence }, end)).toEqual(free);
});

it('without a key, or with one that does not fit its public key, the plan is free (OP-40, OP-43)', () => {
  expect(planLimits({ license: { key: null, publicKey: null } }, 0)).toEqual(free);
  const changed = licence.key.replace('J0ZWFtI', 'J0ZWFNI');
  expect(changed).not.toBe(licence.key);
  expect(planLimits({ license: { ...licence, key: changed } }, 0)).toEqual(free);
});
