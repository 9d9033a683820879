import type { Transaction } from './client.js';

/** Stores a code that is valid for so many seconds, and deletes expired codes and all but the newest of the user. */
export async function insertCode(
  tx: Transaction,
  { hash, userId, source, seconds, kept }: { hash: string; userId: string; source: object; seconds: number; kept: number },
): Promise<number> {
  const [row] = await tx.query<{ expiresAt: number }>(
    `insert into console_codes (hash, user_id, source, expires_at)
     values ($1, $2, $3, clock_timestamp() + $4::int * interval '1 second') returning expires_at as "expiresAt"`,
    [hash, userId, JSON.stringify(source), seconds],
  );
  await tx.query(
    `delete from console_codes where expires_at < clock_timestamp()
       or hash in (select hash from console_codes where user_id = $1 order by expires_at desc, hash offset $2)`,
    [userId, kept],
  );
  return row!.expiresAt;
}

/** Uses the code up. Of several simultaneous calls, one finds it. */
export async function takeCode<Source>(tx: Transaction, hash: string): Promise<Source | undefined> {
  const [row] = await tx.query<{ source: Source; isLive: boolean }>(
    `delete from console_codes where hash = $1 returning source, expires_at >= clock_timestamp() as "isLive"`,
    [hash],
  );
  return row?.isLive ? row.source : undefined;
}
