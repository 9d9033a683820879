import { expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import { nextNewsInMs } from '../../db/outbox.js';
import { createPublisher } from '../../worker/publisher.js';
import { createTestDatabase, openTestDatabase } from '../support/postgres.js';
import { storeRequest } from '../support/requests.js';
import { refusingTemporal } from './refusing-temporal.js';
import { log } from './support.js';

it('held news is due after an outage of Temporal also if the database fails at that moment (OP-72)', async () => {
  const stored = await createTestDatabase();
  const database = openTestDatabase(stored.url);
  await storeRequest(database);
  await database.query(`update outbox set error = 'away', due_at = clock_timestamp() + interval '1 minute'`);
  let failures = 1;
  const unsteady: Database = {
    ...database,
    query: (text, values) => {
      if (text.startsWith('update outbox set due_at') && failures-- > 0) throw new Error('the database is away');
      return database.query(text, values);
    },
  };
  const publisher = createPublisher({ database: unsteady, temporal: refusingTemporal(true), taskQueue: 'requests', log });
  await expect(publisher.once()).rejects.toThrow('the database is away');
  expect(await nextNewsInMs(database)).toBeGreaterThan(0);
  await publisher.once();
  await publisher.finish?.();
  expect(await database.query('select error from outbox')).toEqual([{ error: 'Error: refused' }]);
  await database.close();
  await stored.drop();
});
