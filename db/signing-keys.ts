import type { Queryable, Transaction } from './client.js';

export type KeyPurpose = 'execution_token' | 'audit';

export interface SigningKeyRow {
  keyId: string;
  publicKey: string;
  sealedSeed: string;
  status: 'next' | 'current' | 'retiring' | 'retired' | 'revoked';
  createdAt: number;
  /** When it became or will become the current key. */
  activatedAt: number | null;
  /** Set once the key is `retiring`. */
  notAfter: number | null;
}

export interface NewKey {
  keyId: string;
  purpose: KeyPurpose;
  publicKey: string;
  sealedSeed: string;
}

const columns = `key_id as "keyId", public_key as "publicKey", sealed_seed as "sealedSeed", status, created_at as "createdAt",
  coalesce(activated_at, activate_at) as "activatedAt", not_after as "notAfter"`;

/** Keys that may be used or shown, newest first (ET-18). Omits a key whose overlap is over, even if it is not retired yet. */
export function listUsableKeys(db: Queryable, purpose: KeyPurpose): Promise<SigningKeyRow[]> {
  return db.query<SigningKeyRow>(
    `select ${columns} from signing_keys
     where purpose = $1 and (status in ('next', 'current') or (status = 'retiring' and not_after > clock_timestamp()))
     order by created_at desc, key_id`,
    [purpose],
  );
}

/** Reads only columns that every schema has, so it also works on the database of an older version (CF-I1). */
export async function findCurrentKey(
  db: Queryable,
  purpose: KeyPurpose,
): Promise<Pick<SigningKeyRow, 'keyId' | 'sealedSeed'> | undefined> {
  const [row] = await db.query<Pick<SigningKeyRow, 'keyId' | 'sealedSeed'>>(
    `select key_id as "keyId", sealed_seed as "sealedSeed" from signing_keys where purpose = $1 and status = 'current'`,
    [purpose],
  );
  return row;
}

/**
 * SQL for the id of the key that signs for an agent (ET-19): the key it was given while that one is retiring, otherwise the current one.
 * Never a key that is revoked by now. `given` is SQL for the agent's `key_id`.
 */
export const signingKeyIdFor = (given: string) => `(select k.key_id from signing_keys k where k.purpose = 'execution_token'
    and (k.status = 'current' or (k.status = 'retiring' and k.key_id = ${given} and k.not_after > clock_timestamp()))
  order by k.status = 'retiring' desc limit 1)`;

/** Newest first. */
export function listAllKeys(db: Queryable, purpose: KeyPurpose): Promise<SigningKeyRow[]> {
  return db.query<SigningKeyRow>(`select ${columns} from signing_keys where purpose = $1 order by created_at desc, key_id`, [
    purpose,
  ]);
}

/** Blocks other key changes until the transaction ends. */
export async function lockKeys(tx: Transaction): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('signing_keys', 0))`);
}

/** Inserts the current key; false if there is one already (ET-23). `beginSignature` lets an audit log begin (AU-44). */
export async function insertFirstKey(tx: Transaction, key: NewKey, beginSignature: string | null = null): Promise<boolean> {
  const rows = await tx.query<{ keyId: string }>(
    `insert into signing_keys (key_id, purpose, public_key, sealed_seed, status, activated_at, begin_signature)
     values ($1, $2, $3, $4, 'current', clock_timestamp(), $5)
     on conflict (purpose) where status = 'current' do nothing returning key_id as "keyId"`,
    [key.keyId, key.purpose, key.publicKey, key.sealedSeed, beginSignature],
  );
  return rows.length > 0;
}

/** Publishes a key that becomes current after `aheadSecs` (ET-25). */
export async function insertNextKey(tx: Transaction, key: NewKey, aheadSecs: number, overlapSecs: number): Promise<void> {
  await tx.query(
    `insert into signing_keys (key_id, purpose, public_key, sealed_seed, status, activate_at, overlap_secs)
     values ($1, $2, $3, $4, 'next', clock_timestamp() + make_interval(secs => $5), $6)`,
    [key.keyId, key.purpose, key.publicKey, key.sealedSeed, aheadSecs, overlapSecs],
  );
}

/** Makes the key published ahead due now, with another overlap. */
export async function hastenNextKey(tx: Transaction, purpose: KeyPurpose, overlapSecs: number): Promise<void> {
  await tx.query(
    `update signing_keys set activate_at = clock_timestamp(), overlap_secs = $2 where purpose = $1 and status = 'next'`,
    [purpose, overlapSecs],
  );
}

/**
 * Activates due keys and returns them. The keys that they replace retire after the overlap. Rounds the clock like the stored instant:
 * otherwise a key could become due up to half a millisecond late.
 */
export async function activateDueKeys(tx: Transaction): Promise<{ keyId: string; purpose: KeyPurpose }[]> {
  const due = await tx.query<{ keyId: string; purpose: KeyPurpose }>(
    `select key_id as "keyId", purpose from signing_keys where status = 'next' and activate_at <= clock_timestamp()::timestamptz(3) for update`,
  );
  for (const { keyId, purpose } of due) {
    // The old key first: a purpose cannot have two current keys.
    await tx.query(
      `update signing_keys old set status = 'retiring', not_after = clock_timestamp() + make_interval(secs => next.overlap_secs)
       from signing_keys next where next.key_id = $1 and old.purpose = $2 and old.status = 'current'`,
      [keyId, purpose],
    );
    await tx.query(`update signing_keys set status = 'current', activated_at = clock_timestamp() where key_id = $1`, [keyId]);
  }
  return due;
}

/** Retires keys whose overlap is over, and returns them. Rounds the clock for the same reason: an overlap of 0 ends at once. */
export function retireDueKeys(tx: Transaction): Promise<{ keyId: string; purpose: KeyPurpose }[]> {
  return tx.query<{ keyId: string; purpose: KeyPurpose }>(
    `update signing_keys set status = 'retired' where status = 'retiring' and not_after <= clock_timestamp()::timestamptz(3)
     returning key_id as "keyId", purpose`,
  );
}

export async function resealKey(tx: Transaction, keyId: string, sealedSeed: string): Promise<void> {
  await tx.query('update signing_keys set sealed_seed = $2 where key_id = $1', [keyId, sealedSeed]);
}

export async function revokeKey(tx: Transaction, keyId: string): Promise<void> {
  await tx.query(`update signing_keys set status = 'revoked' where key_id = $1`, [keyId]);
}

/** Milliseconds until the next key is activated or retired; null if none is due. */
export async function nextKeyStepMs(db: Queryable): Promise<number | null> {
  const [row] = await db.query<{ ms: number | null }>(
    `select (extract(epoch from min(case status when 'next' then activate_at else not_after end) - clock_timestamp()) * 1000)::float8 as ms
     from signing_keys where status in ('next', 'retiring')`,
  );
  return row?.ms ?? null;
}

/** Records which key the agent was given (ET-19). Does nothing for an agent that has not polled yet: it has no row. */
export async function rememberKeyOfAgent(tx: Transaction, agentId: string, keyId: string): Promise<void> {
  await tx.query('update agents set key_id = $2 where id = $1 and key_id is distinct from $2', [agentId, keyId]);
}
