import type { Queryable, Transaction } from './client.js';

/** Which secret key the database uses. `formerCheck` is set while a change of key is under way. */
export interface SecretKeyRow {
  keyCheck: string;
  formerCheck: string | null;
}

/** Undefined before the first start of a version with authentication codes. */
export async function findSecretKey(db: Queryable): Promise<SecretKeyRow | undefined> {
  const [row] = await db.query<SecretKeyRow>('select key_check as "keyCheck", former_check as "formerCheck" from secret_key');
  return row;
}

/** Blocks other processes that change the secret key until the transaction ends. False if one of them is doing so. */
export async function tryLockSecretKey(tx: Transaction): Promise<boolean> {
  const [row] = await tx.query<{ free: boolean }>(`select pg_try_advisory_xact_lock(hashtextextended('secret_key', 0)) as free`);
  return row?.free === true;
}

export async function insertSecretKey(tx: Transaction, keyCheck: string): Promise<void> {
  await tx.query('insert into secret_key (key_check) values ($1)', [keyCheck]);
}

/** Begins (`formerCheck`) or ends (null) a change of key. */
export async function updateSecretKey(tx: Transaction, { keyCheck, formerCheck }: SecretKeyRow): Promise<void> {
  await tx.query('update secret_key set key_check = $1, former_check = $2, changed_at = clock_timestamp()', [
    keyCheck,
    formerCheck,
  ]);
}

/** The number of a transaction that begins now. All that began earlier have lower numbers. */
export async function lastTransaction(tx: Transaction): Promise<number> {
  const [row] = await tx.query<{ id: number }>('select pg_current_xact_id()::text::bigint as id');
  return row!.id;
}

/** The lowest number of an open transaction. If none is open, it is higher than all given so far. */
export async function oldestTransaction(db: Queryable): Promise<number> {
  const [row] = await db.query<{ id: number }>('select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as id');
  return row!.id;
}
