import { expect, it } from 'vitest';
import { lockCoded } from '../../db/request-state.js';
import { lockWaits } from '../support/active-statement.js';
import { createTestDatabase, openTestDatabase } from '../support/postgres.js';
import { storeRequest } from '../support/requests.js';

it('reads a request together with what the move that it waited for has written beside it (HD-50)', async () => {
  const test = await createTestDatabase();
  const database = openTestDatabase(test.url, 4);
  await database.query(`insert into users (id, source) values ('alice', 'api'), ('bob', 'api')`);
  const id = await storeRequest(database);
  let coded: ReturnType<typeof readCoded> | undefined;
  const readCoded = () => database.transaction((tx) => lockCoded(tx, null, 10, false));
  await database.transaction(async (tx) => {
    await tx.query('select 1 from requests where id = $1 for no key update', [id]);
    coded = readCoded();
    await expect.poll(() => database.query(lockWaits)).toHaveLength(1);
    await tx.query(
      `insert into decisions (id, request_id, step, user_id, action, selector, decided_at) values (gen_random_uuid(), $1, 0, 'bob', 'approve', 'user:bob', now())`,
      [id],
    );
  });
  const [found] = (await coded) ?? [];
  expect([found?.decisionIds.length, found?.codes.decisions]).toEqual([1, [null]]);
  await database.close();
  await test.drop();
});
