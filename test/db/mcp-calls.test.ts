import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import { beginCall, endCall, endPlainCall, maxStreams, signsOfLife } from '../../db/mcp-calls.js';
import { readStream } from '../../db/mcp-streams.js';
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

const interruption = { interrupted: (rpcId: string) => `{"interrupted":${rpcId}}`, buffer: 100 };

async function session(): Promise<string> {
  const id = randomUUID();
  await database.query(
    `insert into mcp_sessions (id, subject_id, protocol_version, client, elicits) values ($1, 'alice', '2025-06-18', 'c', false)`,
    [id],
  );
  return id;
}

const begin = (sessionId: string, rpcId: string, streams: boolean, id: string = randomUUID()) =>
  beginCall(database, { id, sessionId, rpcId, streams, rights: 'all' }, interruption);

const rows = (sessionId: string) =>
  database.query<{ id: string; open: boolean }>('select id, ended_at is null as open from mcp_calls where session_id = $1', [
    sessionId,
  ]);

async function endedStream(sessionId: string, { secsAgo, bytes }: { secsAgo: number; bytes: number }): Promise<string> {
  const id = randomUUID();
  await database.query(
    `insert into mcp_calls (id, session_id, rpc_id, streams, bytes, ended_at)
     values ($1, $2, $3, true, $4, clock_timestamp() - $5::int * interval '1 second')`,
    [id, sessionId, JSON.stringify(id), bytes, secsAgo],
  );
  return id;
}

describe('calls of a session', () => {
  it('of many that begin at once, one has an id, and at most ten are streams (MC-22)', async () => {
    const id = await session();
    const same = await Promise.all(Array.from({ length: 20 }, (_, n) => begin(id, '1', n % 2 === 0)));
    expect(same.filter((one) => one === 'begun')).toHaveLength(1);
    expect(same.filter((one) => one === 'in_flight')).toHaveLength(19);
    const other = await session();
    const streams = await Promise.all(Array.from({ length: 30 }, (_, n) => begin(other, String(n), true)));
    expect(streams.filter((one) => one === 'begun')).toHaveLength(maxStreams);
    expect(streams.filter((one) => one === 'too_many')).toHaveLength(30 - maxStreams);
    expect(await begin(other, '100', false)).toBe('begun');
    expect(await begin(randomUUID(), '1', true)).toBe('gone');
    expect(await begin(randomUUID(), '1', false)).toBe('gone');
  });

  it('begin in the place of one whose process died, which is answered (MC-24)', async () => {
    const of = await session();
    const [stream, plain] = [randomUUID(), randomUUID()];
    await begin(of, '1', true, stream);
    await begin(of, '2', false, plain);
    await database.query(`update mcp_calls set alive_at = clock_timestamp() - interval '16 s' where session_id = $1`, [of]);
    expect(await begin(of, '2', false)).toBe('begun');
    expect(await begin(of, '1', true)).toBe('begun');
    expect((await readStream(database, { id: stream, sessionId: of }, 0))?.events).toEqual([
      { seq: 1, message: '{"interrupted":1}' },
    ]);
  });

  it('leave nothing behind where they have no stream, and end once', async () => {
    const of = await session();
    const id = randomUUID();
    await begin(of, '1', false, id);
    const ends = await Promise.all(Array.from({ length: 4 }, () => endPlainCall(database, id)));
    expect(ends.toSorted()).toEqual([null, null, null, true]);
    expect(await rows(of)).toEqual([]);
    const cancelled = randomUUID();
    await begin(of, '1', false, cancelled);
    await database.query('update mcp_calls set ended_at = clock_timestamp() where id = $1', [cancelled]);
    expect(await endPlainCall(database, cancelled)).toBe(false);
    expect(await rows(of)).toEqual([]);
  });

  it('are kept while they are at most 50, and with the newest at most 8 MiB (MC-23)', async () => {
    const of = await session();
    const kept: string[] = [];
    for (let n = 0; n < 60; n += 1) kept.push(await endedStream(of, { secsAgo: 60 - n, bytes: 10 }));
    const id = randomUUID();
    await begin(of, '1', true, id);
    await endCall(database, id, { response: 'x'.repeat(1000), buffer: 100 });
    expect((await rows(of)).map((row) => row.id).toSorted()).toEqual([...kept.slice(11), id].toSorted());

    const large = await session();
    await endedStream(large, { secsAgo: 3, bytes: 10 });
    await endedStream(large, { secsAgo: 2, bytes: 8 * 1024 * 1024 - 500 });
    const fits = await endedStream(large, { secsAgo: 1, bytes: 400 });
    const open = randomUUID();
    await begin(large, '2', true, open);
    const newest = randomUUID();
    await begin(large, '1', true, newest);
    await endCall(database, newest, { response: 'x'.repeat(200), buffer: 100 });
    expect((await rows(large)).map((row) => row.id).toSorted()).toEqual([fits, open, newest].toSorted());
  });
});

describe('signs of life (MC-24)', () => {
  const silent = async (...ids: string[]) => {
    await database.query(`update mcp_calls set alive_at = clock_timestamp() - interval '1 hour' where id = any($1)`, [ids]);
  };
  const isSilent = async (id: string) => {
    const [row] = await database.query<{ silent: boolean }>(
      `select alive_at < clock_timestamp() - interval '30 minutes' as silent from mcp_calls where id = $1`,
      [id],
    );
    return row?.silent;
  };

  it('are written for many calls at once, and tell which have ended or are gone', async () => {
    const [first, second, ended, other, gone] = Array.from({ length: 5 }, () => randomUUID());
    const [one, two] = [await session(), await session()];
    for (const [n, id] of [first!, ended!, other!].entries()) await begin(one, String(n), true, id);
    await begin(two, '1', false, second);
    await endCall(database, ended!, { response: '{}', buffer: 10 });
    await silent(first!, second!, ended!, other!);
    expect((await signsOfLife(database, [first!, second!, ended!, gone!])).sort()).toEqual([first, second].sort());
    expect(await Promise.all([first!, second!, ended!, other!].map(isSilent))).toEqual([false, false, true, true]);
    expect(await signsOfLife(database, [])).toEqual([]);
  });

  it('do not wait for a call that another statement holds, and do not take it for ended', async () => {
    const [held, free] = [randomUUID(), randomUUID()];
    const id = await session();
    for (const [n, call] of [held, free].entries()) await begin(id, String(n), true, call);
    await silent(held, free);
    await database.transaction(async (tx) => {
      await tx.query('update mcp_calls set bytes = bytes + 1 where id = $1', [held]);
      expect((await signsOfLife(database, [held, free])).sort()).toEqual([held, free].sort());
    });
    expect(await Promise.all([held, free].map(isSilent))).toEqual([true, false]);
  });
});
