import type { Queryable, Transaction } from './client.js';

export type KeyPurpose = 'execution_token' | 'audit';

export interface SigningKeyRow {
  keyId: string;
  publicKey: string;
  sealedSeed: string;
  status: 'next' | 'current' | 'retiring' | 'retired' | 'revoked';
  createdAt: number;
  notAfter: number | null;
}

/** Keys that may be used or shown, newest first (ET-18). */
export function listUsableKeys(db: Queryable, purpose: KeyPurpose): Promise<SigningKeyRow[]> {
  return db.query<SigningKeyRow>(
    `select key_id as "keyId", public_key as "publicKey", sealed_seed as "sealedSeed", status, created_at as "createdAt", not_after as "notAfter"
     from signing_keys where purpose = $1 and status in ('next', 'current', 'retiring') order by created_at desc, key_id`,
    [purpose],
  );
}

/** Makes a key the current one; false when there is one already (ET-23). */
export async function insertFirstKey(
  tx: Transaction,
  key: { keyId: string; purpose: KeyPurpose; publicKey: string; sealedSeed: string },
): Promise<boolean> {
  const rows = await tx.query<{ keyId: string }>(
    `insert into signing_keys (key_id, purpose, public_key, sealed_seed, status, activated_at) values ($1, $2, $3, $4, 'current', clock_timestamp())
     on conflict (purpose) where status = 'current' do nothing returning key_id as "keyId"`,
    [key.keyId, key.purpose, key.publicKey, key.sealedSeed],
  );
  return rows.length > 0;
}

/** Remembers which key the agent was given (ET-19); an agent that has not polled yet has no row to remember it in. */
export async function rememberKeyOfAgent(tx: Transaction, agentId: string, keyId: string): Promise<void> {
  await tx.query('update agents set key_id = $2 where id = $1 and key_id is distinct from $2', [agentId, keyId]);
}
