import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { type SigningKey, signingKeyFromSeed } from '../crypto/ed25519.js';
import { openSeed, sealSeed } from '../crypto/seal.js';
import { insertAuditEvents } from '../db/audit.js';
import type { Database } from '../db/client.js';
import { insertFirstKey, type KeyPurpose, listUsableKeys, type SigningKeyRow } from '../db/signing-keys.js';
import { type AuditDraft, systemActor } from '../domain/audit.js';
import { repeat } from './repeat.js';
import { StartError } from './start-error.js';

const refreshMs = 2000;

export interface KeyRing {
  /** The key that signs; for a key id that is retiring, that one (ET-19). */
  signer(keyId: string | null): SigningKey;
  /** Newest first, without seeds. */
  rows(): readonly Omit<SigningKeyRow, 'sealedSeed'>[];
  close(): Promise<void>;
}

export interface KeyRingOptions {
  database: Database;
  purpose: KeyPurpose;
  secretKey: Uint8Array;
  log: Logger;
}

/** Makes the first key of a purpose if there is none (ET-23), opens all usable ones and follows rotations; a `StartError` when the current one cannot be opened (ET-22). */
export async function openKeyRing(options: KeyRingOptions): Promise<KeyRing> {
  await makeFirstKey(options);
  let held = await load(options, new Map());
  const refreshing = repeat({
    everyMs: refreshMs,
    work: async () => {
      held = await load(options, held.signers);
    },
    onError: (error) => options.log.error({ error: String(error) }, 'signing keys not refreshed'),
  });
  return {
    signer: (keyId) => {
      const retiring = held.rows.find((row) => row.keyId === keyId && row.status === 'retiring');
      const chosen = held.signers.get(retiring?.keyId ?? held.currentId);
      if (chosen === undefined) throw new Error('no signing key');
      return chosen;
    },
    rows: () => held.rows,
    close: refreshing.stop,
  };
}

async function makeFirstKey({ database, purpose, secretKey }: KeyRingOptions): Promise<void> {
  const existing = await listUsableKeys(database, purpose);
  if (existing.some((row) => row.status === 'current')) return;
  const seed = new Uint8Array(randomBytes(32));
  const { keyId, publicKeyHex } = signingKeyFromSeed(seed);
  await database.transaction(async (tx) => {
    const sealedSeed = sealSeed(seed, keyId, secretKey);
    if (!(await insertFirstKey(tx, { keyId, purpose, publicKey: publicKeyHex, sealedSeed }))) return;
    await insertAuditEvents(tx, [
      keyEvent('signing_key.created', purpose, keyId),
      keyEvent('signing_key.activated', purpose, keyId),
    ]);
  });
}

function keyEvent(type: 'signing_key.created' | 'signing_key.activated', purpose: KeyPurpose, keyId: string): AuditDraft {
  return {
    type,
    outcome: 'success',
    actor: systemActor,
    resourceType: 'signing_key',
    resourceId: keyId,
    reason: null,
    metadata: { purpose, key_id: keyId },
  };
}

interface Held {
  rows: readonly SigningKeyRow[];
  currentId: string;
  signers: ReadonlyMap<string, SigningKey>;
}

async function load({ database, purpose, secretKey }: KeyRingOptions, known: Held['signers']): Promise<Held> {
  const rows = await listUsableKeys(database, purpose);
  const current = rows.find((row) => row.status === 'current');
  if (current === undefined) throw new StartError(`no current signing key for ${purpose}`);
  const signers = new Map<string, SigningKey>();
  for (const row of rows) {
    const signer = known.get(row.keyId) ?? open(row, secretKey);
    if (signer !== null) signers.set(row.keyId, signer);
  }
  if (!signers.has(current.keyId))
    throw new StartError(`signing key ${current.keyId} (${purpose}) cannot be opened with this secret key`);
  return { rows, currentId: current.keyId, signers };
}

function open(row: SigningKeyRow, secretKey: Uint8Array): SigningKey | null {
  const seed = openSeed(row.sealedSeed, row.keyId, secretKey);
  if (seed === null) return null;
  const signer = signingKeyFromSeed(seed);
  return signer.keyId === row.keyId ? signer : null;
}
