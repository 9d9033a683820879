import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import { moveAllOf } from '../../db/move-many.js';
import { topic } from '../../db/notifications.js';
import { openDatabase } from '../../db/open-database.js';
import { systemActor } from '../../domain/audit/draft.js';
import { judge } from '../../domain/request/judge.js';
import { createTestDatabase, type TestDatabase, testMacs } from '../support/postgres.js';
import { claim, storeRequest } from '../support/requests.js';

let stored: TestDatabase;
let database: Database;
const woken = new Set<string>();
beforeAll(async () => {
  stored = await createTestDatabase();
  database = openDatabase({
    url: stored.url,
    poolMax: 4,
    connectTimeoutMs: 3000,
    statementTimeoutMs: 10_000,
    applicationName: 'test',
    macs: testMacs,
    onWake: (topics) => {
      for (const name of topics) woken.add(name);
    },
  });
});
afterAll(async () => {
  await database?.close();
  await stored?.drop();
});

it('a suspension wakes the agents that run something of the user, as a cancel does (IM-65, AG-82)', async () => {
  await claim(database, await storeRequest(database, { dispatched: true }));
  woken.clear();
  await database.transaction((tx) =>
    moveAllOf(tx, 'alice', (request, now) =>
      judge(request, { kind: 'owner_gone', actor: systemActor, cause: 'user_suspended' }, now),
    ),
  );
  expect(woken).toContain(topic.cancels('agent-1'));
});
