import type { EvidenceTools, LogState } from '../domain/evidence/tools.js';
import { eventHash } from './audit-hash.js';
import { hexBytes, keyIdOf, verifySignature } from './ed25519.js';
import { sha256Hex } from './hash.js';
import { leafHash } from './merkle.js';
import { openCheckpoint, readCheckpoint } from './signed-note.js';
import { isConsistent, rootByInclusion } from './tree-proof.js';

const hashes = (proof: readonly string[]) => proof.map((base64) => Uint8Array.from(Buffer.from(base64, 'base64')));
const sized = ({ size, root }: LogState) => ({ size, root: hexBytes(root) });

/** What verifies evidence documents. */
export const evidenceTools: EvidenceTools = {
  sha256: sha256Hex,
  keyIdOf,
  isSigned: verifySignature,
  eventHash,
  rootByProof(hash, seq, size, proof) {
    const root = rootByInclusion(seq - 1, size, leafHash(hexBytes(hash)), hashes(proof));
    return root === null ? null : Buffer.from(root).toString('hex');
  },
  openCheckpoint(note, publicKeyHex) {
    const origin = readCheckpoint(note.slice(0, note.lastIndexOf('\n\n') + 1))?.origin;
    const opened = origin === undefined ? null : openCheckpoint(note, { name: origin, publicKeyHex });
    return opened && { origin: opened.origin, size: opened.size, root: Buffer.from(opened.root).toString('hex') };
  },
  isBeginning: (smaller, larger, proof) => isConsistent(sized(smaller), sized(larger), hashes(proof)),
};
