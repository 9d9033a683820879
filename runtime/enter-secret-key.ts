import type { Logger } from 'pino';
import type { Database, Transaction } from '../db/client.js';
import { findSecretKey, insertSecretKey, tryLockSecretKey } from '../db/secret-key.js';
import { sleep } from '../lib/sleep.js';
import { type Adoption, adoptBatch, cannotOpen, endAdoption, isFormer } from './adopt-database.js';
import { StartError } from './start-error.js';

const busyPauseMs = 100;

/**
 * Checks at each start that the database uses this secret key (HD-50), and throws `StartError` if not. The first start on a new database
 * records the key. The first start after an older version also adds a code to every stored request, decision and generation. Any number of
 * processes may start at the same time: they take turns with batches, and a killed one leaves the rest to the next start.
 */
export async function enterSecretKey(database: Database, secretKey: Uint8Array, log: Logger): Promise<void> {
  let adoption: Adoption = { after: null, generation: 0 };
  let isTold = false;
  for (;;) {
    const step = await database.transaction((tx) => enter(tx, secretKey, adoption));
    if (step === 'done') return;
    if (step === 'busy') {
      await sleep(busyPauseMs);
      continue;
    }
    // Only once it is committed: a transaction that runs again begins where it began.
    adoption = step;
    if (!isTold) log.warn({}, 'requests of an older version get their authentication codes');
    isTold = true;
  }
}

async function enter(tx: Transaction, secretKey: Uint8Array, adoption: Adoption): Promise<'done' | 'busy' | Adoption> {
  if (await checkSecretKey(tx)) return 'done';
  if (!(await tryLockSecretKey(tx))) return 'busy';
  if (await checkSecretKey(tx)) return 'done';
  if (!(await isFormer(tx, secretKey))) {
    await insertSecretKey(tx, tx.macs.keyCheck);
    return 'done';
  }
  const adopted = await adoptBatch(tx, adoption);
  if (adopted !== null) return adopted;
  await endAdoption(tx, secretKey);
  return 'done';
}

/** False before the first start. Throws `StartError` if the database is under another secret key than this process. */
export async function checkSecretKey(tx: Transaction): Promise<boolean> {
  const row = await findSecretKey(tx);
  if (row === undefined) return false;
  if (row.formerCheck !== null)
    throw new StartError(
      'the gateway database is being put under another secret key, and this was not ended',
      'run svc server keys rotate-secret again with the same keys, then start with the new one',
    );
  if (row.keyCheck === tx.macs.keyCheck) return true;
  throw new StartError(
    `${(await cannotOpen(tx)) ?? 'nothing can be signed'}: the gateway database is under another one`,
    'every server and worker needs the same SVC_SECRET_KEY or security.secret_key_file',
  );
}
