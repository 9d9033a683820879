import { createHmac, createSecretKey, hkdfSync, timingSafeEqual } from 'node:crypto';
import { vouchedText } from '../domain/vouched-text.js';

/** Makes and checks authentication codes of rows of the gateway's database (HD-50). The key cannot be read back from it. */
export interface ApprovalMacs {
  /** Identifies the secret key without revealing it. It is stored, so that a process with another key is noticed. */
  readonly keyCheck: string;
  /** HMAC-SHA-256 as 64 lowercase hex characters. */
  mac(text: string): string;
  /** Whether a stored code fits. A missing or empty one never does. */
  holds(text: string, mac: string | null): boolean;
}

/** The codes under a 32-byte secret key. */
export function approvalMacs(secretKey: Uint8Array): ApprovalMacs {
  const key = createSecretKey(new Uint8Array(hkdfSync('sha256', secretKey, new Uint8Array(0), 'svc-approval-mac-v1', 32)));
  const digest = (text: string) => createHmac('sha256', key).update(text).digest();
  return {
    keyCheck: digest(vouchedText('svc-secret-key-check-v1', [])).toString('hex'),
    mac: (text) => digest(text).toString('hex'),
    holds: (text, mac) =>
      mac !== null &&
      /^[0-9a-f]{64}$/.test(mac) &&
      timingSafeEqual(new Uint8Array(digest(text)), Uint8Array.from(Buffer.from(mac, 'hex'))),
  };
}
