import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { utf8 } from '../lib/utf8.js';
import { sha256Hex } from './hash.js';

export interface SigningKey {
  /** First 16 hex characters of the SHA-256 of the raw public key (ET-16). */
  readonly keyId: string;
  readonly publicKeyHex: string;
  /** Pure Ed25519 signature as 128 lowercase hex characters (ET-05). Of a text, its UTF-8 is signed. */
  sign: (message: string | Uint8Array) => string;
}

// DER headers of RFC 8410: not every Node version that we support can import raw Ed25519 keys.
const PKCS8_HEADER = '302e020100300506032b657004220420';
const SPKI_HEADER = '302a300506032b6570032100';
const KEY_HEX = /^[0-9a-f]{64}$/;
const SIGNATURE_HEX = /^[0-9a-f]{128}$/;

/** The signing key of a 32-byte seed; throws a RangeError for another length. The seed cannot be read back from it. */
export function signingKeyFromSeed(seed: Uint8Array): SigningKey {
  if (seed.length !== 32) throw new RangeError('an Ed25519 seed has 32 bytes');
  const privateKey = createPrivateKey({ key: Buffer.concat([hexBytes(PKCS8_HEADER), seed]), format: 'der', type: 'pkcs8' });
  const publicDer = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  const publicKeyHex = publicDer.toString('hex').slice(SPKI_HEADER.length);
  return {
    keyId: keyIdOf(publicKeyHex),
    publicKeyHex,
    sign: (message) => sign(null, bytesOf(message), privateKey).toString('hex'),
  };
}

/** Whether the signature (128 lowercase hex) fits. A malformed key or signature is false, not an error. */
export function verifySignature(publicKeyHex: string, message: string | Uint8Array, signatureHex: string): boolean {
  if (!isPublicKeyHex(publicKeyHex) || !SIGNATURE_HEX.test(signatureHex)) return false;
  try {
    return verify(null, bytesOf(message), publicKeyObject(publicKeyHex), hexBytes(signatureHex));
  } catch {
    return false;
  }
}

/** The key id of a public key in hex (ET-16). */
export function keyIdOf(publicKeyHex: string): string {
  return sha256Hex(hexBytes(publicKeyHex)).slice(0, 16);
}

/** Whether the text has the form of a public key: 64 lowercase hex characters. */
export function isPublicKeyHex(text: string): boolean {
  return KEY_HEX.test(text);
}

const bytesOf = (message: string | Uint8Array) => (typeof message === 'string' ? utf8(message) : message);

export function hexBytes(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex, 'hex'));
}

/** OpenSSL takes 0.3 ms to read a key, longer than to verify with it. A process knows few keys. */
const readKeys = new Map<string, KeyObject>();
const MAX_READ_KEYS = 64;

function publicKeyObject(publicKeyHex: string): KeyObject {
  const known = readKeys.get(publicKeyHex);
  if (known) return known;
  const key = createPublicKey({ key: Buffer.from(SPKI_HEADER + publicKeyHex, 'hex'), format: 'der', type: 'spki' });
  if (readKeys.size >= MAX_READ_KEYS) readKeys.clear();
  readKeys.set(publicKeyHex, key);
  return key;
}
