import { type Anchor, anchorFault } from './anchor.js';
import { approvalFault } from './approvals.js';
import { attemptFault } from './attempts.js';
import { type Evidence, evidenceText, type ReadEvidence, readEvidence } from './document.js';
import { type Fault, fault, firstFault } from './fault.js';
import { logFault, openedCheckpoint } from './log.js';
import { followPath } from './path.js';
import { Malformed } from './shape.js';
import { contentFault, tokenFault } from './tokens.js';
import type { EvidenceTools, LogState } from './tools.js';

export interface EvidenceOptions {
  /** Public keys in hex of which one must have signed; null accepts the document's own keys, which then only prove that the document is consistent. */
  trustedKeys: readonly string[] | null;
  /** A checkpoint that was kept outside; null if there is none to compare. */
  anchor: Anchor | null;
}

export interface EvidenceVerdict {
  fault: Fault | null;
  /** Null for a document that cannot be read. */
  evidence: Evidence | null;
  /** The log that the document proves its events to be in; null before its checkpoint is proven. */
  log: LogState | null;
  /** The checkpoint that the log agrees with. */
  kept: LogState | null;
}

/** Checks the text of a document (AU-85). The first check that fails ends it. */
export function verifyEvidence(source: string, options: EvidenceOptions, tools: EvidenceTools): EvidenceVerdict {
  const refused = (found: Fault, read: ReadEvidence | null = null): EvidenceVerdict => ({
    fault: found,
    evidence: read?.evidence ?? null,
    log: null,
    kept: null,
  });
  let read: ReadEvidence;
  try {
    read = readEvidence(source);
  } catch (error) {
    if (error instanceof Malformed) return refused(fault('malformed', error.message));
    throw error;
  }
  const { evidence } = read;
  const forged = keysFault(evidence, tools) ?? signatureFault(read, options.trustedKeys, tools);
  if (forged !== null) return refused(forged, read);
  const signers = trustedOf(evidence, options.trustedKeys);
  const log = openedCheckpoint(evidence, signers, tools);
  if (log === null) return refused(fault('checkpoint_invalid', 'the checkpoint is not signed by an audit key'), read);
  const found = contentsFault(evidence, log, tools);
  if (found !== null || options.anchor === null) return { fault: found, evidence, log, kept: null };
  return { evidence, log, ...anchorFault(options.anchor, log, [...signers, ...(options.trustedKeys ?? [])], tools) };
}

/** The keys have the ids that they state, and no key is listed twice or for two purposes. */
function keysFault({ keys }: Evidence, tools: EvidenceTools): Fault | null {
  const wrong = keys.find(({ public_key: key, key_id: id }) => tools.keyIdOf(key) !== id);
  if (wrong !== undefined) return fault('malformed', `key ${wrong.key_id} has another id`);
  const ids = keys.map(({ key_id: id }) => id);
  return new Set(ids).size === ids.length ? null : fault('malformed', 'a key appears twice');
}

/** The whole document is signed by an audit key, so that no part of it can be changed, left out or added. */
function signatureFault(
  { evidence, compact, signature }: ReadEvidence,
  trusted: readonly string[] | null,
  tools: EvidenceTools,
): Fault | null {
  const key = evidence.keys.find(({ purpose, key_id: id }) => purpose === 'audit' && id === signature.key_id);
  if (key === undefined) return fault('signature_invalid', 'the key that signed is no audit key of the document');
  if (trusted !== null && !trusted.includes(key.public_key))
    return fault('key_not_trusted', `it is signed by ${key.public_key}, which is none of the keys given`);
  const text = evidenceText(evidence.request.id, tools.sha256(compact));
  return tools.isSigned(key.public_key, text, signature.signature)
    ? null
    : fault('signature_invalid', 'the document is not what was signed');
}

const trustedOf = ({ keys }: Evidence, trusted: readonly string[] | null) =>
  keys
    .filter(({ purpose, public_key: key }) => purpose === 'audit' && (trusted === null || trusted.includes(key)))
    .map(({ public_key: key }) => key);

const contentsFault = (evidence: Evidence, log: LogState, tools: EvidenceTools): Fault | null =>
  firstFault(
    () => logFault(evidence, log, tools),
    () => contentFault(evidence, tools),
    () => pathFault(evidence),
    () => approvalFault(evidence),
    () => attemptFault(evidence),
    () => tokenFault(evidence, tools),
  );

function pathFault({ events, request }: Evidence): Fault | null {
  const path = followPath(events.map(({ event }) => event));
  if (path.fault !== null) return path.fault;
  return path.status === request.status
    ? null
    : fault('status_mismatch', `the request is ${request.status}, but ${path.status} by the log`);
}
