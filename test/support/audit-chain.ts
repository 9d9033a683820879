import { eventHash } from '../../crypto/audit-hash.js';
import { type SigningKey, signingKeyFromSeed, verifySignature } from '../../crypto/ed25519.js';
import type { ChainContext } from '../../domain/audit/chain.js';
import type { HashedEvent, SealedEvent } from '../../domain/audit/event.js';
import { checkpointText, headText, purgeText } from '../../domain/audit/signed-texts.js';
import { auditSeed, hashVectors } from './audit-vectors.js';

export const auditKey = signingKeyFromSeed(auditSeed);
export const strangerKey = signingKeyFromSeed(auditSeed.map((byte) => byte ^ 255));

/** Knows this one key. */
export const signedBy =
  (key: SigningKey): ChainContext['isSigned'] =>
  (keyId, text, signature) =>
    keyId === key.keyId && verifySignature(key.publicKeyHex, Buffer.from(text), signature);

const sealed = (event: HashedEvent, seq: number): SealedEvent => ({ ...event, event_hash: eventHash(event), seq });

/** A sealed chain: an event for each text, a signed checkpoint for each null. */
export function chainOf(
  parts: readonly (Partial<HashedEvent> | null)[],
  key = auditKey,
  firstSeq = 1,
  prevHash: string | null = null,
) {
  const events: SealedEvent[] = [];
  let count = 0;
  for (const part of parts) {
    const at = events.length;
    const prev = events[at - 1]?.event_hash ?? prevHash;
    const id = `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`;
    const base = part ?? checkpointPart(prev ?? '', count, key);
    events.push(sealed({ ...hashVectors.A.event, ...base, id, prev_hash: prev }, firstSeq + at));
    count = part === null ? 0 : count + 1;
  }
  return events;
}

function checkpointPart(prev: string, count: number, key: SigningKey): Partial<HashedEvent> {
  const { event } = hashVectors.C;
  const signature = key.sign(Buffer.from(checkpointText({ chainHeadHash: prev, count, createdAt: event.created_at })));
  const stated = { chain_head_hash: prev, event_count_since_last_checkpoint: count, key_id: key.keyId, signature };
  return { ...event, metadata_json: JSON.stringify(stated) };
}

/** The signed head of a chain; null without events. */
export function headOf(events: readonly SealedEvent[], key = auditKey): ChainContext['head'] {
  const last = events.at(-1);
  if (last === undefined) return null;
  const head = { seq: last.seq, eventHash: last.event_hash, sealedAt: '2031-04-05T07:08:00.000000Z' };
  return { ...head, keyId: key.keyId, signature: key.sign(Buffer.from(headText(head))) };
}

/** A signed purge that ended with the event of this hash. */
export function purgeOf(lastPurgedHash: string, key = auditKey): ChainContext['purges'][number] {
  const purge = { lastPurgedHash, purgedBefore: '2032-04-05T00:00:00.000000Z', retainedCount: 0 };
  return { ...purge, keyId: key.keyId, signature: key.sign(Buffer.from(purgeText(purge))) };
}

export function contextOf(events: readonly SealedEvent[], change: Partial<ChainContext> = {}): ChainContext {
  return { hash: eventHash, isSigned: signedBy(auditKey), head: headOf(events), anchor: null, purges: [], ...change };
}
