import type { HashedEvent } from '../audit/event.js';

/** The size and root of a log at one moment. */
export interface LogState {
  origin: string;
  size: number;
  /** Lower-case hex. */
  root: string;
}

/** The hashes and signatures that a verifier needs. All hashes are lower-case hex, and nothing throws. */
export interface EvidenceTools {
  sha256(text: string): string;
  keyIdOf(publicKeyHex: string): string;
  isSigned(publicKeyHex: string, text: string, signatureHex: string): boolean;
  eventHash(event: HashedEvent): string;
  /** The root that a log of `size` events has if the proof holds for the event of this `seq`; null if no proof can look like this. */
  rootByProof(eventHash: string, seq: number, size: number, proof: readonly string[]): string | null;
  /** What the note says if the key has signed it. */
  openCheckpoint(note: string, publicKeyHex: string): LogState | null;
  /** Whether the proof shows that the smaller log is the beginning of the larger one. */
  isBeginning(smaller: LogState, larger: LogState, proof: readonly string[]): boolean;
}
