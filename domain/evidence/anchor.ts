import { type Fault, fault } from './fault.js';
import type { EvidenceTools, LogState } from './tools.js';

/** A checkpoint that somebody kept outside the gateway, and how the log of the evidence agrees with it (AU-86). */
export interface Anchor {
  note: string;
  /** The size that the proof begins or ends with; null without a proof. */
  proofFrom: number | null;
  proof: readonly string[];
}

/**
 * Reads a file: a signed checkpoint alone, or as `GET /api/audit/checkpoint?old=N` answers it: a line `old N`, the hashes of the
 * proof, an empty line and the checkpoint.
 */
export function readAnchor(source: string): Anchor | null {
  if (!source.startsWith('old ')) return source === '' ? null : { note: source, proofFrom: null, proof: [] };
  const [, size, proof, note] = /^old (0|[1-9][0-9]{0,15})\n((?:[A-Za-z0-9+/]{43}=\n){0,64})\n([\s\S]+)$/.exec(source) ?? [];
  if (size === undefined || proof === undefined || note === undefined) return null;
  return { note, proofFrom: Number(size), proof: proof.split('\n').slice(0, -1) };
}

/** Whether the smaller of both logs is the beginning of the larger one. */
export function anchorFault(
  anchor: Anchor | null,
  log: LogState,
  publicKeys: readonly string[],
  tools: EvidenceTools,
): { fault: Fault | null; kept: LogState | null } {
  const kept =
    publicKeys.map((key) => (anchor === null ? null : tools.openCheckpoint(anchor.note, key))).find((each) => each !== null) ??
    null;
  const refuse = (message: string) => ({ fault: fault('anchor_mismatch', message), kept });
  if (anchor === null || kept === null)
    return refuse(
      'the checkpoint given is signed by none of the keys; if it was kept before a rotation, give the key of then with --key too',
    );
  if (kept.origin !== log.origin) return refuse(`the checkpoint given is of ${kept.origin}, not of ${log.origin}`);
  const [smaller, larger] = kept.size < log.size ? [kept, log] : [log, kept];
  if (smaller.size === larger.size)
    return smaller.root === larger.root ? { fault: null, kept } : refuse(`two logs of ${log.size} events have different roots`);
  if (anchor.proofFrom !== smaller.size)
    return refuse(`the checkpoint given needs the proof from ${smaller.size} to ${larger.size} events beside it`);
  return tools.isBeginning(smaller, larger, anchor.proof)
    ? { fault: null, kept }
    : refuse(`the log of ${smaller.size} events is not the beginning of that of ${larger.size}`);
}
