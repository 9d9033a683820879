import type { Pair } from '../domain/caller.js';
import type { Queryable } from './client.js';
import { at } from './row-types.js';

/** The longest that reading and sending a snapshot takes: what ended later than so long before its receipt may be missing in it. */
const longestSyncSecs = 60;

/** A text of PostgreSQL may spell a name with escapes, and some servers take the capital letter with a dot for an i. */
const NAMES_TRACKING_TABLE = 'schema_m.grat.ons|u&"';

/**
 * Whether versions may have been taken back on a pair since its snapshot was read: a revert, a repair or a change of the tracking table runs, is lost, or has
 * ended since then. An `up` only adds to what the snapshot tells. Whatever was ever dispatched counts: one that was lost and resumed may be approved again, or
 * expired.
 */
export async function mayBeReverted(db: Queryable, { database, environment }: Pair, snapshotAt: number): Promise<boolean> {
  const [row] = await db.query<{ found: boolean }>(
    `select exists (select from requests where database = $1 and environment = $2 and fence > 0
       and (operation in ('migrate_down', 'migrate_repair') or operation = 'execute_dml' and detail collate "C" ~* $4)
       and (status in ('dispatched', 'running', 'execution_lost') or updated_at >= $3::timestamptz - interval '${longestSyncSecs} seconds')) as found`,
    [database, environment, at(snapshotAt), NAMES_TRACKING_TABLE],
  );
  return row?.found ?? true;
}
