import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requestWorkflowId } from '../../workflows/messages.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { type System, startSystem } from '../support/system.js';
import { openOwnTemporal } from '../worker/own-temporal.js';
import { type PatientCalls, patientCalls } from './calls.js';
import { countNews, insertOf, untilTold, waitMs, written } from './looks.js';

let stored: TestDatabase;
let temporal: Awaited<ReturnType<typeof openOwnTemporal>>;
let system: System;
let calls: PatientCalls;
beforeAll(async () => {
  stored = await createTestDatabase();
  temporal = await openOwnTemporal();
  system = await startSystem({ databaseUrl: stored.url, temporalAddress: temporal.address });
  calls = patientCalls(system);
}, 240_000);
afterAll(async () => {
  await system?.close();
  await temporal?.close();
  await stored?.drop();
});

const ready = async (url: string) => {
  const response = await fetch(`${url}/ready`);
  return [response.status, ((await response.json()) as { status: string }).status];
};

/** Waits until server and worker say so, each in its own time. */
const untilReady = (status: 'ok' | 'degraded') =>
  eventually(async () => {
    const both = await Promise.all([...system.servers, ...system.workers].map(({ url }) => ready(url)));
    return both.every(([code, said]) => code === 200 && said === status);
  }, waitMs);

/** The workflow of each says what is stored; that of a finished request has ended. */
const untilInStep = (ids: string[]) =>
  eventually(async () => (await Promise.all(ids.map(calls.workflow))).every((workflow) => workflow.in_step), waitMs);

/** Every kind of call while nothing listens at Temporal's address; answers the requests it made. */
async function liveWithoutTemporal(name: string): Promise<string[]> {
  const { alice, bob, admin } = system.tokens;
  const read = await calls.create(`${name}-read`, 'staging', 'select 42 as answer');
  await calls.untilExecuted(read);
  expect((await calls.result(read)).result_data).toMatchObject({ rows: [{ answer: 42 }] });

  const write = await calls.create(`${name}-write`, 'production', insertOf(name));
  await calls.decide(write);
  await calls.untilExecuted(write);
  expect((await written(system))[name]).toBe(1);

  const [rejected, cancelled, hasty] = await Promise.all(
    ['production', 'production', 'hasty'].map((environment, n) => calls.create(`${name}-${n}`, environment)),
  );
  expect((await calls.act(bob, rejected!, 'reject')).status).toBe(200);
  expect((await calls.act(alice, cancelled!, 'cancel')).status).toBe(200);
  // Nobody carries the expiry out, and yet it holds (TT-6).
  await eventually(async () => Date.parse((await calls.show(hasty!)).expires_at as string) < Date.now(), waitMs);
  const late = await calls.act(bob, hasty!, 'approve');
  expect([late.status, late.body.code]).toEqual([410, 'request.gone']);

  const list = await calls.call(alice, 'GET', '/api/requests');
  expect(list.status).toBe(200);
  expect((await calls.call(admin, 'GET', '/api/audit/events')).status).toBe(200);
  expect(await calls.workflow(write)).toMatchObject({ live: null, live_error: 'unavailable' });
  expect(await countNews(system)).toBeGreaterThan(0);
  return [read, write, rejected!, cancelled!, hasty!];
}

const statusesOf = (ids: string[]) => Promise.all(ids.map(calls.statusOf));
const ends = ['executed', 'executed', 'rejected', 'cancelled', 'expired'];

// Temporal's server is first started in the middle of the first test.
describe('while Temporal is away', { shuffle: false }, () => {
  it('server, worker and agent start and serve everything, and the news is told when it comes (OP-50, HT-113)', async () => {
    await untilReady('degraded');
    const ids = await liveWithoutTemporal('before');
    await temporal.start();
    await untilTold(system);
    await eventually(async () => (await calls.statusOf(ids.at(-1)!)) === 'expired', waitMs);
    expect(await statusesOf(ids)).toEqual(ends);
    await untilInStep(ids);
    await untilReady('ok');
  }, 180_000);

  it('a kill changes nothing but the time at which workflows hear of it', async () => {
    const waiting = await calls.create('waits-through', 'production', insertOf('waits-through'));
    await untilInStep([waiting]);
    await temporal.kill();
    await untilReady('degraded');
    const ids = await liveWithoutTemporal('killed');
    expect((await calls.act(system.tokens.bob, waiting, 'approve')).status).toBe(200);
    await temporal.start();
    await untilTold(system);
    await eventually(async () => (await calls.statusOf(ids.at(-1)!)) === 'expired', waitMs);
    expect(await statusesOf(ids)).toEqual(ends);
    await untilInStep([...ids, waiting]);
    expect((await calls.act(system.tokens.alice, waiting, 'resume')).status).toBe(200);
    await calls.untilExecuted(waiting);
    expect((await written(system))['waits-through']).toBe(1);
    await untilInStep([waiting]);
  }, 180_000);

  it('a workflow that knows another state of the same version, as after a restore of our database, is not in step (OP-74)', async () => {
    const id = await calls.create('ahead', 'production', insertOf('ahead'));
    await untilInStep([id]);
    const connection = await Connection.connect({ address: temporal.address });
    const view = { version: 2, status: 'dispatched', turn: 'agents', clock: null, final: false };
    await new Client({ connection }).workflow.getHandle(requestWorkflowId(id)).signal('change', { view });
    await connection.close();
    await eventually(async () => ((await calls.workflow(id)).live as { version: number } | null)?.version === 2, waitMs);
    expect((await calls.act(system.tokens.bob, id, 'approve')).status).toBe(200);
    await untilTold(system);
    expect(await calls.workflow(id)).toMatchObject({
      stored: { version: 2, status: 'approved' },
      live: { version: 2, status: 'dispatched' },
      in_step: false,
    });
    expect((await calls.act(system.tokens.alice, id, 'cancel')).status).toBe(200);
    await untilInStep([id]);
  }, 180_000);

  it('the loss of all its data costs no request its workflow (OP-73)', async () => {
    const pending = await calls.create('lost-pending', 'production', insertOf('lost-pending'));
    const approved = await calls.create('lost-approved', 'production', insertOf('lost-approved'));
    expect((await calls.act(system.tokens.bob, approved, 'approve')).status).toBe(200);
    await untilInStep([pending, approved]);
    await temporal.kill();
    temporal.loseData();
    await temporal.start();
    await untilReady('ok');
    expect(await calls.workflow(pending)).toMatchObject({ run_id: null, live: null, live_error: 'not_running' });
    await eventually(async () => {
      await ageForReconciler();
      return (await Promise.all([pending, approved].map(calls.workflow))).every((workflow) => workflow.in_step);
    }, waitMs);
    await calls.decide(pending);
    expect((await calls.act(system.tokens.alice, approved, 'resume')).status).toBe(200);
    await Promise.all([pending, approved].map(calls.untilExecuted));
    await untilInStep([pending, approved]);
    expect(await written(system)).toMatchObject({ 'lost-pending': 1, 'lost-approved': 1 });
  }, 180_000);
});

/** Makes a round due at the reconciler's next look (every 15 s), and its requests quiet for long enough to be missed. */
async function ageForReconciler(): Promise<void> {
  await system.database.query(`update background_state set updated_at = '-infinity' where name = 'reconciler'`);
  await system.database.query(
    `update requests set updated_at = updated_at - interval '1 minute'
     where updated_at > clock_timestamp() - interval '30 seconds' and status in ('pending', 'approved')`,
  );
}
