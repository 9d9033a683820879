import { randomUUID } from 'node:crypto';
import { eventHash } from '../crypto/audit-hash.js';
import type { SigningKey } from '../crypto/ed25519.js';
import { growTree, type Tree } from '../crypto/merkle.js';
import { signCheckpoint } from '../crypto/signed-note.js';
import { insertAnchors } from '../db/audit-anchors.js';
import {
  type AuditHead,
  endBegin,
  listUnsealed,
  readSealState,
  type TileRow,
  tryLockAudit,
  type UnsealedEvent,
  writeSealedBatch,
} from '../db/audit-seal.js';
import type { Transaction } from '../db/client.js';
import type { SealedEvent } from '../domain/audit/event.js';
import { type ChainEnd, checkpointDueInMs, type SealedRun, sealRun } from '../domain/audit/sealing.js';
import { headText, treeText } from '../domain/audit/signed-texts.js';
import type { ReadAuditKeys } from '../runtime/audit-keys.js';
import { readStoredChain } from './stored-chain.js';

export const maxEvents = 500;
/** Bounds the memory of a batch. One event may have 200 KB. */
const maxBytes = 4 * 1024 * 1024;

/** How the log presents itself outside the gateway. */
export interface SealedLog {
  /** The name of the log in its notes (AU-81). */
  origin: string;
  /** Each checkpoint is to be given to an anchor outside (AU-87). */
  isAnchored: boolean;
}

export interface Checkpoint {
  event: SealedEvent;
  /** The tree up to and including the checkpoint, signed (AU-81). */
  note: string;
}

export type SealOutcome =
  /** Another process seals or purges. */
  | { kind: 'busy' }
  /** The stored chain cannot be verified, or there is no key to sign with: nothing was sealed. */
  | { kind: 'stopped'; reason: string }
  | {
      kind: 'done';
      /** Stored events that got their place. */
      sealed: number;
      checkpoints: readonly Checkpoint[];
      /** More events may be waiting. */
      isFull: boolean;
      /** Infinity while no event follows the last checkpoint. */
      checkpointInMs: number;
    };

/** Seals the next batch in this transaction: chain, checkpoints, tree and head, or nothing (AU-14). */
export async function sealBatch(
  tx: Transaction,
  readKeys: ReadAuditKeys,
  log: SealedLog,
  limit = maxEvents,
): Promise<SealOutcome> {
  if (!(await tryLockAudit(tx))) return { kind: 'busy' };
  const [state, events, keys] = await Promise.all([readSealState(tx), listUnsealed(tx, limit, maxBytes), readKeys(tx)]);
  const chain = readStoredChain(state, keys);
  if ('broken' in chain) return { kind: 'stopped', reason: chain.broken };
  const { signer } = keys;
  if (signer === null) return { kind: 'stopped', reason: 'the current audit key does not open under the secret key' };
  const { now } = state;
  const { keyId, sign } = signer;
  const run = sealRun(chain.end, events, { hash: eventHash, newId: randomUUID, keyId, sign, now });
  if (state.begin !== null && run.end.seq > 0) endBegin(tx);
  const checkpoints = run.end.seq > chain.end.seq ? await writeRun(tx, run, { tree: chain.tree, signer, now, log }) : [];
  return {
    kind: 'done',
    sealed: events.length,
    checkpoints,
    isFull: isFull(events, limit),
    checkpointInMs: checkpointDueInMs(run.end, now),
  };
}

interface RunWriter {
  /** The tree before the run. */
  tree: Tree;
  signer: SigningKey;
  now: string;
  log: SealedLog;
}

/** Writes the run with its tree and head. Returns its checkpoints, each with its note. */
async function writeRun(
  tx: Transaction,
  run: SealedRun<UnsealedEvent>,
  { tree, signer, now, log: { origin, isAnchored } }: RunWriter,
): Promise<Checkpoint[]> {
  const { tiles, root, rootAt } = grow(tree, run);
  const checkpoints = run.checkpoints.map((event) => ({
    event,
    note: signCheckpoint({ origin, size: event.seq, root: rootAt.get(event.seq)! }, signer),
  }));
  if (isAnchored)
    insertAnchors(
      tx,
      checkpoints.map(({ event: { seq, event_hash: eventHash }, note }) => ({ seq, eventHash, note })),
    );
  await writeSealedBatch(tx, {
    events: run.events,
    added: run.checkpoints,
    tiles,
    head: signedHead(run.end, root, signer, now),
  });
  return checkpoints;
}

/** Ended by a limit, as far as can be told: a character has at most three bytes. */
const isFull = (events: readonly UnsealedEvent[], limit: number) =>
  events.length === limit || events.reduce((sum, { detail_raw }) => sum + (detail_raw?.length ?? 0), 0) > maxBytes / 6;

/** The tree after the batch, and its root after each checkpoint in it. */
function grow(tree: Tree, run: { events: SealedEvent[]; checkpoints: SealedEvent[] }) {
  const inOrder = [...run.events, ...run.checkpoints].sort((a, b) => a.seq - b.seq);
  const hashes = inOrder.map(({ event_hash }) => Uint8Array.from(Buffer.from(event_hash, 'hex')));
  const full: TileRow[] = [];
  let grown = growTree(tree, []);
  const growTo = (size: number) => {
    grown = growTree(grown.tree, hashes.slice(grown.tree.size - tree.size, size - tree.size));
    full.push(...grown.full);
    return grown.root;
  };
  const rootAt = new Map(run.checkpoints.map(({ seq }) => [seq, growTo(seq)]));
  const root = Buffer.from(growTo(tree.size + hashes.length)).toString('hex');
  const { size, edge } = grown.tree;
  const growing = edge.map((row, level) => ({ level, index: Math.floor(size / 256 ** (level + 1)), hashes: row }));
  const changed = growing.filter(({ hashes: row }, level) => row.length > 0 && !isSame(row, tree.edge[level]));
  return { tiles: [...full, ...changed], root, rootAt };
}

const isSame = (hashes: Uint8Array, former: Uint8Array | undefined) =>
  former !== undefined && Buffer.compare(hashes, former) === 0;

function signedHead({ seq, hash }: ChainEnd, treeRoot: string, { keyId, sign }: SigningKey, sealedAt: string): AuditHead {
  if (hash === null) throw new Error('a head without an event');
  const statement = { seq, eventHash: hash, sealedAt };
  return {
    ...statement,
    keyId,
    signature: sign(headText(statement)),
    treeRoot,
    treeSignature: sign(treeText({ seq, treeRoot })),
  };
}
