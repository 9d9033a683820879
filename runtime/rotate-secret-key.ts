import { type ApprovalMacs, approvalMacs } from '../crypto/approval-macs.js';
import { openSeed, sealSeed } from '../crypto/seal.js';
import { insertAuditEvents } from '../db/audit.js';
import type { Database, Transaction } from '../db/client.js';
import { lockCoded } from '../db/request-state.js';
import { findSecretKey, lastTransaction, oldestTransaction, tryLockSecretKey, updateSecretKey } from '../db/secret-key.js';
import { listAllKeys, lockKeys, resealKey } from '../db/signing-keys.js';
import { codeGenerations, type NewCodes, renewedCodes, renewedGenerationCode, writeCodes } from '../db/stored-codes.js';
import { waitUntil } from '../lib/deadline.js';
import { batchRows, purposes, secretKeyEvent } from './adopt-database.js';
import { StartError } from './start-error.js';

const barrierMs = 60_000;
const barrierPauseMs = 50;

/** Both keys with their authentication codes. */
interface Keys {
  from: { secretKey: Uint8Array; macs: ApprovalMacs };
  to: { secretKey: Uint8Array; macs: ApprovalMacs };
}

/**
 * Moves everything from one secret key to another (HD-50). What is not valid under the old key gets no code under the new one. From the
 * first step on, no process with either key starts or writes, so nothing is missed. If it is killed at any point, the same command
 * continues. Returns the number of requests.
 */
export async function rotateSecretKey(database: Database, from: Uint8Array, to: Uint8Array): Promise<number> {
  const keys: Keys = {
    from: { secretKey: from, macs: approvalMacs(from) },
    to: { secretKey: to, macs: approvalMacs(to) },
  };
  await database.transaction((tx) => begin(tx, keys));
  await untilOthersEnded(database);
  let count = 0;
  for (let after: string | null = null; ; ) {
    const last: string | null = after;
    const batch: NewCodes[] = await database.transaction((tx) => renewBatch(tx, last, keys));
    if (batch.length === 0) break;
    count += batch.length;
    after = batch.at(-1)!.id;
  }
  for (let after: number | null = 0; after !== null; ) {
    const last: number = after;
    after = await database.transaction((tx) =>
      codeGenerations(tx, last, (one) => renewedGenerationCode(one, keys.from.macs, keys.to.macs)),
    );
  }
  await database.transaction((tx) => end(tx, keys));
  return count;
}

async function begin(tx: Transaction, { from, to }: Keys): Promise<void> {
  if (!(await tryLockSecretKey(tx))) throw new StartError('another process is changing the secret key');
  const row = await findSecretKey(tx);
  if (row === undefined) throw new StartError('the gateway database is under no secret key yet: start a server first');
  const isBegun = row.formerCheck !== null;
  if (isBegun && row.formerCheck === from.macs.keyCheck && row.keyCheck === to.macs.keyCheck) return;
  if (isBegun) throw new StartError('the change to another secret key was begun and not ended: run it again with the same keys');
  if (row.keyCheck !== from.macs.keyCheck) throw new StartError('the gateway database is under another secret key than this one');
  if (from.macs.keyCheck === to.macs.keyCheck) throw new StartError('the new secret key is the one in use');
  await updateSecretKey(tx, { keyCheck: to.macs.keyCheck, formerCheck: from.macs.keyCheck });
}

/** Transactions that began earlier may still write under the old key. Each gets its number when it begins. */
async function untilOthersEnded(database: Database): Promise<void> {
  const last = await database.transaction(lastTransaction);
  const haveEnded = async () => (await oldestTransaction(database)) > last;
  if (!(await waitUntil(haveEnded, { ms: barrierMs, everyMs: barrierPauseMs })))
    throw new StartError('a transaction has been open in the database server for a minute: end it, then run this again');
}

async function renewBatch(tx: Transaction, after: string | null, { from, to }: Keys): Promise<NewCodes[]> {
  const codes = (await lockCoded(tx, after, batchRows, false)).map((one) => renewedCodes(one, from.macs, to.macs));
  if (codes.length > 0) await writeCodes(tx, codes);
  return codes;
}

async function end(tx: Transaction, { from, to }: Keys): Promise<void> {
  // Otherwise a rotation of signing keys that began earlier could add one under the old key.
  await lockKeys(tx);
  for (const purpose of purposes) {
    for (const { keyId, sealedSeed } of await listAllKeys(tx, purpose)) {
      const seed = openSeed(sealedSeed, { keyId, purpose }, from.secretKey);
      if (seed !== null) await resealKey(tx, keyId, sealSeed(seed, { keyId, purpose }, to.secretKey));
    }
  }
  await updateSecretKey(tx, { keyCheck: to.macs.keyCheck, formerCheck: null });
  await insertAuditEvents(tx, [secretKeyEvent('changed', to.macs)]);
}
