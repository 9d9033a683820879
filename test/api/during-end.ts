import pg from 'pg';
import { expect } from 'vitest';
import { lockWaits } from '../support/active-statement.js';
import type { Answer } from '../support/api.js';

/** What ends the right of the user or the tokens of a subject, as the gateway writes it. */
export const suspension = `with held as (select id from users where id = $1 for update) update users u set status = 'suspended' from held where u.id = held.id`;
export const revocation = 'update tokens set revoked_at = clock_timestamp() where subject_id = $1';

/** Sends the call while another transaction ends the right to it, and commits that once the call waits for it. */
export async function duringEnd(
  databaseUrl: string,
  { end, subject }: { end: string; subject: string },
  send: () => Promise<Answer>,
): Promise<Answer> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('begin');
    await client.query(end, [subject]);
    const answer = send();
    await expect.poll(async () => (await client.query(lockWaits)).rows, { timeout: 20_000, interval: 20 }).toHaveLength(1);
    await client.query('commit');
    return await answer;
  } finally {
    await client.end();
  }
}
