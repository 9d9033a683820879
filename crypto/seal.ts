import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const nonceBytes = 12;
const tagBytes = 16;
const form = 'v2.';

/** Seals a seed with AES-256-GCM under a 32-byte secret key, bound to its key id and purpose (ET-21): `v2.` and base64 of nonce, tag and ciphertext. */
export function sealSeed(seed: Uint8Array, key: { keyId: string; purpose: string }, secretKey: Uint8Array): string {
  const nonce = new Uint8Array(randomBytes(nonceBytes));
  const cipher = createCipheriv('aes-256-gcm', secretKey, nonce);
  cipher.setAAD(boundTo(key));
  const sealed = Uint8Array.from(cipher.update(seed));
  cipher.final();
  return form + Buffer.concat([nonce, Uint8Array.from(cipher.getAuthTag()), sealed]).toString('base64');
}

/** The seed, or null if it was sealed under another secret key, for another key or purpose, or was changed. */
export function openSeed(sealedText: string, key: { keyId: string; purpose: string }, secretKey: Uint8Array): Uint8Array | null {
  return sealedText.startsWith(form) ? open(sealedText.slice(form.length), boundTo(key), secretKey) : null;
}

/**
 * Opens a seal made by a version without authentication codes. Nobody without the secret key can make one, so it proves that such a version was the
 * last to use the database. It must not be used for anything else (HD-50).
 */
export function openFormerSeed(sealedText: string, keyId: string, secretKey: Uint8Array): Uint8Array | null {
  return open(sealedText, new TextEncoder().encode(keyId), secretKey);
}

const boundTo = ({ keyId, purpose }: { keyId: string; purpose: string }) =>
  new TextEncoder().encode(`svc-seal-v2\n${purpose}\n${keyId}`);

function open(text: string, associated: Uint8Array, secretKey: Uint8Array): Uint8Array | null {
  const bytes = Uint8Array.from(Buffer.from(text, 'base64'));
  if (bytes.length < nonceBytes + tagBytes) return null;
  const decipher = createDecipheriv('aes-256-gcm', secretKey, bytes.subarray(0, nonceBytes));
  decipher.setAAD(associated);
  decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
  try {
    const seed = Uint8Array.from(decipher.update(bytes.subarray(nonceBytes + tagBytes)));
    decipher.final();
    return seed;
  } catch {
    return null;
  }
}
