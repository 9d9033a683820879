import { z } from 'zod';
import { evidenceTools } from '../../crypto/evidence-tools.js';
import { outsideDatabaseWork } from '../../db/call-limit.js';
import { isPurged, listRequestEvents } from '../../db/evidence.js';
import { readState } from '../../db/request-state.js';
import { findShown } from '../../db/shown-request.js';
import type { SealedEvent } from '../../domain/audit/event.js';
import { notFound, refusal } from '../../domain/errors.js';
import { evidenceFormat, evidenceText } from '../../domain/evidence/document.js';
import type { Fault } from '../../domain/evidence/fault.js';
import { isFirst } from '../../domain/evidence/path.js';
import { verifyEvidence } from '../../domain/evidence/verify.js';
import { lacking } from '../../domain/lacking.js';
import { can } from '../../domain/permissions.js';
import { conflict } from '../../domain/request/guards.js';
import { unseen } from '../../domain/request/refused.js';
import { maySee } from '../../domain/request/relation.js';
import type { StoredRequest } from '../../domain/request/types.js';
import { sleep } from '../../lib/sleep.js';
import type { Services } from '../context.js';
import { hex, named } from '../http/fields.js';
import { type Reply, rawJson } from '../http/reply.js';
import type { Call } from '../http/route.js';
import { evidenceBody } from './evidence-body.js';
import { requestId } from './request-id.js';

export const evidenceDocument = named(
  'Evidence',
  'What proves a request, with the signature over it. docs/evidence.md describes the members.',
  {
    evidence: z
      .looseObject({ format: z.literal(evidenceFormat).meta({ description: 'The form of the document.' }) })
      .meta({ description: 'The request, its decisions, runs and audit events, and the keys to check them with.' }),
    signature: z
      .object({ key_id: hex(16, 'The audit key that signed.'), signature: hex(128, 'The signature, by Ed25519.') })
      .meta({ description: 'The signature of the gateway.' }),
  },
);

type EvidenceCall = Call<{ id: string }, { text: boolean }, undefined>;

/** An event may wait this long for its place in the log (AU-84). */
const sealedWithinMs = 5000;
const lookEveryMs = 200;
/** Rows are read in several queries, so a move in between makes an inconsistent document, which is then read again. */
const tries = 5;

/** `GET /api/requests/{id}/evidence` (AU-84). A document that would not pass verification is never sent. */
export async function showEvidence(call: EvidenceCall, services: Services): Promise<Reply> {
  const id = requestId(call.params.id);
  let fault: Fault | null = null;
  for (let tried = 0; tried < tries; tried++) {
    const found = await findShown(services.database, id);
    if (found === undefined) throw notFound('request');
    if (!maySee(call.caller, found.request)) throw unseen(call.caller, found.request);
    if (!can(call.caller, 'audit.read', found.request)) throw lacking(['audit.read'], found.request);
    await requireUnchanged(services, id);
    const events = await sealedEvents(call, services, id, found.now);
    await requireKept(services, found.request, events);
    const text = await signed(
      await evidenceBody({ caller: call.caller, withText: call.query.text }, services, found, events),
      id,
      services,
    );
    fault = verifyEvidence(text, { trustedKeys: null, anchor: null }, evidenceTools).fault;
    if (fault === null) return rawJson([text]);
  }
  services.log.error({ request_id: id, fault }, 'the evidence of a request does not hold');
  throw conflict('content_changed', `its evidence does not hold: ${fault?.message}`, 'verify the audit log');
}

/** HD-50: what was changed outside the gateway is not signed. */
async function requireUnchanged({ database }: Services, id: string): Promise<void> {
  const found = await readState(database, id);
  if (found !== undefined && found.request.broken !== null)
    throw conflict('content_changed', 'the stored request was changed outside the gateway', 'verify the audit log');
}

/** A purge is no fault of the log. */
async function requireKept({ database }: Services, request: StoredRequest, [first]: readonly SealedEvent[]): Promise<void> {
  if ((first !== undefined && isFirst(first)) || !(await isPurged(database, request.createdAt))) return;
  throw refusal(
    'request.conflict',
    'audit events of this request were purged',
    'they are kept for retention.audit_ttl_days: get the evidence before',
  );
}

/** The events of the request once all of them have their place. `now` is the database's, as are their instants. */
async function sealedEvents(call: EvidenceCall, { database }: Services, id: string, now: number): Promise<SealedEvent[]> {
  for (const since = performance.now(); ; await outsideDatabaseWork(() => sleep(lookEveryMs, call.signal))) {
    const events = await listRequestEvents(database, id);
    const oldest = events.find(({ seq, event_hash: hash }) => seq === null || hash === null);
    if (oldest === undefined) return events as SealedEvent[];
    const waitedMs = performance.now() - since;
    // Of an event that a clock has dated ahead, only the wait tells.
    const ageMs = Math.max(waitedMs, now + waitedMs - Date.parse(oldest.created_at));
    if (ageMs > sealedWithinMs || call.signal.aborted)
      throw refusal(
        'request.conflict',
        'events of this request are not sealed yet',
        'a worker seals them within a second; try again',
      );
  }
}

async function signed(
  { body, compact }: { body: string; compact: string },
  id: string,
  { auditKeys, database }: Services,
): Promise<string> {
  const { signer } = await auditKeys(database);
  if (signer === null) throw refusal('service.unavailable', 'the current audit key cannot be opened');
  const text = evidenceText(id, evidenceTools.sha256(compact));
  const signature = { key_id: signer.keyId, signature: signer.sign(text) };
  return `{"evidence":${body},\n"signature":${JSON.stringify(signature)}}\n`;
}
