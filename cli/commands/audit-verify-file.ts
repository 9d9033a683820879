import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { eventHash } from '../../crypto/audit-hash.js';
import { keyIdOf, verifySignature } from '../../crypto/ed25519.js';
import {
  type ExportContext,
  type ExportFault,
  type ExportState,
  exportFault,
  isWithoutGaps,
  nextInExport,
  startExport,
} from '../../domain/audit/export-check.js';
import { type ExportFormat, exportForms, type Manifest } from '../../domain/audit/export-format.js';
import { parseEventLine, parseManifestLine } from '../../domain/audit/export-parse.js';
import { fileFault } from '../../lib/file-fault.js';
import { firstLineOf, formatOfFirstLine, lastLineOf, linesOf } from '../audit-file.js';
import type { Context } from '../context.js';
import { CommandFailure, failure } from '../failure.js';
import type { Answer } from '../output/output.js';

/** Options of `svc audit verify`, with the file or without. */
export interface AuditVerifyOptions {
  anchor?: { seq: number; hash: string };
  /** A file with a checkpoint that was kept. */
  checkpoint?: string;
  file?: string;
  publicKey?: string[];
}

/** A fault with the line of the file that shows it. */
type Fault = ExportFault & { line: number | null };

const without = (reason: ExportFault['reason'], line: number | null): Fault => ({ reason, id: null, seq: null, line });

/** Checks an export alone: no call, no configuration, and memory that does not grow with the file (CL-33). */
export async function verifyExport(context: Context, file: string, options: AuditVerifyOptions): Promise<Answer> {
  if (options.checkpoint !== undefined) throw failure('usage', '--checkpoint needs the server; leave out --file');
  const { what } = context;
  const path = resolve(context.terminal.directory, file);
  // The manifest, at the end, is needed before the first event.
  if (statSync(path, { throwIfNoEntry: false })?.isFIFO())
    throw failure('usage', `${what}: ${file} is a pipe, and an export is read twice`, { hint: 'write it to a file first' });
  const found = await check(path, options).catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    throw code === undefined ? error : failure('usage', `${what}: ${file} cannot be read (${fileFault(error)})`);
  });
  const data = JSON.stringify(reportOf(found, options));
  if (found.fault !== null) throw broken(what, file, found.fault, data);
  for (const warning of warningsOf(found, options)) context.output.warn(warning);
  return { data, human: () => soundText(found) };
}

interface Found {
  state: ExportState;
  manifest: Manifest | null;
  fault: Fault | null;
}

async function check(path: string, options: AuditVerifyOptions): Promise<Found> {
  const format = formatOfFirstLine(await firstLineOf(path));
  const last = await lastLineOf(path);
  const manifest = parseManifestLine(format, last.text);
  if (manifest === null || keyOf(manifest.public_key) !== manifest.key_id) {
    const reason = last.text.includes('"manifest"') ? 'manifest_malformed' : 'manifest_missing';
    return { state: startExport, manifest, fault: without(reason, null) };
  }
  const context = contextOf(manifest, options);
  const walked = await walk(path, { format, end: last.offset }, context);
  if (walked.fault !== null) return { ...walked, manifest };
  const fault = exportFault(walked.state, context);
  return { state: walked.state, manifest, fault: fault === null ? null : { ...fault, line: null } };
}

async function walk(path: string, { format, end }: { format: ExportFormat; end: number }, context: ExportContext) {
  let state = startExport;
  for await (const { number, text, offset } of linesOf(path, format)) {
    if (offset >= end) break;
    if (number === 1 && format === 'csv' && text === exportForms.csv.header) continue;
    const event = text === null ? null : parseEventLine(format, text, (each) => eventHash(each) === each.event_hash);
    if (event === null) return { state, fault: without('line_malformed', number) };
    state = nextInExport(state, event, context);
    if (state.fault !== null) return { state, fault: { ...state.fault, line: number } };
  }
  return { state, fault: null };
}

