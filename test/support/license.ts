import { signingKeyFromSeed } from '../../crypto/ed25519.js';
import { signLicense } from '../../crypto/license-key.js';

export const licenseSigner = signingKeyFromSeed(new Uint8Array(32).fill(0x11));

/** `[license]` of a configuration with a key that ends at `expiresAt` (milliseconds since the epoch). */
export function licenseFor(expiresAt: number, over: Record<string, unknown> = {}) {
  const expires_at = new Date(expiresAt).toISOString();
  const payload = { key_id: 'lic-1', plan: 'team', issued_to: 'us', issued_at: '2026-01-01T00:00:00Z', expires_at, ...over };
  return { key: signLicense(JSON.stringify(payload), licenseSigner), publicKey: licenseSigner.publicKeyHex };
}
