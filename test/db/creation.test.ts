import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import { creationInstant, insertAtOnce, longestBeforeMs } from '../../db/creation.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';
import { creationOf } from '../support/requests.js';

let test: TestDatabase;
let database: Database;
beforeAll(async () => {
  test = await createTestDatabase();
  database = openTestDatabase(test.url, 4);
  await database.query(`insert into users (id, source) values ('alice', 'api')`);
});
beforeEach(() => database.query(`update users set status = 'active'`));
afterAll(async () => {
  await database?.close();
  await test?.drop();
});

const stored = async (id: string) => {
  const [row] = await database.query<Record<string, number>>(
    `select (select count(*) from requests where id = $1) as requests, (select count(*) from audit_events where request_id = $1) as events,
       (select count(*) from outbox where request_id = $1) as news, (select count(*) from request_contexts where request_id = $1) as contexts`,
    [id],
  );
  return row;
};
const nothing = { requests: 0, events: 0, news: 0, contexts: 0 };

it('one statement stores request, audit event, news and context (RQ-27)', async () => {
  const request = creationOf({});
  const now = await creationInstant(database);
  expect(await insertAtOnce(database, request, now)).toMatchObject({ id: request.id, status: 'pending', createdAt: now });
  expect(await stored(request.id)).toEqual({ requests: 1, events: 1, news: 1, contexts: 1 });
});

it('writes nothing at an instant that lies further before its transaction than lists allow for', async () => {
  const request = creationOf({});
  const now = (await creationInstant(database)) - longestBeforeMs;
  expect(await insertAtOnce(database, request, now)).toBeUndefined();
  expect(await stored(request.id)).toEqual(nothing);
});

it('writes nothing for a requester who is not active (IM-65)', async () => {
  const request = creationOf({});
  await database.query(`update users set status = 'suspended'`);
  expect(await insertAtOnce(database, request, await creationInstant(database))).toBeUndefined();
  expect(await stored(request.id)).toEqual(nothing);
});

it('writes nothing while the database uses another secret key (HD-50)', async () => {
  const request = creationOf({});
  const now = await creationInstant(database);
  await database.query(`insert into secret_key (key_check) values ('another')`);
  expect(await insertAtOnce(database, request, now)).toBeUndefined();
  expect(await stored(request.id)).toEqual(nothing);
  await database.query('delete from secret_key');
});

it('leaves a mutating migration, which needs the lock of its pair, to a transaction', async () => {
  const request = creationOf({ operation: 'migrate_up' });
  expect(await insertAtOnce(database, request, await creationInstant(database))).toBeUndefined();
  expect(await stored(request.id)).toEqual(nothing);
});
