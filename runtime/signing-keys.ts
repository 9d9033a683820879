import { randomBytes } from 'node:crypto';
import { type SigningKey, signingKeyFromSeed } from '../crypto/ed25519.js';
import { openSeed, sealSeed } from '../crypto/seal.js';
import { insertAuditEvents } from '../db/audit.js';
import type { Database, Queryable } from '../db/client.js';
import {
  insertFirstKey,
  type KeyPurpose,
  listAllKeys,
  listUsableKeys,
  type NewKey,
  type SigningKeyRow,
} from '../db/signing-keys.js';
import { type AuditDraft, systemActor } from '../domain/audit/draft.js';
import { beginText } from '../domain/audit/signed-texts.js';
import { StartError } from './start-error.js';

/** How many opened keys a process caches; rotations are far rarer. */
const maxOpened = 64;

export interface KeyRing {
  /** The key of this id, opened on first use. Reads it through `db`, because a caller in a transaction must not wait for a second connection. */
  signer(keyId: string, db: Queryable): Promise<SigningKey>;
  /** Keys stored now and sealed under this secret key, newest first, without seeds. A key that was just revoked is not included (ET-25). */
  rows(): Promise<Omit<SigningKeyRow, 'sealedSeed'>[]>;
  /** The same for keys that were retired or revoked too: what they signed while they could stays signed. */
  everyRow(): Promise<Omit<SigningKeyRow, 'sealedSeed'>[]>;
}

export interface KeyRingOptions {
  database: Database;
  purpose: KeyPurpose;
  secretKey: Uint8Array;
}

/** Opens the current key and those that agents may still be given. Throws `StartError` like `openCurrentKey`. */
export async function openKeyRing(options: KeyRingOptions): Promise<KeyRing> {
  const { database, purpose, secretKey } = options;
  await openCurrentKey(options);
  const opened = new Map<string, SigningKey>();
  const load = async (keyId: string, db: Queryable) => {
    const row = (await listUsableKeys(db, purpose)).find((each) => each.keyId === keyId);
    if (row === undefined) throw new Error(`signing key ${keyId} is no longer usable`);
    const key = openKey(row, purpose, secretKey);
    if (opened.size >= maxOpened) opened.clear();
    opened.set(keyId, key);
    return key;
  };
  const isOurs = (row: SigningKeyRow) => {
    const known = opened.get(row.keyId) ?? tryOpenKey(row, purpose, secretKey);
    return known?.publicKeyHex === row.publicKey;
  };
  const oursAmong = (rows: readonly SigningKeyRow[]) => rows.filter(isOurs).map(({ sealedSeed: _, ...row }) => row);
  return {
    signer: async (keyId, db) => opened.get(keyId) ?? load(keyId, db),
    rows: async () => oursAmong(await listUsableKeys(database, purpose)),
    everyRow: async () => oursAmong(await listAllKeys(database, purpose)),
  };
}

/** Creates a purpose's first key if there is none (ET-23) and opens the current one. Throws `StartError` if it cannot be opened (ET-22). */
export async function openCurrentKey(options: KeyRingOptions): Promise<void> {
  const { database, purpose, secretKey } = options;
  await makeFirstKey(options);
  openKey(currentOf(await listUsableKeys(database, purpose), purpose), purpose, secretKey);
}

/** Throws `StartError` if there is no current key. */
export function currentOf(rows: readonly SigningKeyRow[], purpose: KeyPurpose): SigningKeyRow {
  const current = rows.find((row) => row.status === 'current');
  if (current === undefined) throw new StartError(`no current signing key for ${purpose}`);
  return current;
}

/** Throws `StartError` with the key's id if this secret key cannot open it (ET-22). */
export function openKey(
  row: Pick<SigningKeyRow, 'keyId' | 'sealedSeed'>,
  purpose: KeyPurpose,
  secretKey: Uint8Array,
): SigningKey {
  const key = tryOpenKey(row, purpose, secretKey);
  if (key !== null) return key;
  throw new StartError(`signing key ${row.keyId} (${purpose}) cannot be opened with this secret key`);
}

/** Null if this secret key cannot open it. */
export function tryOpenKey(
  { keyId, sealedSeed }: Pick<SigningKeyRow, 'keyId' | 'sealedSeed'>,
  purpose: KeyPurpose,
  secretKey: Uint8Array,
): SigningKey | null {
  const seed = openSeed(sealedSeed, { keyId, purpose }, secretKey);
  const key = seed === null ? null : signingKeyFromSeed(seed);
  return key?.keyId === keyId ? key : null;
}

/** A new key, ready to be stored. */
export function sealedKey(purpose: KeyPurpose, secretKey: Uint8Array, seed = new Uint8Array(randomBytes(32))): NewKey {
  const { keyId, publicKeyHex } = signingKeyFromSeed(seed);
  return { keyId, purpose, publicKey: publicKeyHex, sealedSeed: sealSeed(seed, { keyId, purpose }, secretKey) };
}

/** Audits one step of a key (ET-25). */
export function keyEvent(step: 'created' | 'activated' | 'retired' | 'revoked', purpose: KeyPurpose, keyId: string): AuditDraft {
  return {
    type: `signing_key.${step}`,
    outcome: 'success',
    actor: systemActor,
    resourceType: 'signing_key',
    resourceId: keyId,
    reason: null,
    metadata: { purpose, key_id: keyId },
  };
}

async function makeFirstKey({ database, purpose, secretKey }: KeyRingOptions): Promise<void> {
  const existing = await listAllKeys(database, purpose);
  if (existing.some((row) => row.status === 'current')) return;
  const key = sealedKey(purpose, secretKey);
  const begins = purpose === 'audit' && existing.length === 0;
  const begin = begins ? openKey(key, purpose, secretKey).sign(beginText(key.keyId)) : null;
  await database.transaction(async (tx) => {
    if (!(await insertFirstKey(tx, key, begin))) return;
    await insertAuditEvents(tx, [keyEvent('created', purpose, key.keyId), keyEvent('activated', purpose, key.keyId)]);
  });
}
