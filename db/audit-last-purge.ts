import type { PurgeStatement } from '../domain/audit/signed-texts.js';

/** The record of the purge that ended where the log begins. */
export interface LastPurge extends PurgeStatement {
  lastPurgedSeq: number;
  keyId: string;
  signature: string;
}

/** SQL of the `seq` before the first event that is left, 0 if none was purged; `before` is the hash of that event. */
export const logBegin = `select coalesce(first.seq - 1, head.seq, 0) as seq, case when first.seq is null then head.event_hash else first.prev_hash end as before
  from (select) always left join audit_head head on true
  left join (select seq, prev_hash from audit_events where seq is not null order by seq limit 1) first on true`;

/**
 * SQL of that record, if there is one. Whoever writes the database can insert others, about any events: they count for nothing. This one counts only if
 * a trusted key signed it.
 */
export const lastPurge = `select log.seq as "lastPurgedSeq", last_purged_hash as "lastPurgedHash", purged_before as "purgedBefore",
    retained_count as "retainedCount", key_id as "keyId", signature
  from (${logBegin}) log join audit_purges on last_purged_hash = log.before`;
