import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../db/open-database.js';
import { insertReadAgain } from '../../db/outbox.js';
import { openOwnPostgres } from '../support/own-postgres.js';
import { eventually } from '../support/processes.js';
import { type System, startSystem } from '../support/system.js';
import { databaseToml, dbaTeamToml, needsDbaToml, passesToml } from '../support/toml.js';
import { openOwnTemporal } from '../worker/own-temporal.js';
import { type PatientCalls, patientCalls } from './calls.js';
import { insertOf, untilTold, waitMs } from './looks.js';

/** One passes while everything is dead, the other after that, around one kill after the other. */
const lengths = { soon: 4, later: 15 } as const;
type Length = keyof typeof lengths;
const both = Object.keys(lengths) as Length[];

const toml = [
  databaseToml('shop', ['staging', 'unserved', ...both.flatMap((length) => [`pending-${length}`, `approved-${length}`])]),
  dbaTeamToml,
  passesToml('staging'),
  passesToml('unserved'),
  ...both.flatMap((length) => [
    needsDbaToml(`pending-${length}`, `pending_ttl_secs = ${lengths[length]}`),
    needsDbaToml(`approved-${length}`, `approval_ttl_secs = ${lengths[length]}`),
  ]),
].join('');

let postgres: Awaited<ReturnType<typeof openOwnPostgres>>;
let temporal: Awaited<ReturnType<typeof openOwnTemporal>>;
let system: System;
let calls: PatientCalls;
beforeAll(async () => {
  [postgres, temporal] = await Promise.all([openOwnPostgres(), openOwnTemporal()]);
  await temporal.start();
  system = await startSystem({ databaseUrl: postgres.url('postgres'), temporalAddress: temporal.address, toml });
  calls = patientCalls(system);
}, 240_000);
afterAll(async () => {
  await system?.close();
  await temporal?.close();
  await postgres?.close();
});

const clocks = {
  pending: { instant: 'expires_at', event: 'request.expired', end: 'expired' },
  approved: { instant: 'dispatch_by', event: 'request.expired', end: 'expired' },
  dispatch: { instant: 'dispatch_deadline', event: 'request.dispatch_timeout', end: 'approved' },
  lease: { instant: 'lease_expires_at', event: 'execution.lost', end: 'execution_lost' },
} as const;

interface Running {
  id: string;
  clock: keyof typeof clocks;
  length: Length;
}

/** One request for each clock. */
async function begin(length: Length): Promise<Running[]> {
  const ids = {
    pending: await calls.create(`pending-${length}`, `pending-${length}`),
    lease: await calls.create(`lease-${length}`, 'staging', insertOf(length, ' from pg_sleep(600)')),
    dispatch: await calls.create(`dispatch-${length}`, 'unserved'),
    approved: await calls.create(`approved-${length}`, `approved-${length}`),
  };
  expect((await calls.act(system.tokens.bob, ids.approved, 'approve')).status).toBe(200);
  await eventually(async () => (await calls.statusOf(ids.lease)) === 'running', waitMs);
  return Object.entries(ids).map(([clock, id]) => ({ id, clock: clock as Running['clock'], length }));
}

/** TT-4 and AG-37 are of fixed lengths: they are shortened where they are stored, and workflows are told to read them again (OP-73). */
async function shorten(running: readonly Running[]): Promise<void> {
  const url = postgres.url('postgres');
  const database = openDatabase({ url, poolMax: 1, connectTimeoutMs: 5000, statementTimeoutMs: 5000, applicationName: 'test' });
  await database.transaction(async (tx) => {
    for (const { id, clock, length } of running) {
      const instant = `clock_timestamp() + ${lengths[length]} * interval '1 second'`;
      if (clock === 'dispatch') await tx.query(`update requests set dispatch_deadline = ${instant} where id = $1`, [id]);
      if (clock === 'lease') await tx.query(`update executions set lease_expires_at = ${instant} where request_id = $1`, [id]);
    }
    const ids = running.filter(({ clock }) => clock === 'dispatch' || clock === 'lease').map(({ id }) => id);
    await insertReadAgain(tx, ids);
  });
  await database.close();
}

/** The instant of the clock of each request that has not moved. */
async function instantsOf(running: readonly Running[]): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const { id, clock } of running) {
    const { rows } = await system.database.query<{ instant: Date }>(
      `select ${clocks[clock].instant} as instant from requests r left join executions e on e.request_id = r.id where r.id = $1`,
      [id],
    );
    found[id] = rows[0]!.instant.toISOString();
  }
  return found;
}

/** Each has moved once, and not before its instant. */
async function expectMoved(running: readonly Running[], instants: Record<string, string>): Promise<void> {
  for (const { id, clock } of running) {
    const { event, end } = clocks[clock];
    await eventually(async () => (await calls.statusOf(id)) === end, waitMs).catch(async (error: Error) => {
      throw new Error(`the ${clock} clock of a request that is ${await calls.statusOf(id)}: ${error.message}`);
    });
    const { rows } = await system.database.query<{ early: boolean }>(
      'select created_at < $3 as early from audit_events where request_id = $1 and event_type = $2',
      [id, event, instants[id]],
    );
    expect([clock, rows]).toEqual([clock, [{ early: false }]]);
  }
  await untilTold(system);
  await eventually(async () => {
    const workflows = await Promise.all(running.map(({ id }) => calls.workflow(id)));
    return workflows.every((workflow) => workflow.in_step);
  }, waitMs);
}

describe('kill -9 of server, worker, agent, Temporal and Postgres', () => {
  it('RQ-I11, OP-I6: leaves every clock its instant, whether that passes while all of them are dead or afterwards', async () => {
    const running = [...(await begin('soon')), ...(await begin('later'))];
    const { agent, servers, workers } = system;
    await agent.kill();
    await shorten(running);
    const instants = await instantsOf(running);
    await untilTold(system);

    const parts = [...servers, ...workers, temporal, postgres];
    await Promise.all(parts.map((part) => part.kill()));
    const soon = running.filter(({ length }) => length === 'soon');
    await eventually(() => soon.every(({ id }) => Date.parse(instants[id]!) < Date.now()), waitMs);
    for (const part of [postgres, temporal]) await part.start();
    await Promise.all([...servers, ...workers, agent].map((part) => part.start()));
    await expectMoved(soon, instants);

    for (const part of [...servers, ...workers, agent, temporal, postgres]) {
      await part.kill();
      await part.start();
    }
    await expectMoved(
      running.filter(({ length }) => length === 'later'),
      instants,
    );
  }, 300_000);
});
