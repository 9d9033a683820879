import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Run } from '../../agent/drivers/driver.js';
import { createPostgresPool } from '../../agent/drivers/postgres/pool.js';
import { beginWrite } from '../../agent/drivers/postgres/write-transaction.js';
import { untilActive } from '../support/active-statement.js';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';

let database: TestDatabase;
let target: pg.Client;
let gateways: FakeGateway[];
let agents: TestAgent[];

beforeAll(async () => {
  ({ database, client: target } = await connectEmptyDatabase());
  gateways = [await startFakeGateway(), await startFakeGateway()];
  agents = gateways.map((gateway) => startTestAgent({ gateway, url: database.url, head: 'fence_wait_secs = 1' }));
  await Promise.all(gateways.map((gateway) => gateway.nextPoll()));
  await target.query(`
    create table notes (id int);
    create table freeing (id int);
    create sequence counted;
    create function let_go() returns trigger language plpgsql as $$ begin perform pg_advisory_unlock_all(); return new; end $$;
    create trigger let_go before insert on freeing for each row execute function let_go();
  `);
});
beforeEach(() => target.query('truncate notes'));
afterAll(async () => {
  for (const agent of agents) agent.stop();
  await Promise.all(agents.map((agent) => agent.exit));
  await Promise.all(gateways.map((gateway) => gateway.close()));
  await target.end();
  await database.drop();
});

describe('a write that lets all locks of its session go', () => {
  it.each([
    ['by its text', 'select pg_advisory_unlock_all()'],
    ['by a trigger', 'insert into freeing values (1)'],
  ])('AP-53: still excludes the next attempt until it has committed: %s', async (_, freeing) => {
    await target.query('select pg_advisory_lock(1)');
    const requestId = randomUUID();
    const detail = `${freeing}; insert into notes values (1); select pg_advisory_xact_lock(1)`;
    const first = gateways[0]!.offer({ operation: 'execute_dml', detail, requestId });
    await untilActive(target, 'pg_advisory_xact_lock(1)');
    const second = gateways[1]!.offer({
      operation: 'execute_dml',
      detail: 'insert into notes values (2)',
      requestId,
      fence: 2,
      unresolvedFences: [1],
    });
    expect(await second.result).toMatchObject({
      success: false,
      outcome: 'unknown',
      error_message: 'an earlier attempt is still running in the database',
    });
    await target.query('select pg_advisory_unlock(1)');
    expect(await first.result).toMatchObject({ success: true, outcome: 'committed' });
    expect((await target.query('select id from notes')).rows).toEqual([{ id: 1 }]);
  });

  it('AP-53: begins no transaction under a lock that another session holds', async () => {
    await target.query('select pg_advisory_lock(2)');
    const pool = createPostgresPool({ url: database.url, readOnly: false, max: 1, maxRowBytes: 1024, connectTimeoutMs: 5000 });
    const session = await pool.acquire();
    const begun = session!.exchange([
      ...beginWrite({ timeoutSecs: 5 } as Run, [1n, 2n]),
      { kind: 'run', text: "select nextval('counted')" },
    ]);
    await expect(begun).rejects.toThrow('another session holds the lock of this write');
    expect((await target.query('select is_called from counted')).rows).toEqual([{ is_called: false }]);
    await session!.release();
    await pool.close();
  });
});
