import { z } from 'zod';
import { openSignedCheckpoint } from '../../crypto/signed-note.js';
import { listAnchors, type StoredAnchor } from '../../db/audit-anchors.js';
import { iso, isoOrNull } from '../../db/row-types.js';
import { everywhere } from '../../domain/lacking.js';
import { can } from '../../domain/permissions.js';
import type { AuditKeySet } from '../../runtime/audit-keys.js';
import { limitParam, offsetParam } from '../http/query.js';
import { type Route, route } from '../http/route.js';

const text = z.string();
const whole = z.number().int();

const anchor = z.object({
  seq: whole,
  event_hash: text,
  note: text,
  genuine: z
    .boolean()
    .meta({ description: 'false: do not believe this row, it is not what the gateway signed for this checkpoint' }),
  state: z.enum(['waiting', 'anchored', 'covered']),
  created_at: text,
  attempts: whole,
  last_error: text.nullable(),
  covered_by: whole.nullable(),
  answer: text.nullable().meta({ description: 'base64; the anchor itself tells whether it gave it' }),
  answer_truncated: z.boolean(),
  answered_at: text.nullable(),
});

/** What the anchor outside was given, and what it answered (section 10 of audit.md). */
export const anchorRoutes: Route[] = [
  route({
    operationId: 'listAuditAnchors',
    method: 'get',
    path: '/api/audit/anchors',
    summary: 'Checkpoints that the anchor outside was or is to be given, newest first, with its answers',
    tag: 'audit',
    access: 'audit.read',
    // An answer has up to 64 KiB.
    query: z.object({ limit: limitParam(10, 50), offset: offsetParam }),
    status: 200,
    response: z.object({ anchors: z.array(anchor), limit: whole, offset: whole }),
    errors: ['validation.failed', 'auth.forbidden'],
    async handle({ caller, query: { limit, offset } }, { database, auditKeys }) {
      if (!can(caller, 'audit.read', 'everywhere')) throw everywhere('audit.read');
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
