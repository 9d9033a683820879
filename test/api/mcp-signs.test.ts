import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type CallSigns, createCallSigns } from '../../api/mcp/signs.js';
import type { Database } from '../../db/client.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';

let stored: TestDatabase;
let database: Database;
let signs: CallSigns;
beforeEach(async () => {
  stored = await createTestDatabase();
  database = openTestDatabase(stored.url);
  signs = createCallSigns({ database, log: pino({ level: 'silent' }) });
});
afterEach(async () => {
  await signs.close();
  await database.close();
  await stored.drop();
});

/** Calls of one session that have said nothing for a minute. */
async function silentCalls(count: number): Promise<string[]> {
  const [session, ids] = [randomUUID(), Array.from({ length: count }, () => randomUUID())];
  await database.query(
    `insert into mcp_sessions (id, subject_id, protocol_version, client, elicits) values ($1, 'alice', '2025-06-18', 'c', false)`,
    [session],
  );
  await database.query(
    `insert into mcp_calls (id, session_id, rpc_id, streams, alive_at)
     select id, $1, id::text, false, clock_timestamp() - interval '1 minute' from unnest($2::uuid[]) as id`,
    [session, ids],
  );
  return ids;
}

const silent = async () =>
  (await database.query<{ id: string }>(`select id from mcp_calls where alive_at < clock_timestamp() - interval '40 s'`)).map(
    ({ id }) => id,
  );

describe('signs of life of the calls of a process (MC-24)', () => {
  it('take one statement for a thousand calls, tell who has ended, and end with the call', async () => {
    const ids = await silentCalls(2500);
    const ended: string[] = [];
    const forget = ids.map((id) => signs.keep(id, () => ended.push(id)));
    const [gone, done] = [ids[7]!, ids[2001]!];
    await database.query('delete from mcp_calls where id = $1', [gone]);
    forget[2001]!();
    const query = vi.spyOn(database, 'query');
    await expect.poll(() => ended).toEqual([gone]);
    await expect.poll(silent).toEqual([done]);
    const written = query.mock.calls.filter(([text]) => text.includes('set alive_at'));
    expect(written.map(([, values]) => (values as string[][])[0]!.length)).toEqual([1000, 1000, 499]);
  });

  it('go on after a round that the database refused', async () => {
    const [id] = await silentCalls(1);
    const told = vi.fn();
    signs.keep(id!, told);
    const query = vi.spyOn(database, 'query').mockRejectedValueOnce(new Error('the database is gone'));
    await expect.poll(() => query.mock.calls.length).toBe(1);
    query.mockRestore();
    await expect.poll(silent).toEqual([]);
    expect(told).not.toHaveBeenCalled();
  });
});
