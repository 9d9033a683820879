import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { type System, startSystem } from '../support/system.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { temporalAddress } from '../support/temporal.js';
import { type PatientCalls, patientCalls } from './calls.js';
import { endSilentLeases, eventTypes, insertOf, marked, untilTold, waitMs, written } from './looks.js';

let stored: TestDatabase;
let proxy: TcpProxy;
let system: System;
let calls: PatientCalls;
beforeAll(async () => {
  stored = await createTestDatabase();
  system = await startSystem({
    databaseUrl: stored.url,
    temporalAddress: await temporalAddress(),
    servers: 2,
    workers: 2,
    through: {
      server: async (url) => {
        proxy = await startTcpProxy(url);
        return proxy.url;
      },
    },
  });
  calls = patientCalls(system);
}, 240_000);
afterAll(async () => {
  await system?.close();
  await proxy?.close();
  await stored?.drop();
});

const callers = 4;

/** What each caller submits in turn: reads, short and slow writes, and writes that somebody approves. */
const kinds = [
  { environment: 'staging', detail: () => 'select 1 as one', writes: false },
  // An object in the result store (RS-63).
  { environment: 'staging', detail: () => "select repeat('x', 100000) as filler", writes: false },
  { environment: 'staging', detail: (word: string) => insertOf(word), writes: true },
  { environment: 'staging', detail: (word: string) => insertOf(word, ' from pg_sleep(0.3)'), writes: true },
  { environment: 'production', detail: (word: string) => insertOf(word, ' from pg_sleep(0.1)'), writes: true },
];

interface Played {
  id: string;
  word: string;
  writes: boolean;
}

/** Follows one from submission to result, whatever is killed meanwhile. */
async function play(word: string, { environment, detail, writes }: (typeof kinds)[number]): Promise<Played> {
  const id = await calls.create(word, environment, detail(word));
  if (environment === 'production') await calls.decide(id);
  await calls.untilExecuted(id);
  return { id, word, writes };
}

async function countRequests(): Promise<number> {
  const { rows } = await system.database.query<{ count: number }>('select count(*)::int as count from requests');
  return rows[0]!.count;
}

describe('kill -9 in the middle of a stream of requests (OP-I1, AG-I3)', () => {
  it('loses nothing that was acknowledged and writes nothing twice', async () => {
    const before = { written: await written(system), marked: await marked(system), requests: await countRequests() };
    const played: Played[] = [];
    let isKilling = true;
    const leases = setInterval(() => void endSilentLeases(system, 12).catch(() => {}), 500);
    const killing = killInTurn(played).finally(() => {
      isKilling = false;
    });
    const playUntilKilled = async (caller: number) => {
      for (let n = 0; isKilling; n += 1) played.push(await play(`c${caller}n${n}`, kinds[n % kinds.length]!));
    };
    const all = [killing, ...Array.from({ length: callers }, (_, n) => playUntilKilled(n))];
    await Promise.allSettled(all);
    clearInterval(leases);
    await Promise.all(all);

    const writes = played.filter((one) => one.writes);
    expect(await written(system)).toEqual({ ...before.written, ...Object.fromEntries(writes.map(({ word }) => [word, 1])) });
    expect(await marked(system)).toEqual({ ...before.marked, ...Object.fromEntries(writes.map(({ id }) => [id, 1])) });
    for (const { id } of played) {
      const types = await eventTypes(system, id);
      const count = (...wanted: string[]) => types.filter((type) => wanted.includes(type)).length;
      const creations = count('request.created', 'request.auto_approved');
      expect([await calls.statusOf(id), creations, count('execution.completed')]).toEqual(['executed', 1, 1]);
      expect((await calls.result(id)).success).toBe(true);
    }
    const kept = await system.database.query('select distinct backend from results order by backend');
    expect(kept.rows).toEqual([{ backend: 'database' }, { backend: 'local' }]);
    expect(await countRequests()).toBe(before.requests + played.length);
  }, 300_000);

  it('tells every workflow its end afterwards', async () => {
    await untilTold(system);
    const { rows } = await system.database.query<{ id: string }>('select id from requests');
    await eventually(async () => {
      const workflows = await Promise.all(rows.map(({ id }) => calls.workflow(id)));
      return workflows.every((workflow) => workflow.in_step && workflow.live === null);
    }, waitMs);
  }, 120_000);
});

/** Kills and restarts one process after the other, each time after some more requests. */
async function killInTurn(played: Played[]): Promise<void> {
  const { servers, workers, agent } = system;
  for (const victim of [agent, servers[0]!, workers[0]!, agent, servers[1]!, workers[1]!]) {
    const enough = played.length + callers;
    await eventually(() => played.length >= enough, waitMs);
    await victim.kill();
    await victim.start();
  }
}

describe('an agent killed between the commit in the target and its report', () => {
  it('is followed by one that finds the marker and runs nothing again (AG-59, AP-54)', async () => {
    const id = await calls.create('unreported', 'staging', insertOf('unreported', ' from pg_sleep(1)'));
    await eventually(async () => (await calls.statusOf(id)) === 'running', waitMs);
    proxy.freeze();
    await eventually(async () => (await written(system)).unreported === 1, waitMs);
    await system.agent.kill();
    proxy.heal();
    await eventually(async () => {
      await endSilentLeases(system, 3);
      return (await calls.statusOf(id)) === 'execution_lost';
    }, waitMs);
    await system.agent.start();
    await calls.untilExecuted(id);
    expect((await written(system)).unreported).toBe(1);
    const answer = await calls.call(system.tokens.alice, 'GET', `/api/requests/${id}/executions`);
    expect(answer.body.executions).toMatchObject([{ fence: 2, outcome: 'already_applied' }, { fence: 1 }]);
  }, 180_000);
});
