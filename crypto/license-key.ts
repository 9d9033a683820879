import { type License, readPayload } from '../domain/license.js';
import { type SigningKey, verifySignature } from './ed25519.js';

const prefix = 'svc_lic_v1.';
/** More than any key has. */
const maxLength = 16_384;

/** A licence key taken apart. */
interface LicenseKey {
  /** Null if the payload is not that of a licence. */
  license: License | null;
  /** The JSON text, exactly as it was signed. */
  payload: string | null;
  /** Whether the signature fits the public key (64 hex). */
  fits(publicKeyHex: string): boolean;
}

/** Parses a licence key (OP-43) without trusting it; null for any other text. */
export function parseLicenseKey(key: string): LicenseKey | null {
  const text = key.trim();
  const dot = text.lastIndexOf('.');
  if (!text.startsWith(prefix) || dot < prefix.length || text.length > maxLength) return null;
  const payload = decode(text.slice(prefix.length, dot));
  const signature = decode(text.slice(dot + 1));
  if (payload === null || signature === null) return null;
  const json = textOf(payload);
  const hex = Buffer.from(signature).toString('hex');
  return {
    license: readPayload(parsed(json)),
    payload: json,
    fits: (publicKeyHex) => verifySignature(publicKeyHex, payload, hex),
  };
}

/** The content of a licence key whose signature fits the public key (64 hex), or a sentence that says why it is refused. */
export function readLicense(key: string, publicKeyHex: string): License | string {
  const found = parseLicenseKey(key);
  if (found === null) return 'is not a licence key';
  if (!found.fits(publicKeyHex)) return 'has a signature that does not fit license.public_key';
  return found.license ?? 'holds no valid licence';
}

/** The licence key of a payload (OP-43). */
export function signLicense(payload: string, key: SigningKey): string {
  const signature = Buffer.from(key.sign(Uint8Array.from(Buffer.from(payload))), 'hex');
  return `${prefix}${Buffer.from(payload).toString('base64')}.${signature.toString('base64')}`;
}

/** Only standard base64 with padding. */
function decode(text: string): Uint8Array<ArrayBuffer> | null {
  const bytes = Buffer.from(text, 'base64');
  return text !== '' && bytes.toString('base64') === text ? new Uint8Array(bytes) : null;
}

function textOf(bytes: Uint8Array<ArrayBuffer>): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function parsed(json: string | null): unknown {
  try {
    return json === null ? null : JSON.parse(json);
  } catch {
    return null;
  }
}
