import type { Queryable, Transaction } from './client.js';

/** Blocks bootstraps of other processes until the transaction ends (IM-55). */
export async function lockBootstrap(tx: Transaction): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('bootstrap', 0))`);
}

/** True only if no identity was ever created. */
export async function hasNoIdentities(db: Queryable): Promise<boolean> {
  const [row] = await db.query<{ empty: boolean }>(
    'select not exists (select from users) and not exists (select from tokens) as empty',
  );
  return row?.empty ?? false;
}

/** Hashes of all `bootstrap` tokens that are neither revoked nor expired (IM-58: by kind, never by name). */
export async function bootstrapHashes(db: Queryable): Promise<Set<string>> {
  const rows = await db.query<{ hash: string }>(
    `select token_hash as hash from tokens where provisioning_kind = 'bootstrap' and revoked_at is null
       and (expires_at is null or expires_at >= clock_timestamp())`,
  );
  return new Set(rows.map((row) => row.hash));
}
