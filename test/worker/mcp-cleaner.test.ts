import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Config } from '../../config/types.js';
import type { Database } from '../../db/client.js';
import { createMcpCleaner } from '../../worker/mcp-cleaner.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';

let stored: TestDatabase;
let database: Database;
beforeAll(async () => {
  stored = await createTestDatabase();
  database = openTestDatabase(stored.url);
});
afterAll(async () => {
  await database.close();
  await stored.drop();
});

const config = () => ({ mcp: { sessionTtlSecs: 3600, replayBufferSize: 100 } }) as Config;

async function session(usedSecsAgo: number): Promise<string> {
  const id = randomUUID();
  await database.query(
    `insert into mcp_sessions (id, subject_id, protocol_version, client, elicits, last_used_at)
     values ($1, 'alice', '2025-06-18', 'c', false, clock_timestamp() - $2::int * interval '1 second')`,
    [id, usedSecsAgo],
  );
  return id;
}

async function call(
  of: string,
  { aliveSecsAgo, endedSecsAgo }: { aliveSecsAgo: number; endedSecsAgo: number | null },
): Promise<string> {
  const id = randomUUID();
  await database.query(
    `insert into mcp_calls (id, session_id, rpc_id, streams, alive_at, ended_at) values ($1, $2, $3, true,
       clock_timestamp() - $4::int * interval '1 second', clock_timestamp() - $5::int * interval '1 second')`,
    [id, of, JSON.stringify(id), aliveSecsAgo, endedSecsAgo],
  );
  return id;
}

it('answers calls whose server died, and forgets old streams and expired sessions (MC-21, MC-23, MC-24)', async () => {
  const living = await session(10);
  const expired = await session(3700);
  const dead = await call(living, { aliveSecsAgo: 16, endedSecsAgo: null });
  const alive = await call(living, { aliveSecsAgo: 5, endedSecsAgo: null });
  const recent = await call(living, { aliveSecsAgo: 200, endedSecsAgo: 200 });
  await call(living, { aliveSecsAgo: 400, endedSecsAgo: 301 });
  await call(expired, { aliveSecsAgo: 5, endedSecsAgo: null });
  await createMcpCleaner({ database, config }).once();

  const calls = await database.query<{ id: string; open: boolean }>('select id, ended_at is null as open from mcp_calls');
  expect(new Map(calls.map(({ id, open }) => [id, open]))).toEqual(
    new Map([
      [dead, false],
      [alive, true],
      [recent, false],
    ]),
  );
  const events = await database.query<{ call_id: string; message: string }>('select call_id, message from mcp_events');
  expect(events.map((event) => [event.call_id, JSON.parse(event.message).error.code])).toEqual([[dead, -32603]]);
  expect(await database.query('select id from mcp_sessions')).toEqual([{ id: living }]);
});
