import { createHmac } from 'node:crypto';
import { equalText } from './hash.js';

export interface SignedBySlack {
  /** The headers as they came; undefined if absent. */
  timestamp: string | undefined;
  signature: string | undefined;
  /** The bytes as they came, before any parsing. */
  body: Uint8Array;
}

export type SlackSignatureFault = 'not signed' | 'timestamp too old' | 'timestamp in the future' | 'signature does not match';

const toleranceMs = 300_000;

/** Slack's signature of a call (SL-11), in the form of its header. */
export const slackSignature = (secret: string, timestamp: string, body: string | Uint8Array): string =>
  `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:`).update(body).digest('hex')}`;

/** Why a call is not Slack's, at `now` in milliseconds since the epoch; null if it is. A blank secret verifies nothing (SL-1). */
export function slackSignatureFault(
  secret: string,
  { timestamp, signature, body }: SignedBySlack,
  now: number,
): SlackSignatureFault | null {
  if (timestamp === undefined || signature === undefined || !/^\d{1,12}$/.test(timestamp)) return 'not signed';
  if (secret.trim() === '' || !equalText(signature, slackSignature(secret, timestamp, body))) return 'signature does not match';
  const ageMs = now - Number(timestamp) * 1000;
  if (ageMs > toleranceMs) return 'timestamp too old';
  return ageMs < -toleranceMs ? 'timestamp in the future' : null;
}
