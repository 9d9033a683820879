import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import { createCrowded, createGivesWay, type GivesWay } from '../../worker/give-way.js';
import { createPublisher } from '../../worker/publisher.js';
import { createTestDatabase, openTestDatabase } from '../support/postgres.js';
import { storeRequest } from '../support/requests.js';
import { refusingTemporal } from './refusing-temporal.js';
import { log } from './support.js';

describe('a crowded machine', () => {
  /** Two cores, with the shares of user, nice and sys work in a span. */
  const machine = (priority: number) => {
    const times = { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 };
    const state = { at: 0, looks: 0 };
    const crowded = createCrowded({
      now: () => state.at,
      priority: () => priority,
      cpus() {
        state.looks += 1;
        return [{ times: { ...times } }, { times: { ...times } }];
      },
    });
    const pass = (ms: number, user: number, nice: number, sys: number) => {
      state.at += ms;
      times.user += ms * user;
      times.nice += ms * nice;
      times.sys += ms * sys;
      times.idle += ms * (1 - user - nice - sys);
      return crowded();
    };
    pass(0, 0, 0, 0);
    return Object.assign(pass, { looks: () => state.looks });
  };

  it('is one where work of normal priority takes nearly half of the processors', () => {
    const busy = machine(15);
    expect(busy(1000, 0.3, 0.1, 0.1)).toBe(false);
    expect(busy(1000, 0.6, 0.1, 0.1)).toBe(true);
    expect(busy(1000, 0.3, 0.1, 0.1)).toBe(false);
  });

  it('is not one that only this process, Temporal and the kernel keep busy', () => {
    expect(machine(15)(1000, 0.1, 0.6, 0.3)).toBe(false);
  });

  it('is none for a process of normal priority', () => {
    expect(machine(0)(1000, 1, 0, 0)).toBe(false);
  });

  it('is looked for by nobody of normal priority, and otherwise once in a span: a look holds up all other work', () => {
    const [normal, busy] = [machine(0), machine(15)];
    for (let n = 0; n < 20; n += 1) {
      normal(100, 1, 0, 0);
      busy(100, 1, 0, 0);
    }
    expect([normal.looks(), busy.looks()]).toEqual([0, 11]);
  });

  it('keeps its answer over a span that is too short to tell', () => {
    const busy = machine(15);
    expect(busy(1000, 0.9, 0, 0)).toBe(true);
    expect(busy(50, 0, 0, 0)).toBe(true);
    expect(busy(250, 0, 0, 0)).toBe(false);
  });

  it('can be read where this process runs', () => {
    expect(createCrowded()()).toBe(false);
  });
});

describe('news', () => {
  let stored: Awaited<ReturnType<typeof createTestDatabase>>;
  let database: Database;
  beforeAll(async () => {
    stored = await createTestDatabase();
    database = openTestDatabase(stored.url);
  });
  beforeEach(async () => {
    await database.query('delete from outbox');
  });
  afterAll(async () => {
    await database.close();
    await stored.drop();
  });

  const crowded = () => true;

  it('gives way on a crowded machine for at most 15 s', async () => {
    const givesWay = createGivesWay(database, 10_000, crowded);
    expect([await givesWay(0), await givesWay(14_000), await givesWay(15_000)]).toEqual([true, true, false]);
    expect(await createGivesWay(database, 10_000, () => false)(0)).toBe(false);
  });

  it('gives way only while no more than half of what creations may leave behind waits (OP-72)', async () => {
    const givesWay = createGivesWay(database, 4, crowded);
    for (let count = 0; count < 2; count += 1) await storeRequest(database);
    expect(await givesWay(0)).toBe(true);
    await storeRequest(database);
    expect(await givesWay(0)).toBe(false);
  });

  async function callsOfOneRun(temporal: ReturnType<typeof refusingTemporal>, givesWay: GivesWay): Promise<number> {
    const publisher = createPublisher({ database, temporal, taskQueue: 'requests', log, givesWay });
    await publisher.once();
    await publisher.finish?.();
    return temporal.calls;
  }

  it('that gives way is not sent, and tells how long it has waited', async () => {
    const id = await storeRequest(database);
    await database.query(`update outbox set due_at = clock_timestamp() - interval '3 seconds' where request_id = $1`, [id]);
    const waited: number[] = [];
    const givesWay = async (ms: number) => waited.push(ms) > 0;
    expect(await callsOfOneRun(refusingTemporal(), givesWay)).toBe(0);
    expect(waited).toEqual([expect.any(Number)]);
    expect(waited[0]).toBeGreaterThanOrEqual(3000);
    expect(await callsOfOneRun(refusingTemporal(), async () => false)).toBe(1);
  });

  it('does not give way after an outage of Temporal until all that waited is sent (OP-72)', async () => {
    await storeRequest(database);
    const temporal = refusingTemporal(true);
    const publisher = createPublisher({ database, temporal, taskQueue: 'requests', log, givesWay: async () => true });
    await publisher.once();
    await publisher.finish?.();
    expect(temporal.calls).toBe(1);
    await database.query('update outbox set due_at = clock_timestamp(), taken_until = null');
    await new Promise((resolve) => setTimeout(resolve, 150));
    await publisher.once();
    await publisher.finish?.();
    expect(temporal.calls).toBe(1);
  });
});
