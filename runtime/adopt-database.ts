import type { ApprovalMacs } from '../crypto/approval-macs.js';
import { openFormerSeed, sealSeed } from '../crypto/seal.js';
import { insertAuditEvents } from '../db/audit.js';
import type { Transaction } from '../db/client.js';
import { lockCoded } from '../db/request-state.js';
import { insertSecretKey } from '../db/secret-key.js';
import { findCurrentKey, type KeyPurpose, listAllKeys, resealKey, type SigningKeyRow } from '../db/signing-keys.js';
import { codeGenerations, codesOf, generationCode, writeCodes } from '../db/stored-codes.js';
import { type AuditDraft, systemActor } from '../domain/audit/draft.js';
import { StartError } from './start-error.js';

export const purposes = ['execution_token', 'audit'] as const satisfies KeyPurpose[];
export const batchRows = 200;

/** What an earlier version left behind, and how far adding codes has got. */
export interface Adoption {
  /** The last request that got its codes. */
  after: string | null;
  /** The last generation that got its code; null once all have. */
  generation: number | null;
}

/**
 * Whether a version without authentication codes left the database: its keys have seals of that version. Nobody without the secret key can
 * make such seals, and every later version replaces them. There is no flag in the database, because whoever can write there could reset it.
 */
export async function isFormer(tx: Transaction, secretKey: Uint8Array): Promise<boolean> {
  const rows = (await Promise.all(purposes.map((purpose) => listAllKeys(tx, purpose)))).flat();
  const current = rows.filter(({ status }) => status === 'current');
  if (current.length === 0 && rows.length === 0) return false;
  if (current.some(({ keyId, sealedSeed }) => openFormerSeed(sealedSeed, keyId, secretKey) !== null)) return true;
  throw new StartError(
    `${(await cannotOpen(tx)) ?? 'there is no current signing key'}, or the record of the secret key is missing from the gateway database`,
    'give the process the right secret key, or restore the database from a backup',
  );
}

/** ET-22: names the current signing key. */
export async function cannotOpen(tx: Transaction): Promise<string | null> {
  const current = await findCurrentKey(tx, 'execution_token');
  return current === undefined ? null : `signing key ${current.keyId} (execution_token) cannot be opened with this secret key`;
}

/** Trusts what is stored and adds codes to the next requests, then to the next generations. Returns how far it has got; null when none is left. */
export async function adoptBatch(tx: Transaction, { after, generation }: Adoption): Promise<Adoption | null> {
  const found = await lockCoded(tx, after, batchRows, true);
  const last = found.at(-1);
  if (last === undefined) {
    if (generation === null) return null;
    return { after, generation: await codeGenerations(tx, generation, (one) => generationCode(one, tx.macs)) };
  }
  await writeCodes(
    tx,
    found.map((one) => codesOf({ ...one, request: { ...one.request, passedBy: one.traced } }, tx.macs)),
  );
  return { after: last.request.id, generation };
}

/** Ends the adoption in one step. From then on, rows without a code are rejected, and no other adoption can begin. */
export async function endAdoption(tx: Transaction, secretKey: Uint8Array): Promise<void> {
  for (const purpose of purposes) for (const row of await listAllKeys(tx, purpose)) await takeSeal(tx, row, purpose, secretKey);
  await insertSecretKey(tx, tx.macs.keyCheck);
  await insertAuditEvents(tx, [secretKeyEvent('adopted', tx.macs)]);
}

async function takeSeal(
  tx: Transaction,
  { keyId, sealedSeed }: SigningKeyRow,
  purpose: KeyPurpose,
  secretKey: Uint8Array,
): Promise<void> {
  const seed = openFormerSeed(sealedSeed, keyId, secretKey);
  if (seed !== null) await resealKey(tx, keyId, sealSeed(seed, { keyId, purpose }, secretKey));
}

export const secretKeyEvent = (step: 'adopted' | 'changed', { keyCheck }: ApprovalMacs): AuditDraft => ({
  type: `secret_key.${step}`,
  outcome: 'success',
  actor: systemActor,
  resourceType: null,
  resourceId: null,
  reason: null,
  metadata: { key_check: keyCheck.slice(0, 16) },
});
