import { createHmac } from 'node:crypto';
import { equalText } from './hash.js';

const whsec = 'whsec_';

/** The key of a webhook's secret (NT-31); null when what follows `whsec_` is not base64 of 24 to 64 bytes. */
export function webhookKey(secret: string): Buffer | null {
  if (!secret.startsWith(whsec)) return secret === '' ? null : Buffer.from(secret);
  const encoded = secret.slice(whsec.length);
  const key = Buffer.from(encoded, 'base64');
  const isExact = key.toString('base64').replace(/=+$/, '') === encoded.replace(/=+$/, '');
  return isExact && key.length >= 24 && key.length <= 64 ? key : null;
}

export interface WebhookAttempt {
  event: string;
  /** The same on all attempts of a delivery. */
  deliveryId: string;
  /** Milliseconds since the epoch. */
  now: number;
  /** As it is sent, byte for byte. */
  body: string;
  secret: string | null;
}

/** The headers of one attempt (NT-30). Throws for a secret that the configuration refuses, which signs nothing. */
export function webhookHeaders({ event, deliveryId, now, body, secret }: WebhookAttempt): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000));
  const headers = {
    'content-type': 'application/json',
    'x-svc-event': event,
    'webhook-id': deliveryId,
    'webhook-timestamp': timestamp,
  };
  if (secret === null) return headers;
  const key = keyOf(secret);
  return {
    ...headers,
    'x-svc-signature': `sha256=${createHmac('sha256', key).update(body).digest('hex')}`,
    'webhook-signature': signatureOf(key, deliveryId, timestamp, body),
  };
}

const signatureOf = (key: Buffer, id: string, timestamp: string, body: string | Uint8Array) =>
  `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;

function keyOf(secret: string): Buffer {
  const key = webhookKey(secret);
  if (key === null) throw new Error(`the secret of a webhook must be text, or ${whsec} and base64 of 24 to 64 bytes`);
  return key;
}

export interface ReceivedWebhook {
  /** By lower-case name, as Node gives them. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The bytes as they came, before any parsing. */
  body: string | Uint8Array;
  secret: string;
  now: number;
}

export type WebhookFault = 'not signed' | 'timestamp too old' | 'timestamp in the future' | 'signature does not match';

const toleranceSecs = 300;

/**
 * What a receiver checks before it believes a webhook: the signature over id, timestamp and body, and that it is at most five minutes old or ahead. Null when it
 * holds. Neither `x-svc-event` nor any other header is signed: what happened stands in the body.
 */
export function verifyWebhook({ headers, body, secret, now }: ReceivedWebhook): WebhookFault | null {
  const key = keyOf(secret);
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => headers[name]);
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return 'not signed';
  // The body is signed alone too, for `x-svc-signature`. No body may pass for an id, a time and another body.
  if (!/^[\w-]{1,128}$/.test(id) || !/^\d{1,12}$/.test(timestamp)) return 'not signed';
  const expected = signatureOf(key, id, timestamp, body);
  // There are several while a sender changes its secret.
  if (!signatures.split(' ').some((signature) => equalText(signature, expected))) return 'signature does not match';
  const ageSecs = Math.floor(now / 1000) - Number(timestamp);
  if (ageSecs > toleranceSecs) return 'timestamp too old';
  return ageSecs < -toleranceSecs ? 'timestamp in the future' : null;
}
