import type { ChainContext, ChainReason } from './chain.js';
import { checkpointFault, type IsSigned, isCheckpoint, objectOf } from './checkpoint.js';
import type { SealedEvent } from './event.js';
import type { Manifest } from './export-format.js';
import { passesFilters } from './export-parse.js';
import { exportText, purgeText } from './signed-texts.js';

/** Why an export does not hold: what is wrong with its events, its lines or its manifest. */
export type ExportReason =
  | Exclude<ChainReason, 'head_missing' | 'head_signature_invalid' | 'head_mismatch'>
  | 'line_malformed'
  | 'filter_mismatch'
  | 'manifest_missing'
  | 'manifest_malformed'
  | 'manifest_mismatch'
  | 'manifest_signature_invalid';

export interface ExportFault {
  reason: ExportReason;
  id: string | null;
  seq: number | null;
}

export interface ExportContext {
  hash: ChainContext['hash'];
  /** By keys that the verifier trusts. */
  isSigned: IsSigned;
  /** False if the verifier knows the manifest's key only: checkpoints of other keys are then counted, not checked. */
  knowsAllKeys: boolean;
  isKnown: (keyId: string) => boolean;
  manifest: Manifest;
  anchor: ChainContext['anchor'];
}

export interface ExportState {
  count: number;
  first: SealedEvent | null;
  last: SealedEvent | null;
  /** The first event after a gap. */
  gap: { id: string; seq: number } | null;
  gaps: number;
  checkpoints: number;
  /** Checkpoints of keys that are not known. */
  unchecked: number;
  /** Null where the events since the last checkpoint are not all there. */
  sinceCheckpoint: number | null;
  /** Whether a purge that a trusted key signed ends where the export begins. */
  isBehindPurge: boolean;
  anchorFound: boolean;
  fault: ExportFault | null;
}

export const startExport: ExportState = {
  count: 0,
  first: null,
  last: null,
  gap: null,
  gaps: 0,
  checkpoints: 0,
  unchecked: 0,
  sinceCheckpoint: null,
  isBehindPurge: false,
  anchorFound: false,
  fault: null,
};

/** Whether the manifest says that no event is left out between its first and its last. */
export const isWithoutGaps = ({ first_seq, last_seq, count }: Manifest): boolean =>
  first_seq === null || last_seq === null ? count === 0 : count === last_seq - first_seq + 1;

/** The state after one more event. Gaps are judged at the end, by what the manifest says. */
export function nextInExport(state: ExportState, event: SealedEvent, context: ExportContext): ExportState {
  const { last } = state;
  const follows = last === null ? event.seq === 1 : event.seq === last.seq + 1;
  const since = last === null ? (follows ? 0 : null) : follows ? state.sinceCheckpoint : null;
  const reason = linkFault(last, event) ?? ownFault(event, since, context);
  if (reason !== null) return { ...state, fault: { reason, id: event.id, seq: event.seq } };
  const checkpoint = isCheckpoint(event);
  const known = checkpoint && isChecked(event, context);
  const isGap = last !== null && !follows;
  return {
    count: state.count + 1,
    first: state.first ?? event,
    last: event,
    gap: state.gap ?? (isGap ? { id: event.id, seq: event.seq } : null),
    gaps: state.gaps + (isGap ? 1 : 0),
    checkpoints: state.checkpoints + (known ? 1 : 0),
    unchecked: state.unchecked + (checkpoint && !known ? 1 : 0),
    sinceCheckpoint: checkpoint ? 0 : since === null ? null : since + 1,
    isBehindPurge: state.isBehindPurge || provesPurge(event, state.first ?? event, context),
    anchorFound: state.anchorFound || context.anchor?.seq === event.seq,
    fault: null,
  };
}

function linkFault(last: SealedEvent | null, event: SealedEvent): ExportReason | null {
  if (event.seq < 1 || (last !== null && event.seq <= last.seq)) return 'sequence_gap';
  if ((event.seq === 1) !== (event.prev_hash === null)) return 'prev_hash_mismatch';
  return last !== null && event.seq === last.seq + 1 && event.prev_hash !== last.event_hash ? 'prev_hash_mismatch' : null;
}

function ownFault(event: SealedEvent, since: number | null, context: ExportContext): ExportReason | null {
  if (context.hash(event) !== event.event_hash) return 'hash_mismatch';
  if (context.anchor?.seq === event.seq && context.anchor.hash !== event.event_hash) return 'anchor_mismatch';
  if (!passesFilters(event, context.manifest.filters)) return 'filter_mismatch';
  if (!isCheckpoint(event)) return null;
  const fault = checkpointFault(event, since, context.isSigned);
  return fault === 'checkpoint_signature_invalid' && !isChecked(event, context) ? null : fault;
}

function isChecked({ metadata_json }: SealedEvent, { knowsAllKeys, isKnown }: ExportContext): boolean {
  const { key_id: keyId } = objectOf(metadata_json);
  return knowsAllKeys || typeof keyId !== 'string' || isKnown(keyId);
}

/** The event of the purge that deleted what came before the first event of the export. */
function provesPurge({ event_type, metadata_json }: SealedEvent, first: SealedEvent, { isSigned }: ExportContext): boolean {
  if (event_type !== 'audit.purge_checkpoint') return false;
  const stated = objectOf(metadata_json);
  const { last_purged_hash: hash, purged_before: before, retained_count: count, key_id: keyId, signature } = stated;
  if (typeof hash !== 'string' || typeof before !== 'string' || typeof keyId !== 'string' || typeof signature !== 'string')
    return false;
  const text = purgeText({ lastPurgedHash: hash, purgedBefore: before, retainedCount: Number(count) });
  return hash === first.prev_hash && isSigned(keyId, text, signature);
}

/** What is wrong with the export as a whole: an event left out, or a manifest that is of other events or signed by nobody trusted. */
export function exportFault(state: ExportState, { manifest, isSigned }: ExportContext): ExportFault | null {
  const { first, last, count, gap } = state;
  if (state.fault !== null) return state.fault;
  if (gap !== null && isWithoutGaps(manifest)) return { reason: 'sequence_gap', ...gap };
  const nowhere = { id: last?.id ?? null, seq: last?.seq ?? null };
  const stated = { firstSeq: first?.seq ?? null, lastSeq: last?.seq ?? null, count, lastHash: last?.event_hash ?? null };
  const fits =
    stated.firstSeq === manifest.first_seq &&
    stated.lastSeq === manifest.last_seq &&
    stated.count === manifest.count &&
    stated.lastHash === manifest.last_hash;
  if (!fits) return { reason: 'manifest_mismatch', ...nowhere };
  return isSigned(manifest.key_id, exportText(stated), manifest.signature)
    ? null
    : { reason: 'manifest_signature_invalid', ...nowhere };
}
