import { randomUUID } from 'node:crypto';
import { eventHash } from '../crypto/audit-hash.js';
import type { SigningKey } from '../crypto/ed25519.js';
import { growTree, type Tree } from '../crypto/merkle.js';
import {
  type AuditHead,
  listUnsealed,
  readSealState,
  type TileRow,
  tryLockAudit,
  type UnsealedEvent,
  writeSealedBatch,
} from '../db/audit-seal.js';
import type { Transaction } from '../db/client.js';
import type { SealedEvent } from '../domain/audit/event.js';
import { type ChainEnd, checkpointDueInMs, sealRun } from '../domain/audit/sealing.js';
import { headText, treeText } from '../domain/audit/signed-texts.js';
import type { ReadAuditKeys } from '../runtime/audit-keys.js';
import { readStoredChain } from './stored-chain.js';

export const maxEvents = 500;
/** Bounds the memory of a batch. One event may have 200 KB. */
const maxBytes = 4 * 1024 * 1024;

export type SealOutcome =
  /** Another process seals or purges. */
  | { kind: 'busy' }
  /** The stored chain cannot be verified, or there is no key to sign with: nothing was sealed. */
  | { kind: 'stopped'; reason: string }
  | {
      kind: 'done';
      /** Stored events that got their place. */
      sealed: number;
      checkpoints: readonly SealedEvent[];
      /** The new head; null if nothing was sealed. */
      head: AuditHead | null;
      /** More events may be waiting. */
      isFull: boolean;
      /** Infinity while no event follows the last checkpoint. */
      checkpointInMs: number;
    };

/** Seals the next batch in this transaction: chain, checkpoints, tree and head, or nothing (AU-14). */
export async function sealBatch(tx: Transaction, readKeys: ReadAuditKeys, limit = maxEvents): Promise<SealOutcome> {
  if (!(await tryLockAudit(tx))) return { kind: 'busy' };
  const [state, events, keys] = await Promise.all([readSealState(tx), listUnsealed(tx, limit, maxBytes), readKeys(tx)]);
  const chain = readStoredChain(state, keys);
  if ('broken' in chain) return { kind: 'stopped', reason: chain.broken };
  const { signer } = keys;
  if (signer === null) return { kind: 'stopped', reason: 'the current audit key does not open under the secret key' };
  const { now } = state;
  const sign = (text: string) => signer.sign(new TextEncoder().encode(text));
  const run = sealRun(chain.end, events, { hash: eventHash, newId: randomUUID, keyId: signer.keyId, sign, now });
  let head: AuditHead | null = null;
  if (run.end.seq > chain.end.seq) {
    const { tiles, root } = grow(chain.tree, [...run.events, ...run.checkpoints]);
    head = signedHead(run.end, root, signer, now);
    await writeSealedBatch(tx, { events: run.events, added: run.checkpoints, tiles, head });
  }
  return {
    kind: 'done',
    sealed: events.length,
    checkpoints: run.checkpoints,
    head,
    isFull: isFull(events, limit),
    checkpointInMs: checkpointDueInMs(run.end, now),
  };
}

/** Ended by a limit, as far as can be told: a character has at most three bytes. */
const isFull = (events: readonly UnsealedEvent[], limit: number) =>
  events.length === limit || events.reduce((sum, { detail_raw }) => sum + (detail_raw?.length ?? 0), 0) > maxBytes / 6;

function grow(tree: Tree, sealed: SealedEvent[]): { tiles: TileRow[]; root: string } {
  const inOrder = sealed.sort((a, b) => a.seq - b.seq);
  const grown = growTree(
    tree,
    inOrder.map(({ event_hash }) => Uint8Array.from(Buffer.from(event_hash, 'hex'))),
  );
  const { size, edge } = grown.tree;
  const growing = edge.map((hashes, level) => ({ level, index: Math.floor(size / 256 ** (level + 1)), hashes }));
  const changed = growing.filter(({ hashes }, level) => hashes.length > 0 && !isSame(hashes, tree.edge[level]));
  return { tiles: [...grown.full, ...changed], root: Buffer.from(grown.root).toString('hex') };
}

const isSame = (hashes: Uint8Array, former: Uint8Array | undefined) =>
  former !== undefined && Buffer.compare(hashes, former) === 0;

function signedHead({ seq, hash }: ChainEnd, treeRoot: string, signer: SigningKey, sealedAt: string): AuditHead {
  if (hash === null) throw new Error('a head without an event');
  const sign = (text: string) => signer.sign(new TextEncoder().encode(text));
  const statement = { seq, eventHash: hash, sealedAt };
  return {
    ...statement,
    keyId: signer.keyId,
    signature: sign(headText(statement)),
    treeRoot,
    treeSignature: sign(treeText({ seq, treeRoot })),
  };
}
