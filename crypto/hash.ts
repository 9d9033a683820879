import { createHash, timingSafeEqual } from 'node:crypto';

/** SHA-256 of the bytes (of UTF-8 for a string) as 64 lowercase hex characters. */
export function sha256Hex(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

/** Compares two texts in a time that does not depend on where they differ (ET-43). */
export function equalText(a: string, b: string): boolean {
  const left = new TextEncoder().encode(a);
  const right = new TextEncoder().encode(b);
  return left.length === right.length && timingSafeEqual(left, right);
}
