import type { Queryable, Transaction } from './client.js';

/** Which secret key the database is under; `formerCheck` while it is being put under it. */
export interface SecretKeyRow {
  keyCheck: string;
  formerCheck: string | null;
}

/** Undefined before the first start of a version that has authentication codes. */
export async function findSecretKey(db: Queryable): Promise<SecretKeyRow | undefined> {
  const [row] = await db.query<SecretKeyRow>('select key_check as "keyCheck", former_check as "formerCheck" from secret_key');
  return row;
}

/** Holds back other processes that put the database under a secret key, until the transaction ends; false when one of them is at it. */
export async function tryLockSecretKey(tx: Transaction): Promise<boolean> {
  const [row] = await tx.query<{ free: boolean }>(`select pg_try_advisory_xact_lock(hashtextextended('secret_key', 0)) as free`);
  return row?.free === true;
}

export async function insertSecretKey(tx: Transaction, keyCheck: string): Promise<void> {
  await tx.query('insert into secret_key (key_check) values ($1)', [keyCheck]);
}

/** Begins (`formerCheck`) or ends (null) the change to another key. */
export async function updateSecretKey(tx: Transaction, { keyCheck, formerCheck }: SecretKeyRow): Promise<void> {
  await tx.query('update secret_key set key_check = $1, former_check = $2, changed_at = clock_timestamp()', [
    keyCheck,
    formerCheck,
  ]);
}

/** The number of a transaction that begins now: all that began before have lower ones. */
export async function lastTransaction(tx: Transaction): Promise<number> {
  const [row] = await tx.query<{ id: number }>('select pg_current_xact_id()::text::bigint as id');
  return row!.id;
}

/** The lowest number of a transaction that has not ended; above all that were given when none is open. */
export async function oldestTransaction(db: Queryable): Promise<number> {
  const [row] = await db.query<{ id: number }>('select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as id');
  return row!.id;
}
