import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMysqlDatabase } from '../support/mysql.js';
import { durable, openOwnMariadb } from '../support/own-mariadb.js';
import { openOwnPostgres } from '../support/own-postgres.js';
import { eventually } from '../support/processes.js';
import { share } from '../support/share.js';
import { type System, startSystem } from '../support/system.js';
import { temporalAddress } from '../support/temporal.js';
import { createTripwire, type Tripwire } from '../support/tripwire.js';
import { type PatientCalls, patientCalls } from './calls.js';
import { eventTypes, untilTold, waitMs } from './looks.js';
import { prepareMysql, preparePostgres, type Target } from './targets.js';
import { createFaults, type Faults } from './victims.js';
import { createWrites, type Played, stateOf } from './writes.js';

/** For each kind of database; hundreds take minutes. */
const perTarget = Number(process.env.SVC_TEST_FAULT_WRITES ?? share(3, 25));
/** Writes of a round on each target, which one fault meets; more at once where there are many, since a kill takes longer than a write. */
const width = perTarget > 100 ? 6 : 3;

const mariadb = await openOwnMariadb(import.meta.url, durable);
const closing: (() => Promise<unknown>)[] = [];
const wire: Tripwire = createTripwire();
let system: System;
let calls: PatientCalls;
let targets: Target[];
let faults: Faults;
beforeAll(async () => {
  const [gatewayPostgres, targetPostgres] = await Promise.all([openOwnPostgres(), openOwnPostgres()]);
  closing.push(gatewayPostgres.close, targetPostgres.close);
  const store = mariadb && (await createMysqlDatabase(mariadb.url()));
  targets = [await preparePostgres(targetPostgres.url('postgres'), perTarget + width)];
  if (store) targets.push(await prepareMysql(store.adminUrl, perTarget + width));
  const front = (name: string) => (url: string) => wire.front(name, url);
  system = await startSystem({
    databaseUrl: gatewayPostgres.url('postgres'),
    temporalAddress: await temporalAddress(),
    targetUrl: targetPostgres.url('postgres'),
    store,
    through: { database: front('database'), server: front('server'), target: front('shop'), store: front('store') },
  });
  calls = patientCalls(system);
  faults = createFaults(system, wire, { gatewayPostgres, targetPostgres, mariadb });
}, 240_000);
afterAll(async () => {
  await system?.close();
  await wire.close();
  for (const target of targets ?? []) await target.close();
  for (const close of closing) await close();
  await mariadb?.stop();
});

// One story in order: what the first test writes is resumed, counted and looked for by the others.
describe('writes under kill -9 at every message of agent, server, worker and databases', { shuffle: false }, () => {
  const all: Played[] = [];

  it('AG-I3, AP-I3, AP-I5: each is applied at most once, and its status tells the truth', async () => {
    const writes = createWrites({ system, calls, targets });
    all.push(...(await faults.measure(() => writes.create(width))));
    for (let left = perTarget; left > 0; left -= width)
      all.push(...(await faults.around(() => writes.create(Math.min(width, left)))));
    await writes.settle(all);
    const states = await Promise.all(all.map((one) => stateOf(system, one)));
    for (const state of states) expectTruth(state);
  }, 1_800_000);

  it('AP-I4, AG-59: those whose agent was lost are resumed under kills too, and end applied exactly once', async () => {
    const writes = createWrites({ system, calls, targets });
    const lost = await writes.lostOf(all);
    for (let n = 0; n < lost.length; n += 2 * width) await faults.around(() => writes.resume(lost.slice(n, n + 2 * width)));
    await writes.settle(lost);
    // Nothing is killed any more: what can be proven is proven now. An agent that a busy machine keeps from beating is lost once more.
    const provable = all.filter(({ kind }) => kind.mode === 'tx');
    for (let left = 5; left > 0; left -= 1) {
      await writes.resume(await writes.lostOf(provable));
      await writes.settle(provable);
    }
    for (const one of all) {
      const state = await stateOf(system, one);
      expectTruth(state);
      if (one.kind.mode === 'tx') expect(['executed', 'failed']).toContain(state.status);
    }
    expect(all.length).toBe(targets.length * (perTarget + width));
  }, 1_800_000);

  it('AG-I4: each change has one done marker, and an executed write one completion in the audit', async () => {
    for (const one of all) {
      const sql = `select fence from ${one.target.markers} where state = 'done' and request_id = '${one.id}'`;
      const { what, status, applied } = await stateOf(system, one);
      const markers = (await one.target.rows(sql)).length;
      const completions = (await eventTypes(system, one.id)).filter((type) => type === 'execution.completed').length;
      // Outside a transaction agent or target can die between the change and its marker.
      const isWithMarker = one.kind.mode === 'tx' || one.kind.operation === 'migrate_up';
      // A migration that lacks its version row, half a change, lacks its marker too.
      const allowed = isWithMarker ? [Math.floor(applied)] : [0, applied];
      expect(allowed, `done markers of ${what} (${status})`).toContain(markers);
      expect({ what, completions }).toEqual({ what, completions: status === 'executed' ? 1 : 0 });
    }
  }, 300_000);

  it('OP-I1: nothing is stuck: no run, transaction or lock is left, and every workflow knows its end', async () => {
    const { rows } = await system.database.query(`select id from requests where status in ('dispatched', 'running')`);
    expect(rows).toEqual([]);
    for (const target of targets) await eventually(async () => (await target.held()) === 0, waitMs);
    await untilTold(system);
    for (let n = 0; n < all.length; n += 20) {
      await eventually(async () => {
        const seen = await Promise.all(all.slice(n, n + 20).map(({ id }) => calls.workflow(id)));
        return seen.every((workflow) => workflow.in_step);
      }, waitMs);
    }
  }, 1_800_000);
});

/** `execution_lost` says that it is not known; everything else says whether the changes are there. */
function expectTruth({ id, status, outcome, applied, changes, what }: Awaited<ReturnType<typeof stateOf>>): void {
  expect(['executed', 'failed', 'execution_lost']).toContain(status);
  const some = Array.from({ length: 2 * changes + 1 }, (_, halves) => halves / 2);
  const allowed = { executed: [changes], failed: outcome === 'partial' ? some : [0] }[status] ?? some;
  expect({ id, what, status, outcome, applied: allowed.includes(applied) ? 'as it says' : applied }).toEqual({
    id,
    what,
    status,
    outcome,
    applied: 'as it says',
  });
}
