import { eventually } from '../support/processes.js';
import type { System } from '../support/system.js';

/** Longer than any outage a test makes; the machine may be busy. */
export const waitMs = 90_000;

export const insertOf = (word: string, more = '') => `insert into entries (word) select '${word}'${more}`;

/** How often each word was written to the target. */
export async function written({ target }: System): Promise<Record<string, number>> {
  const { rows } = await target.query<{ word: string; count: number }>(
    'select word, count(*)::int as count from entries group by word order by word',
  );
  return Object.fromEntries(rows.map(({ word, count }) => [word, count]));
}

/** Requests with a marker that says done, each with how many it has. */
export async function marked({ target }: System): Promise<Record<string, number>> {
  const { rows } = await target.query<{ request_id: string; count: number }>(
    `select request_id, count(*)::int as count from svc.svc_execution_marker where state = 'done' group by request_id`,
  );
  return Object.fromEntries(rows.map(({ request_id, count }) => [request_id, count]));
}

export async function eventTypes({ database }: System, id: string): Promise<string[]> {
  const { rows } = await database.query<{ event_type: string }>(
    'select event_type from audit_events where request_id = $1 order by position',
    [id],
  );
  return rows.map(({ event_type }) => event_type);
}

export async function countNews({ database }: System): Promise<number> {
  const { rows } = await database.query<{ count: number }>('select count(*)::int as count from outbox');
  return rows[0]!.count;
}

/** Waits until Temporal has been told everything: as long as there is less and less to tell. */
export async function untilTold(system: System): Promise<void> {
  for (let left = await countNews(system); left > 0; )
    left = (
      await eventually(async () => {
        const now = await countNews(system);
        return now < left ? { now } : null;
      }, waitMs)
    ).now;
}

/**
 * Ends the lease of attempts that nobody has kept alive for `silentSecs`, instead of waiting for the 60 s of AG-37. A live agent
 * sends a heartbeat every 2 s.
 */
export async function endSilentLeases({ database }: System, silentSecs: number): Promise<void> {
  await database.query(
    `update executions set lease_expires_at = clock_timestamp() - interval '1 ms'
     where status = 'running' and lease_expires_at < clock_timestamp() + (lease_secs - $1::int) * interval '1 second'
       and lease_expires_at > clock_timestamp()`,
    [silentSecs],
  );
}
