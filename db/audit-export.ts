import { auditEventKeys, type SealedEvent } from '../domain/audit/event.js';
import { type AuditQuery, visible } from './audit-filters.js';
import { type LastPurge, lastPurge, logBegin } from './audit-last-purge.js';
import type { Queryable } from './client.js';
import { parameters } from './parameters.js';

/** Which sealed events an export has: those of one moment, as no event is ever sealed below the last. */
export interface ExportSpan {
  lastSeq: number;
  /** What was gone by then, if the record of the purge is right. */
  purgedSeq: number;
  purge: LastPurge | null;
  /** The last of all by the head; 0 if there is none. */
  headSeq: number;
}

const purged = `(select seq from (${logBegin}) log)`;

export async function readExportSpan(db: Queryable): Promise<ExportSpan> {
  const [span] = await db.query<ExportSpan>(
    `select coalesce((select max(seq) from audit_events where seq is not null), 0) as "lastSeq", ${purged} as "purgedSeq",
       coalesce((select seq from audit_head), 0) as "headSeq", (select to_jsonb(purge) from (${lastPurge}) purge) as purge`,
  );
  return span!;
}

/** Whatever the filters and the texts, a page reads no more events, and holds no more. */
const readPerPage = 10_000;
const heldPerPage = 250;

/**
 * The visible events of the span in order, page by page, each read in a moment of its own: a caller who reads slowly holds no snapshot and no
 * connection. Sealed events never change, so the pages together are what one snapshot would show, unless a purge overtakes the reader: then
 * it throws.
 */
export async function* exportPages(db: Queryable, span: ExportSpan, wanted: AuditQuery): AsyncGenerator<SealedEvent[]> {
  for (let after = span.purgedSeq; after < span.lastSeq; ) {
    const p = parameters();
    const to = Math.min(after + readPerPage, span.lastSeq);
    const events = await db.query<SealedEvent>(
      `select ${auditEventKeys.join(', ')} from audit_events where seq > ${p.add(after)} and seq <= ${p.add(to)}
       and ${visible(wanted, p)} order by seq limit ${heldPerPage}`,
      p.values,
    );
    const [now] = await db.query<{ seq: number }>(`select ${purged} as seq`);
    if (now!.seq > after) throw new Error('a purge has deleted events that the export had not read');
    after = events.length < heldPerPage ? to : events.at(-1)!.seq;
    if (events.length > 0) yield events;
    // As in the walk (db/audit-walk.ts).
    events.length = 0;
  }
}
