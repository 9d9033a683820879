import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, callApi } from '../../dev/api-call.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import type { Program } from '../support/program.js';
import { type System, startSystem } from '../support/system.js';
import { temporalAddress } from '../support/temporal.js';
import { type PatientCalls, patientCalls, waitAt } from './calls.js';
import { insertOf, untilTold, waitMs, written } from './looks.js';

let stored: TestDatabase;
let system: System;
let calls: PatientCalls;
beforeAll(async () => {
  stored = await createTestDatabase();
  system = await startSystem({
    databaseUrl: stored.url,
    temporalAddress: await temporalAddress(),
    servers: 2,
    workers: 2,
  });
  calls = patientCalls(system);
}, 240_000);
afterAll(async () => {
  await system?.close();
  await stored?.drop();
});

/** One call of alice at one server. */
const at = (server: number, method: 'GET' | 'POST', path: string, body?: Record<string, unknown>): Promise<Answer> =>
  callApi({ server: system.servers[server]!.url, token: system.tokens.alice }, method, path, body);

/** Changes the gateway's database as its superuser. */
async function asAdmin(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: stored.adminUrl });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}

const readyOf = async (url: string) => {
  const response = await fetch(`${url}/ready`);
  return [response.status, ((await response.json()) as { status: string }).status];
};

async function stop(program: Program): Promise<string> {
  program.signal('SIGTERM');
  return program.exited();
}

/** A request whose write in the target takes some seconds; resolves when it runs. */
async function runningWrite(word: string, seconds: number): Promise<string> {
  const id = await calls.create(word, 'staging', insertOf(word, ` from pg_sleep(${seconds})`));
  await eventually(async () => (await calls.statusOf(id)) === 'running', waitMs);
  return id;
}

describe('two servers and two workers', () => {
  it('are one gateway: who waits at one is woken by what is committed at the other (HT-100)', async () => {
    const id = await calls.create('across', 'production', insertOf('across'));
    const [wait] = await waitAt(system, 1, [id]);
    const approved = await callApi(
      { server: system.servers[0]!.url, token: system.tokens.bob },
      'POST',
      `/api/requests/${id}/approve`,
    );
    expect(approved.status).toBe(200);
    expect((await wait!).body.status).toBe('approved');
    const stream = at(1, 'GET', `/api/requests/${id}/result/stream`);
    expect((await at(0, 'POST', `/api/requests/${id}/resume`)).status).toBe(200);
    expect((await stream).body.success).toBe(true);
  });

  it('carry on when notifications never go out (HT-102, OP-71)', async () => {
    await asAdmin('revoke execute on function pg_notify(text, text) from public');
    try {
      const id = await calls.create('unheard', 'production', insertOf('unheard'));
      const [wait] = await waitAt(system, 1, [id]);
      await callApi({ server: system.servers[0]!.url, token: system.tokens.bob }, 'POST', `/api/requests/${id}/approve`);
      expect((await wait!).body.status).toBe('approved');
      // The agent waits at the first server; the second one cannot tell it.
      const [resumed] = await waitAt(system, 0, [id]);
      expect((await at(1, 'POST', `/api/requests/${id}/resume`)).status).toBe(200);
      expect((await resumed!).body.status).not.toBe('approved');
      expect((await at(1, 'GET', `/api/requests/${id}/result/stream`)).body.success).toBe(true);
      expect((await written(system)).unheard).toBe(1);
      await untilTold(system);
    } finally {
      await asAdmin('grant execute on function pg_notify(text, text) to public');
    }
  }, 60_000);
});

describe('SIGTERM', () => {
  it('lets a server answer all it has accepted and end with 0, while the other one serves (OP-60 to OP-63, OP-I5)', async () => {
    const [, second] = system.servers;
    const ids = await Promise.all(Array.from({ length: 6 }, (_, n) => calls.create(`drain-${n}`, 'production')));
    const waits = await waitAt(system, 1, ids);
    second!.signal('SIGTERM');
    for (const { status, body } of await Promise.all(waits)) expect([status, body.status]).toEqual([200, 'pending']);
    expect(await readyOf(second!.url)).toEqual([503, 'draining']);
    const refused = await at(1, 'POST', '/api/requests', { database: 'shop', environment: 'staging', detail: 'select 1' });
    expect([refused.status, refused.body.code]).toEqual([503, 'service.draining']);
    const approved = await callApi({ server: second!.url, token: system.tokens.bob }, 'POST', `/api/requests/${ids[0]}/approve`);
    expect(approved.status).toBe(200);
    const read = await calls.create('elsewhere', 'staging');
    await calls.untilExecuted(read);
    expect(await second!.exited()).toBe('exit code 0');
    await second!.start();
  }, 60_000);

  it('lets an agent finish and report its run, claim nothing more, and end with 0 (AP-17)', async () => {
    const id = await runningWrite('agent-drains', 2);
    const exit = stop(system.agent);
    await eventually(() => system.agent.log().includes('agent is stopping'), waitMs);
    const next = await calls.create('for-the-next-agent', 'staging', insertOf('for-the-next-agent'));
    expect(await exit).toBe('exit code 0');
    expect([await calls.statusOf(id), await calls.statusOf(next)]).toEqual(['executed', 'dispatched']);
    await system.agent.start();
    await calls.untilExecuted(next);
    expect(await written(system)).toMatchObject({ 'agent-drains': 1, 'for-the-next-agent': 1 });
  }, 60_000);

  it('ends a worker with 0, and the other one carries out the clocks (OP-63)', async () => {
    expect(await stop(system.workers[0]!)).toBe('exit code 0');
    const id = await calls.create('one-worker', 'hasty');
    await eventually(async () => (await calls.statusOf(id)) === 'expired', waitMs);
    await eventually(async () => (await calls.workflow(id)).in_step, waitMs);
    await system.workers[0]!.start();
  }, 120_000);
});

describe('a second SIGTERM', () => {
  it('ends a server at once with 1 (OP-62)', async () => {
    const second = system.servers[1]!;
    const [wait] = await waitAt(system, 1, [await calls.create('twice', 'production')]);
    second.signal('SIGTERM');
    // Signals of one kind that come together count once.
    await wait;
    second.signal('SIGTERM');
    expect(await second.exited()).toBe('exit code 1');
    await second.start();
  }, 60_000);

  it('makes an agent roll its run back, report it, and end with 1 (AP-18)', async () => {
    const id = await runningWrite('agent-stops', 25);
    system.agent.signal('SIGTERM');
    await eventually(() => system.agent.log().includes('agent is stopping'), waitMs);
    system.agent.signal('SIGTERM');
    expect(await system.agent.exited()).toBe('exit code 1');
    const shown = await calls.show(id);
    expect(shown).toMatchObject({ status: 'failed' });
    expect((await written(system))['agent-stops']).toBeUndefined();
    await system.agent.start();
  }, 60_000);
});
