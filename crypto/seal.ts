import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const nonceBytes = 12;
const tagBytes = 16;

/** Seals a seed with AES-256-GCM under a 32-byte secret key, bound to its key id (ET-21): base64 of nonce, tag and ciphertext. */
export function sealSeed(seed: Uint8Array, keyId: string, secretKey: Uint8Array): string {
  const nonce = new Uint8Array(randomBytes(nonceBytes));
  const cipher = createCipheriv('aes-256-gcm', secretKey, nonce);
  cipher.setAAD(new TextEncoder().encode(keyId));
  const sealed = Uint8Array.from(cipher.update(seed));
  cipher.final();
  return Buffer.concat([nonce, Uint8Array.from(cipher.getAuthTag()), sealed]).toString('base64');
}

/** The seed, or null when it was sealed under another secret key, for another key id, or was changed. */
export function openSeed(sealedText: string, keyId: string, secretKey: Uint8Array): Uint8Array | null {
  const bytes = Uint8Array.from(Buffer.from(sealedText, 'base64'));
  if (bytes.length < nonceBytes + tagBytes) return null;
  const decipher = createDecipheriv('aes-256-gcm', secretKey, bytes.subarray(0, nonceBytes));
  decipher.setAAD(new TextEncoder().encode(keyId));
  decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
  try {
    const seed = Uint8Array.from(decipher.update(bytes.subarray(nonceBytes + tagBytes)));
    decipher.final();
    return seed;
  } catch {
    return null;
  }
}
