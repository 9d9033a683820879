import { createCipheriv, randomBytes } from 'node:crypto';
import { openSeed } from '../../crypto/seal.js';
import type { Database } from '../../db/client.js';

/** A seal as versions without authentication codes made it. */
function formerSeal(seed: Uint8Array, keyId: string, secretKey: Uint8Array): string {
  const nonce = new Uint8Array(randomBytes(12));
  const cipher = createCipheriv('aes-256-gcm', secretKey, nonce);
  cipher.setAAD(new TextEncoder().encode(keyId));
  const sealed = Buffer.concat([Uint8Array.from(cipher.update(seed)), Uint8Array.from(cipher.final())]);
  return Buffer.concat([nonce, Uint8Array.from(cipher.getAuthTag()), Uint8Array.from(sealed)]).toString('base64');
}

/** Removes every code, which anybody can do who can write to the database. */
export async function dropCodes(database: Database): Promise<void> {
  await database.query('update requests set request_mac = null, state_mac = null, passed_by = null');
  await database.query('update decisions set mac = null');
  await database.query('update config_generations set mac = null');
  await database.query('delete from secret_key');
}

/** Leaves the database as a version without codes would; this needs the secret key. */
export async function makeFormer(database: Database, secretKey: Uint8Array): Promise<void> {
  await dropCodes(database);
  const rows = await database.query<{ keyId: string; purpose: string; sealedSeed: string }>(
    'select key_id as "keyId", purpose, sealed_seed as "sealedSeed" from signing_keys',
  );
  for (const { keyId, purpose, sealedSeed } of rows) {
    const seed = openSeed(sealedSeed, { keyId, purpose }, secretKey);
    if (seed === null) throw new Error('a key that is not of this secret key');
    await database.query('update signing_keys set sealed_seed = $2 where key_id = $1', [
      keyId,
      formerSeal(seed, keyId, secretKey),
    ]);
  }
}