/** Without keys from elsewhere there is only the export's own, which proves no more than that the file agrees with itself. */
function contextOf(manifest: Manifest, { publicKey, anchor }: AuditVerifyOptions): ExportContext {
  const keys = new Map((publicKey ?? [manifest.public_key]).map((hex) => [keyOf(hex), hex]));
  return {
    hash: eventHash,
    isSigned: (keyId, text, signature) => {
      const hex = keys.get(keyId);
      return hex !== undefined && verifySignature(hex, text, signature);
    },
    isKnown: (keyId) => keys.has(keyId),
    knowsAllKeys: publicKey !== undefined,
    manifest,
    anchor: anchor ?? null,
  };
}

const keyOf = (hex: string) => (/^[0-9a-f]{64}$/.test(hex) ? keyIdOf(hex) : '');

function reportOf({ state, manifest, fault }: Found, { publicKey, anchor }: AuditVerifyOptions) {
  return {
    valid: fault === null,
    reason: fault?.reason ?? null,
    line: fault?.line ?? null,
    first_broken_id: fault?.id ?? null,
    first_broken_seq: fault?.seq ?? null,
    events: state.count,
    first_seq: state.first?.seq ?? null,
    last_seq: state.last?.seq ?? null,
    last_hash: state.last?.event_hash ?? null,
    gaps: state.gaps,
    begins: beginning(state),
    checkpoints_verified: state.checkpoints,
    checkpoints_unchecked: state.unchecked,
    anchor: anchor === undefined ? null : state.anchorFound ? 'holds' : 'not_in_export',
    filters: manifest?.filters ?? null,
    key_id: manifest?.key_id ?? null,
    keys: publicKey === undefined ? 'of_the_export' : 'given',
  };
}

/** What comes before the first event of the file. */
function beginning({ first, isBehindPurge }: ExportState): 'first_event' | 'behind_purge' | 'later' | null {
  if (first === null) return null;
  if (first.seq === 1) return 'first_event';
  return isBehindPurge ? 'behind_purge' : 'later';
}

function warningsOf({ state, manifest }: Found, { publicKey, anchor }: AuditVerifyOptions): string[] {
  const warnings: string[] = [];
  if (publicKey === undefined)
    warnings.push("the key is the export's own: whoever made the file could have made it. Give the gateway's with --public-key");
  if (state.unchecked > 0)
    warnings.push(
      `${state.unchecked} checkpoints are signed by other keys and were not checked: give all keys with --public-key`,
    );
  if (manifest !== null && !isWithoutGaps(manifest))
    warnings.push(
      'events are left out, by filters or by the role of whoever exported: each event fits its own hash, and the number and the last event are signed. That no other event was exchanged or left out is not proved',
    );
  else if (manifest !== null && (manifest.count === 0 || Object.keys(manifest.filters).length > 0))
    warnings.push('what was asked for is not signed: that no other event fits the filters is not proved');
  if (anchor !== undefined && !state.anchorFound) warnings.push(`the event of the anchor, ${anchor.seq}, is not in the export`);
  return warnings;
}

const beginnings = {
  first_event: 'from the first event on',
  behind_purge: 'from where a signed purge ended',
  later: 'what came before is not in the file',
};

function soundText({ state, manifest }: Found): string {
  const begins = beginning(state);
  const whole = begins === null ? '' : ` (${state.gaps === 0 ? 'no gaps' : `${state.gaps} gaps`}, ${beginnings[begins]})`;
  const rows = [
    ['export', 'valid'],
    ['events', `${state.count}${begins === null ? '' : `, seq ${state.first?.seq} to ${state.last?.seq}${whole}`}`],
    ['checkpoints', String(state.checkpoints)],
    ['signed by', manifest?.key_id ?? ''],
  ];
  return rows.map(([label, value]) => `${label!.padEnd(16)}${value}\n`).join('');
}

function broken(what: string, file: string, { reason, line, id, seq }: Fault, data: string): CommandFailure {
  const places = [line === null ? [] : `line ${line}`, seq === null ? [] : `seq ${seq}`, id === null ? [] : `id ${id}`].flat();
  const place = places.length === 0 ? '' : ` at ${places.join(', ')}`;
  const hint =
    reason === 'manifest_missing'
      ? 'the export is incomplete: make it again'
      : 'docs/audit.md explains each reason and what to do';
  return new CommandFailure('integrity_violation', `${what}: ${file} is not valid: ${reason}${place}`, { data, hint, exit: 1 });
}
