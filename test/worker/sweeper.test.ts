import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { extendLease } from '../../db/leases.js';
import type { Moved } from '../../db/move.js';
import { createRelayCleaner } from '../../worker/relay-cleaner.js';
import { createSweeper } from '../../worker/sweeper.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';
import { cancel, claim, storeRequest, whileRefused } from '../support/requests.js';
import { eventually, statusOf } from './support.js';

let stored: TestDatabase;
let database: ReturnType<typeof openTestDatabase>;
const moves: Moved[] = [];
beforeAll(async () => {
  stored = await createTestDatabase();
  database = openTestDatabase(stored.url);
});
afterAll(async () => {
  await database.close();
  await stored.drop();
});

// Leases of earlier tests would end meanwhile.
beforeEach(() => database.query(`update executions set status = 'failed' where status = 'running'`));

const sweep = () => createSweeper({ database, onMoved: (moved) => moves.push(moved) }).once();

describe('the sweeper', () => {
  it('ends a lease when it is over, not before, and audits it once (AG-51)', async () => {
    const id = await storeRequest(database, { dispatched: true });
    await claim(database, id, 400);
    await eventually(async () => {
      await Promise.all([sweep(), sweep(), sweep()]);
      return (await statusOf({ database }, id)) === 'execution_lost';
    });
    const events = await database.query<{ at: number; end: number }>(
      `select (extract(epoch from e.created_at::timestamptz) * 1000)::bigint as at, (extract(epoch from x.lease_expires_at) * 1000)::bigint as end
       from audit_events e join executions x on x.request_id = e.request_id where e.request_id = $1 and e.event_type = 'execution.lost'`,
      [id],
    );
    expect(events).toHaveLength(1);
    expect(events[0]!.at).toBeGreaterThanOrEqual(events[0]!.end);
    expect(moves.filter(({ after }) => after.id === id)).toHaveLength(1);
  });

  it('sleeps until the earliest lease is over', async () => {
    const sleepsMs = await eventually(async () => {
      const id = await storeRequest(database, { dispatched: true });
      await claim(database, id, 1000);
      const ms = await sweep();
      return (await statusOf({ database }, id)) === 'running' ? ms : null;
    });
    expect(sleepsMs).toBeLessThanOrEqual(1000);
  });

  it('leaves a lease alone that a heartbeat has extended', async () => {
    const id = await storeRequest(database, { dispatched: true });
    const execution = await claim(database, id, 60_000);
    const soon = `update executions set lease_expires_at = clock_timestamp() + interval '500 milliseconds' where id = $1`;
    await eventually(async () => {
      await database.query(soon, [execution]);
      return extendLease(database, execution, { id: 'agent-1', tokenId: randomUUID(), agentScopes: null });
    });
    await database.query('select pg_sleep(0.6)');
    await sweep();
    expect(await statusOf({ database }, id)).toBe('running');
  });

  it('cancels a read whose cancel was asked for before its agent was lost (AG-52)', async () => {
    const id = await storeRequest(database, { dispatched: true, operation: 'execute_select' });
    await claim(database, id, 50);
    await cancel(database, id);
    await eventually(async () => {
      await sweep();
      return (await statusOf({ database }, id)) === 'cancelled';
    });
  });

  it('ends the other leases although one cannot be ended, and reports that one (OP-80)', async () => {
    const [bad, good] = [await storeRequest(database, { dispatched: true }), await storeRequest(database, { dispatched: true })];
    await claim(database, bad, 1);
    await claim(database, good, 20);
    await database.query('select pg_sleep(0.05)');
    await whileRefused(database, bad, () => expect(sweep()).rejects.toThrow('this request cannot change'));
    expect(await statusOf({ database }, good)).toBe('execution_lost');
    expect(await statusOf({ database }, bad)).toBe('running');
    await eventually(async () => {
      await sweep();
      return (await statusOf({ database }, bad)) === 'execution_lost';
    });
  });

  it('waits at most 2 s when nothing runs', async () => {
    expect(await sweep()).toBe(2000);
  });

  it('skips a request that somebody else holds', async () => {
    const id = await storeRequest(database, { dispatched: true });
    await claim(database, id, 1);
    await database.transaction(async (tx) => {
      await tx.query('select 1 from requests where id = $1 for no key update', [id]);
      expect(await sweep()).toBeGreaterThan(0);
    });
    expect(await statusOf({ database }, id)).toBe('running');
    await sweep();
    expect(await statusOf({ database }, id)).toBe('execution_lost');
  });
});

it('removes relayed results when their time is over (RS-45)', async () => {
  await database.query(
    `insert into result_relay (execution_id, request_id, envelope, expires_at) values
       (gen_random_uuid(), gen_random_uuid(), 'over', clock_timestamp() - interval '1 second'),
       (gen_random_uuid(), gen_random_uuid(), 'kept', clock_timestamp() + interval '1 hour')`,
  );
  await createRelayCleaner({ database }).once();
  expect(await database.query('select envelope from result_relay')).toEqual([{ envelope: Buffer.from('kept') }]);
});
