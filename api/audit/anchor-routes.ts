import { z } from 'zod';
import { openSignedCheckpoint } from '../../crypto/signed-note.js';
import { listAnchors, type StoredAnchor } from '../../db/audit-anchors.js';
import { iso, isoOrNull } from '../../db/row-types.js';
import { requireEverywhere } from '../../domain/lacking.js';
import type { AuditKeySet } from '../../runtime/audit-keys.js';
import { count, flag, hex, instant, list, named, pageFields, text } from '../http/fields.js';
import { limitParam, offsetParam } from '../http/query.js';
import { type Route, route } from '../http/route.js';

const anchor = named('AuditAnchor', 'A checkpoint that is given to an anchor outside.', {
  seq: count('The place of the checkpoint in the log.'),
  event_hash: hex(64, 'The hash of the checkpoint.'),
  note: text('What the anchor is given: size and root of the log as a signed note.'),
  genuine: flag('False: do not believe this row, it is not what the gateway signed for this checkpoint.'),
  state: z
    .enum(['waiting', 'anchored', 'covered'])
    .meta({ description: 'Whether the anchor has it. `covered`: it has a later one, which proves this one too.' }),
  created_at: instant('When the checkpoint was made.'),
  attempts: count('How often it was tried.'),
  last_error: text('What went wrong last.').nullable(),
  covered_by: count('The place of the later checkpoint that covers it.').nullable(),
  answer: text('The answer of the anchor in base64. The anchor itself tells whether it gave it.', { format: 'byte' }).nullable(),
  answer_truncated: flag('True if the answer was longer than what is kept.'),
  answered_at: instant('When the anchor answered.').nullable(),
});

const anchors = named('AuditAnchorList', 'A page of checkpoints, newest first.', {
  anchors: list(anchor, 'The checkpoints of this page.'),
  ...pageFields,
});

/** What the anchor outside was given, and what it answered (audit.md section 10). */
export const anchorRoutes: Route[] = [
  route({
    operationId: 'listAuditAnchors',
    method: 'get',
    path: '/api/audit/anchors',
    summary: 'List the checkpoints that an anchor outside is given, with its answers',
    tag: 'audit',
    access: 'audit.read',
    everywhere: true,
    // An answer has up to 64 KiB.
    query: z.object({ limit: limitParam(10, 50), offset: offsetParam }),
    status: 200,
    response: anchors,
    errors: ['validation.failed', 'auth.forbidden'],
    async handle({ caller, query: { limit, offset } }, { database, auditKeys }) {
      requireEverywhere(caller, 'audit.read');
      const stored = await listAnchors(database, { seq: null, limit, offset });
      const { trusted } = await auditKeys(database);
      return { anchors: stored.map((one) => shown(one, trusted)), limit, offset };
    },
  }),
];

const shown = (stored: StoredAnchor, trusted: AuditKeySet['trusted']): z.input<typeof anchor> => ({
  seq: stored.seq,
  event_hash: stored.eventHash,
  note: stored.note,
  genuine: stored.isOfEvent && openSignedCheckpoint(stored.note, trusted.values())?.size === stored.seq,
  state: stored.state,
  created_at: iso(stored.createdAt),
  attempts: stored.attempts,
  last_error: stored.lastError,
  covered_by: stored.coveredBy,
  answer: stored.answer === null ? null : Buffer.from(stored.answer).toString('base64'),
  answer_truncated: stored.answerTruncated,
  answered_at: isoOrNull(stored.answeredAt),
});
