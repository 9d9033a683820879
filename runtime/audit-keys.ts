import { keyIdOf, type SigningKey, verifySignature } from '../crypto/ed25519.js';
import type { Database, Queryable } from '../db/client.js';
import { listAllKeys, type SigningKeyRow } from '../db/signing-keys.js';
import { openCurrentKey, tryOpenKey } from './signing-keys.js';

/** The keys of the audit log as they are stored at one moment. */
export interface AuditKeySet {
  /** The current key; null if the stored one does not open under the secret key. */
  signer: SigningKey | null;
  /** Public keys by id. */
  trusted: ReadonlyMap<string, string>;
  /** Whether a trusted key signed the text. False for a key that is not trusted. */
  isSigned(keyId: string, text: string, signature: string): boolean;
}

/** Reads the keys anew, so that a rotation takes effect at once (AU-40). */
export type ReadAuditKeys = (db: Queryable) => Promise<AuditKeySet>;

export interface AuditKeysOptions {
  database: Database;
  secretKey: Uint8Array;
  /** `security.audit_public_keys`. */
  publicKeys: readonly string[];
}

/** Makes the first key if there is none, and opens the current one. Throws `StartError` if it cannot be opened (ET-22). */
export async function openAuditKeys({ database, secretKey, publicKeys }: AuditKeysOptions): Promise<ReadAuditKeys> {
  await openCurrentKey({ database, purpose: 'audit', secretKey });
  const listed = publicKeys.map((hex) => [keyIdOf(hex), hex] as const);
  const opened = new Map<string, SigningKey | null>();
  const open = (row: SigningKeyRow) => {
    const name = `${row.keyId} ${row.sealedSeed}`;
    const known = opened.get(name);
    if (known !== undefined) return known;
    const key = tryOpenKey(row, 'audit', secretKey);
    if (opened.size >= maxOpened) opened.clear();
    opened.set(name, key);
    return key;
  };
  return async (db) => {
    const rows = await listAllKeys(db, 'audit');
    const current = rows.find(({ status }) => status === 'current');
    // A retired or revoked key verifies for ever. A public key is taken from its seed, never from its column.
    const own = rows.flatMap((row) => {
      const key = open(row);
      return key === null ? [] : [[key.keyId, key.publicKeyHex] as const];
    });
    return keySet(current === undefined ? null : open(current), new Map([...listed, ...own]));
  };
}

/** An operator's rotations make few. */
const maxOpened = 256;

function keySet(signer: SigningKey | null, trusted: ReadonlyMap<string, string>): AuditKeySet {
  return {
    signer,
    trusted,
    isSigned: (keyId, text, signature) => {
      const publicKey = trusted.get(keyId);
      return publicKey !== undefined && verifySignature(publicKey, text, signature);
    },
  };
}
