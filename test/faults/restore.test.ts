import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Backup, openPrimary, takeBaseBackup, takeDump } from '../support/backups.js';
import type { OwnPostgres } from '../support/own-postgres.js';
import { eventually } from '../support/processes.js';
import { type System, startSystem } from '../support/system.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { openOwnTemporal } from '../worker/own-temporal.js';
import { expectStatus, type PatientCalls, patientCalls } from './calls.js';
import { brokenPath, listStored } from './count.js';
import { type Played, startLoad } from './load.js';
import { endSilentLeases, eventTypes, insertOf, marked, untilTold, waitMs, written } from './looks.js';

let postgres: OwnPostgres;
let front: TcpProxy;
let temporal: Awaited<ReturnType<typeof openOwnTemporal>>;
let system: System;
let calls: PatientCalls;
beforeAll(async () => {
  [postgres, temporal] = await Promise.all([openPrimary(), openOwnTemporal()]);
  await temporal.start();
  front = await startTcpProxy(postgres.url('postgres'));
  system = await startSystem({ databaseUrl: front.url, temporalAddress: temporal.address });
  calls = patientCalls(system);
}, 240_000);
afterAll(async () => {
  await system?.close();
  await front?.close();
  await postgres?.close();
  await temporal?.close();
});

/** What is kept, and restored later. */
const courses: readonly { name: string; take: ((server: OwnPostgres) => Promise<Backup>) | null; isTemporalKept: boolean }[] = [
  { name: 'a base backup of the gateway and the Temporal of that moment', take: takeBaseBackup, isTemporalKept: true },
  { name: 'a dump of the gateway, beside Temporal as it is', take: takeDump, isTemporalKept: false },
  { name: 'an older Temporal, beside the gateway as it is', take: null, isTemporalKept: true },
];

describe.each(courses.map((course, index) => ({ ...course, seed: 900 + index })))(
  'under load, $name',
  ({ take, isTemporalKept, seed }) => {
    const write = (name: string) => calls.create(`${name}${seed}`, 'production', insertOf(`${name}${seed}`));

    it('is restored: nothing that was acknowledged before is lost, nothing is written twice, and every request ends', async () => {
      const [late, waiting] = [await write('late'), await write('waiting')];
      const load = startLoad(system, calls, { callers: 4, seed });
      await eventually(() => load.played.length >= 15, waitMs);
      const kept = structuredClone(load.played);
      const backup = (await take?.(postgres)) ?? null;
      const restoreTemporal = isTemporalKept ? temporal.saveData() : () => {};
      await calls.decide(late);
      await calls.untilExecuted(late);
      const fresh = await write('fresh');
      await eventually(() => load.played.length >= kept.length + 15, waitMs);
      await load.stop(AbortSignal.timeout(waitMs));
      expect(load.refused).toEqual([]);
      const anchor = await anchorAfter(late);

      await stopAll();
      restoreTemporal();
      if (backup !== null) await replaceBy(backup);
      await temporal.start();
      for (const program of [...system.servers, ...system.workers]) await program.start();
      expect(await verify()).toEqual([true, null]);
      expect(await verify(anchor)).toEqual(backup === null ? [true, null] : [false, 'anchor_mismatch']);
      await expectKept(kept);
      expect(await cancelWhatRan()).toEqual(backup === null ? [] : expect.arrayContaining([late]));
      await system.agent.start();
      await bringToEnd();

      expect(await calls.statusOf(waiting)).toBe('executed');
      if (backup === null) expect(await calls.statusOf(fresh)).toBe('executed');
      else expect((await calls.call(system.tokens.alice, 'GET', `/api/requests/${fresh}`)).status).toBe(404);
      await untilTold(system);
      const twice = [...Object.entries(await written(system)), ...Object.entries(await marked(system))].filter(
        ([, n]) => n !== 1,
      );
      expect(twice).toEqual([]);
      expect((await listStored(system)).flatMap(brokenPath)).toEqual([]);
      expect(await verify()).toEqual([true, null]);
      const next = await write('next');
      await eventually(async () => (await calls.workflow(next)).in_step, waitMs);
      expect((await calls.act(system.tokens.bob, next, 'reject')).status).toBe(200);
    }, 900_000);
  },
);

/** Number and hash of the newest sealed event, once the end of this request is sealed. */
async function anchorAfter(id: string): Promise<string> {
  const sealed = `select 1 from audit_events where request_id = $1 and event_type = 'execution.completed' and seq is not null`;
  await eventually(async () => (await system.database.query(sealed, [id])).rows.length > 0, waitMs);
  const { rows } = await system.database.query(
    'select seq, event_hash from audit_events where seq is not null order by seq desc limit 1',
  );
  return `?anchor_seq=${rows[0].seq}&anchor_hash=${rows[0].event_hash}`;
}

async function verify(anchor = ''): Promise<[boolean, string | null]> {
  const log = expectStatus(await calls.call(system.tokens.admin, 'GET', `/api/audit/verify${anchor}`), 200);
  return [log.valid as boolean, (log.reason as string | null | undefined) ?? null];
}

async function stopAll(): Promise<void> {
  await Promise.all([...system.agents, ...system.workers, ...system.servers].map((program) => program.kill()));
  await temporal.kill();
}

async function replaceBy(backup: Backup): Promise<void> {
  front.cut();
  await postgres.close();
  postgres = await backup.restore();
  front.to(postgres.url('postgres'));
  front.heal();
}

async function expectKept(kept: readonly Played[]): Promise<void> {
  for (const { id, acknowledged } of kept) expect(await eventTypes(system, id), id).toEqual(expect.arrayContaining(acknowledged));
}

/** Step 4 of docs/operating.md: what has a marker and has not run by what was restored. */
async function cancelWhatRan(): Promise<string[]> {
  const { rows } = await system.database.query<{ id: string }>(
    `select id from requests where id = any($1::uuid[]) and status in ('pending', 'approved', 'dispatched')`,
    [Object.keys(await marked(system))],
  );
  const ids = rows.map(({ id }) => id);
  for (const id of ids) expect((await calls.act(system.tokens.alice, id, 'cancel')).status).toBe(200);
  return ids;
}

/** Approves and resumes what waits for that, until every request is over. Those of `hasty` expire by their own clocks. */
async function bringToEnd(): Promise<void> {
  const open = `select id, status, environment from requests
    where status in ('pending', 'approved', 'dispatched', 'running', 'execution_lost')`;
  await eventually(async () => {
    await endSilentLeases(system, 15);
    const { rows } = await system.database.query<{ id: string; status: string; environment: string }>(open);
    for (const { id, status, environment } of rows) {
      if (status === 'pending' && environment !== 'hasty') await calls.act(system.tokens.bob, id, 'approve');
      if (status === 'approved' || status === 'execution_lost') await calls.act(system.tokens.alice, id, 'resume');
    }
    return rows.length === 0;
  }, 5 * waitMs);
}
