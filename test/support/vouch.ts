import type { Database, Transaction } from '../../db/client.js';
import { lockCoded } from '../../db/request-state.js';
import { codesOf, writeCodes } from '../../db/stored-codes.js';

/** Gives what a test has written into stored requests the codes of the gateway (HD-50), for all of them or for one. */
export function vouch(database: Database, id?: string): Promise<void> {
  return database.transaction((tx) => vouchIn(tx, id));
}

/** The same in a transaction, so that nobody sees rows without their codes. */
export async function vouchIn(tx: Transaction, id?: string): Promise<void> {
  if (id !== undefined) await tx.query('update requests set request_mac = null where id = $1', [id]);
  const stored = await lockCoded(tx, null, 100_000, id !== undefined);
  const meant = stored.filter(({ request }) => id === undefined || request.id === id);
  await writeCodes(
    tx,
    meant.map((one) => codesOf(one, tx.macs)),
  );
}
