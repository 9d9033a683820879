import type { Queryable, Transaction } from './client.js';

/** The literal must equal that of the index `requests_open_of_owner`. */
const open = `('pending', 'approved', 'dispatched', 'running', 'execution_lost')`;

/** Which of a user's open requests, in order of id. */
export interface OpenPart {
  /** The first one is behind this id. */
  after?: string;
  limit?: number;
  /** Leaves out those that run and whose cancel was asked for already. */
  unasked?: boolean;
}

/** Locks a user's open requests in order of id (architecture section 3); `bytes` is the length of each text. */
export function lockOpenOf(
  tx: Transaction,
  owner: string,
  { after, limit, unasked = false }: OpenPart = {},
): Promise<{ id: string; bytes: number }[]> {
  return tx.query(
    `select id, octet_length(detail) as bytes from requests
     where requester = $1 and status in ${open}
       and ($2::uuid is null or id > $2) and not ($3 and status = 'running' and cancel_requested_at is not null) order by id limit $4 for no key update`,
    [owner, after ?? null, unasked, limit ?? null],
  );
}

/** A user whose suspension or deletion is over, and who has open requests all the same whose cancel nobody asked for (IM-65). */
export async function findGoneOwner(
  db: Queryable,
  overSecs: number,
): Promise<{ id: string; status: 'suspended' | 'deleted' } | undefined> {
  const [row] = await db.query<{ id: string; status: 'suspended' | 'deleted' }>(
    `select id, status from users u where status <> 'active' and updated_at < clock_timestamp() - $1 * interval '1 second' and exists (
       select from requests where requester = u.id and status in ${open} and (status <> 'running' or cancel_requested_at is null)) order by id limit 1`,
    [overSecs],
  );
  return row;
}
