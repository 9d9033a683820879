import type { SealedEvent } from './event.js';
import { checkpointText } from './signed-texts.js';

/** Whether a key that the verifier trusts has signed the text; false for a key that it does not know (AU-40). */
export type IsSigned = (keyId: string, text: string, signature: string) => boolean;

export const CHECKPOINT_FAULTS = [
  'checkpoint_malformed',
  'checkpoint_head_mismatch',
  'checkpoint_count_mismatch',
  'checkpoint_signature_invalid',
] as const;
type CheckpointFault = (typeof CHECKPOINT_FAULTS)[number];

export const isCheckpoint = ({ event_type }: SealedEvent): boolean => event_type === 'audit.signed_checkpoint';

/** What is wrong with a checkpoint event (AU-41, AU-71). `count` is the number of events since the last one; null where that is not known. */
export function checkpointFault(event: SealedEvent, count: number | null, isSigned: IsSigned): CheckpointFault | null {
  const stated = readCheckpoint(event.metadata_json);
  if (stated === null) return 'checkpoint_malformed';
  if (stated.chainHeadHash !== event.prev_hash) return 'checkpoint_head_mismatch';
  if (count !== null && stated.count !== count) return 'checkpoint_count_mismatch';
  const text = checkpointText({ ...stated, createdAt: event.created_at });
  return isSigned(stated.keyId, text, stated.signature) ? null : 'checkpoint_signature_invalid';
}

interface Checkpoint {
  chainHeadHash: string;
  count: number;
  keyId: string;
  signature: string;
}

function readCheckpoint(metadataJson: string): Checkpoint | null {
  const stated = objectOf(metadataJson);
  const { chain_head_hash: chainHeadHash, event_count_since_last_checkpoint: count, key_id: keyId, signature } = stated;
  if (typeof chainHeadHash !== 'string' || typeof keyId !== 'string' || typeof signature !== 'string') return null;
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0
    ? { chainHeadHash, count, keyId, signature }
    : null;
}

/** The members of a JSON object; none of any other text. */
export function objectOf(json: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
