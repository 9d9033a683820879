import { approvalMacs } from '../crypto/approval-macs.js';
import { insertAuditEvents } from '../db/audit.js';
import type { Database, Transaction } from '../db/client.js';
import { violates } from '../db/errors.js';
import { findSecretKey } from '../db/secret-key.js';
import {
  activateDueKeys,
  hastenNextKey,
  insertFirstKey,
  insertNextKey,
  type KeyPurpose,
  listAllKeys,
  lockKeys,
  type NewKey,
  retireDueKeys,
  revokeKey,
  type SigningKeyRow,
} from '../db/signing-keys.js';
import { currentOf, keyEvent, openKey, sealedKey } from './signing-keys.js';
import { StartError } from './start-error.js';

/** How long a key is published before it signs. Agents read the list every 10 min (ET-27). */
const aheadSecs = 600;

/** Nobody has to learn the public keys of the audit log before they sign, and old ones verify for ever (AU-40). */
export const rotatesAtOnce = (purpose: KeyPurpose): boolean => purpose === 'audit';

export interface KeyWork {
  database: Database;
  purpose: KeyPurpose;
  secretKey: Uint8Array;
}

export interface Rotation {
  overlapSecs: number;
  /** Skips the 10 minutes of publishing. */
  now: boolean;
  /** Seed of the new key; random if absent. */
  seed?: Uint8Array<ArrayBuffer>;
}

/**
 * Publishes a key that becomes current after 10 min, or immediately with `now` (ET-25). Returns its id. `now` without a seed activates the
 * key that is already published. Keys of the audit log always change at once.
 */
export async function rotateKeys(work: KeyWork, rotation: Rotation): Promise<string> {
  const { purpose, secretKey } = work;
  const { overlapSecs, now, seed } = rotatesAtOnce(purpose) ? { ...rotation, overlapSecs: 0, now: true } : rotation;
  return inKeys(work, async (tx, rows) => {
    await requireSealable(tx, secretKey);
    openKey(currentOf(rows, purpose), purpose, secretKey);
    const published = rows.find((row) => row.status === 'next');
    if (published !== undefined && (!now || seed !== undefined))
      throw new StartError(
        `key ${published.keyId} is published already and takes over at ${instant(published)}; revoke it first, or rotate --now`,
      );
    const keyId = published?.keyId ?? (await publish(tx, sealedKey(purpose, secretKey, seed), overlapSecs));
    if (now) {
      await hastenNextKey(tx, purpose, overlapSecs);
      await stepKeys(tx);
    }
    return keyId;
  });
}

/**
 * Revokes a key immediately. Revoking the current key creates its replacement in the same transaction (ET-26). Returns the new current
 * key's id, or null.
 */
export async function revokeSigningKey(work: KeyWork, keyId: string): Promise<string | null> {
  return inKeys(work, async (tx, rows) => {
    const { purpose, secretKey } = work;
    const row = rows.find((each) => each.keyId === keyId);
    if (row === undefined) throw new StartError(`there is no ${purpose} key ${keyId}`);
    if (row.status === 'revoked') return null;
    if (row.status === 'current' && !(await requireSealable(tx, secretKey))) openKey(row, purpose, secretKey);
    await revokeKey(tx, keyId);
    await insertAuditEvents(tx, [keyEvent('revoked', purpose, keyId)]);
    if (row.status !== 'current') return null;
    const key = sealedKey(purpose, secretKey);
    await insertFirstKey(tx, key);
    await insertAuditEvents(tx, [keyEvent('created', purpose, key.keyId), keyEvent('activated', purpose, key.keyId)]);
    return key.keyId;
  });
}

/** Performs every due step of a key: next to current, retiring to retired. */
export async function stepKeys(tx: Transaction): Promise<void> {
  const activated = await activateDueKeys(tx);
  const retired = await retireDueKeys(tx);
  await insertAuditEvents(tx, [
    ...activated.map(({ keyId, purpose }) => keyEvent('activated', purpose, keyId)),
    ...retired.map(({ keyId, purpose }) => keyEvent('retired', purpose, keyId)),
  ]);
}

async function publish(tx: Transaction, key: NewKey, overlapSecs: number): Promise<string> {
  await insertNextKey(tx, key, aheadSecs, overlapSecs).catch((error: unknown) => {
    // Of either purpose: a key that signs for both could sign a text of one as if it were of the other.
    throw violates(error, 'signing_keys_pkey') ? new StartError(`key ${key.keyId} already exists`) : error;
  });
  await insertAuditEvents(tx, [keyEvent('created', key.purpose, key.keyId)]);
  return key.keyId;
}

/** What is sealed under another secret key than the database's opens nowhere, so no process could start or sign. False if the database names none. */
async function requireSealable(tx: Transaction, secretKey: Uint8Array): Promise<boolean> {
  const row = await findSecretKey(tx);
  if (row === undefined) return false;
  const { keyCheck } = approvalMacs(secretKey);
  // While the secret key changes, what is sealed under either is under the new one at the end.
  if (row.keyCheck !== keyCheck && row.formerCheck !== keyCheck)
    throw new StartError('the gateway database is under another secret key than this one');
  return true;
}

function inKeys<T>({ database, purpose }: KeyWork, change: (tx: Transaction, rows: SigningKeyRow[]) => Promise<T>): Promise<T> {
  return database.transaction(async (tx) => {
    await lockKeys(tx);
    return change(tx, await listAllKeys(tx, purpose));
  });
}

const instant = ({ activatedAt }: SigningKeyRow) => (activatedAt === null ? 'its time' : new Date(activatedAt).toISOString());
