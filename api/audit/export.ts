import { eventHash } from '../../crypto/audit-hash.js';
import type { SigningKey } from '../../crypto/ed25519.js';
import { insertLoneEvent } from '../../db/audit.js';
import { type ExportSpan, exportPages, readExportSpan } from '../../db/audit-export.js';
import type { AuditFilters } from '../../db/audit-filters.js';
import { outsideCall } from '../../db/call-limit.js';
import type { Queryable } from '../../db/client.js';
import type { Actor, AuditDraft } from '../../domain/audit/draft.js';
import type { SealedEvent } from '../../domain/audit/event.js';
import { type ExportFormat, exportForms, type Manifest } from '../../domain/audit/export-format.js';
import { exportText, purgeText } from '../../domain/audit/signed-texts.js';
import type { EffectiveRole } from '../../domain/caller.js';
import { refusal } from '../../domain/errors.js';
import { isUnrestricted } from '../../domain/permissions.js';
import type { AuditKeySet } from '../../runtime/audit-keys.js';
import { areInTree } from '../../runtime/audit-tree.js';
import { tryToAudit } from '../../runtime/try-to-audit.js';
import type { Services } from '../context.js';
import { type Reply, stream } from '../http/reply.js';
import { type SignedTree, signedTree, unproven } from './tree.js';

export interface ExportCall {
  actor: Actor;
  format: ExportFormat;
  /** Those that let the caller read. */
  roles: readonly EffectiveRole[];
  filters: AuditFilters;
  /** Whether the caller may still read, or throws why not. */
  mayGoOn: () => Promise<boolean>;
}

/** The most exports at a time. A slow reader keeps its place for as long as it takes something each minute. */
const atOnce = 4;
/** The most of one user, so that others have a place. */
const atOnceOfOne = 2;
/** Whose exports run. */
const running: string[] = [];

function requirePlace(userId: string): void {
  const own = running.filter((id) => id === userId).length;
  if (running.length < atOnce && own < atOnceOfOne) return;
  const text = own < atOnceOfOne ? `${atOnce} exports run already` : `${own} exports of yours run already`;
  throw refusal('service.unavailable', text, 'try again when one of them has ended');
}

/**
 * Streams the sealed events, oldest first, and a signed manifest (AU-62). What it signs is in the tree of the signed head, or whoever can write the
 * database could have a log of their own signed here.
 */
export async function exportLog(services: Services, call: ExportCall): Promise<Reply> {
  const keys = await services.auditKeys(services.database);
  const { signer } = keys;
  if (signer === null) throw refusal('service.unavailable', 'the audit key does not open under the secret key');
  requirePlace(call.actor.id);
  const span = await readExportSpan(services.database);
  if (!beginsRightly(span, keys) || Math.max(span.lastSeq, span.purgedSeq) !== span.headSeq) throw unproven();
  const tree = await signedTree(services.database, services);
  const contentType = exportForms[call.format].contentType;
  return stream(
    contentType,
    outsideCall(() => exported(services, call, { signer, span, tree })),
  );
}

/** With its first event, or behind what a signed purge has deleted. */
const beginsRightly = ({ purgedSeq, purge }: ExportSpan, { isSigned }: AuditKeySet): boolean =>
  purgedSeq === 0 || (purge !== null && isSigned(purge.keyId, purgeText(purge), purge.signature));

interface Provable {
  signer: SigningKey;
  span: ExportSpan;
  /** That of the span, or a later one. */
  tree: SignedTree;
}

interface Sent {
  first: SealedEvent | null;
  last: SealedEvent | null;
  count: number;
}

async function* exported(services: Services, call: ExportCall, { signer, span, tree }: Provable): AsyncGenerator<string> {
  const database: Queryable = { query: (text, values) => outsideCall(() => services.database.query(text, values)) };
  const form = exportForms[call.format];
  const filters = Object.fromEntries(Object.entries(call.filters).filter(([, value]) => value !== undefined));
  const sent: Sent = { first: null, last: null, count: 0 };
  // Again: others that asked at the same moment may have begun. The place is taken only here, where it is sure to be given back at the end.
  requirePlace(call.actor.id);
  running.push(call.actor.id);
  try {
    if (form.header !== '') yield form.header;
    for await (const events of exportPages(database, span, call)) {
      // A slow reader may take hours, and the right to read may end before.
      if (!(await outsideCall(call.mayGoOn))) throw new Error('the right to read the log has ended');
      if (!events.every((event) => eventHash(event) === event.event_hash) || !(await areInTree(database, tree, events)))
        throw new Error(`events from seq ${events[0]?.seq} on are not in the log`);
      // Counted before they are sent: what a caller may have received is audited, even if the connection breaks.
      sent.first ??= events[0] ?? null;
      sent.last = events.at(-1) ?? sent.last;
      sent.count += events.length;
      yield events.map(form.line).join('');
    }
  } finally {
    running.splice(running.indexOf(call.actor.id), 1);
    await audit(services, call.actor, filters, sent.count);
  }
  const isWhole = call.roles.some(isUnrestricted) && Object.keys(filters).length === 0;
  if (isWhole && sent.count !== span.headSeq - span.purgedSeq) throw new Error('events of the audit log are missing');
  yield form.manifest(manifestOf(sent, filters, signer));
}

function manifestOf({ first, last, count }: Sent, filters: Record<string, string>, signer: SigningKey): Manifest {
  const stated = { firstSeq: first?.seq ?? null, lastSeq: last?.seq ?? null, count, lastHash: last?.event_hash ?? null };
  return {
    first_seq: stated.firstSeq,
    last_seq: stated.lastSeq,
    count,
    last_hash: stated.lastHash,
    filters,
    public_key: signer.publicKeyHex,
    key_id: signer.keyId,
    signature: signer.sign(exportText(stated)),
  };
}

/** AU-11: a failed write does not change the answer. */
async function audit(services: Services, actor: Actor, filters: Record<string, string>, count: number): Promise<void> {
  const draft: AuditDraft = {
    type: 'audit.exported',
    outcome: 'info',
    actor,
    resourceType: 'audit',
    resourceId: null,
    reason: null,
    metadata: { filters, count },
  };
  await tryToAudit(services, draft.type, () => outsideCall(() => insertLoneEvent(services.database, draft)));
}
