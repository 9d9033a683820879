import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sha256Hex } from '../../crypto/hash.js';
import type { Database } from '../../db/client.js';
import { findExecutionResult } from '../../db/results.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';
import { claim, finish, storeRequest } from '../support/requests.js';
import { recordResult } from '../support/stored-result.js';

let test: TestDatabase;
let database: Database;
beforeAll(async () => {
  test = await createTestDatabase();
  database = openTestDatabase(test.url, 2);
});
afterAll(async () => {
  await database?.close();
  await test?.drop();
});

async function run(): Promise<{ requestId: string; executionId: string }> {
  const requestId = await storeRequest(database, { dispatched: true });
  const executionId = await claim(database, requestId);
  await finish(database, requestId, executionId);
  return { requestId, executionId };
}

const keep = (ids: { requestId: string; executionId: string }, data: Uint8Array) =>
  database.transaction(async (tx) => {
    const facts = { length: data.length, sha256: sha256Hex(data), validJson: false, retentionDays: 30 };
    await recordResult(tx, ids.requestId, { executionId: ids.executionId, place: { data }, ...facts }, Date.now());
  });

it.each([
  ['none', Buffer.alloc(0)],
  ['zeros', Buffer.alloc(10)],
  ['all there are', Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))],
  ['64 KiB', Buffer.alloc(65_536, 'é')],
])('bytes come out of a row as they went in: %s (RS-63)', async (_what, data) => {
  const ids = await run();
  await keep(ids, data);
  const found = await findExecutionResult(database, ids.requestId, null);
  expect(found).toMatchObject({ backend: 'database', object_key: null, content_length: data.length });
  expect(Buffer.compare(found!.data!, data)).toBe(0);
});

it.each([
  ['a key beside the bytes', `object_key = 'x'`],
  ['neither key nor bytes', 'data = null'],
  ['the name of a store beside the bytes', `backend = 'local'`],
  ['the name of no store beside a key', `object_key = 'x', data = null`],
])('a row cannot have %s', async (_what, change) => {
  const ids = await run();
  await keep(ids, Buffer.from('x'));
  const changed = database.query(`update results set ${change} where execution_id = $1`, [ids.executionId]);
  await expect(changed).rejects.toThrow('results_place');
});

it('an upgrade leaves the records of objects as they are', async () => {
  const ids = await run();
  await database.transaction(async (tx) => {
    const facts = { length: 1, sha256: sha256Hex('x'), validJson: false, retentionDays: 30 };
    await recordResult(
      tx,
      ids.requestId,
      { executionId: ids.executionId, place: { backend: 'local', key: 'a/b' }, ...facts },
      Date.now(),
    );
  });
  await database.query('delete from results where object_key is null');
  await database.query(
    'alter table results drop constraint results_place, drop column data, alter column object_key set not null',
  );
  const before = await database.query('select * from results');
  expect(before).toHaveLength(1);
  await database.pool.query(readFileSync(new URL('../../db/migrations/17_small_results.sql', import.meta.url), 'utf8'));
  expect(await database.query('select * from results where data is null')).toEqual(before.map((row) => ({ ...row, data: null })));
  expect(await findExecutionResult(database, ids.requestId, null)).toMatchObject({
    backend: 'local',
    object_key: 'a/b',
    data: null,
  });
});
