import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { requestLockKey } from '../../agent/marker.js';
import { untilActive } from '../support/active-statement.js';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import type { FakeJob, JobInput } from '../support/fake-job.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';

const tooLate = 'the token or the lease of the run ended before it could start';
let database: TestDatabase;
let target: pg.Client;
let gateway: FakeGateway;
let agent: TestAgent;
beforeAll(async () => {
  ({ database, client: target } = await connectEmptyDatabase());
  await target.query('create table entries (word text)');
});
beforeEach(async () => {
  gateway = await startFakeGateway();
  agent = startTestAgent({ gateway, url: database.url, pollWaitMs: 50 });
});
afterEach(async () => {
  agent.stop();
  await agent.exit;
  await gateway.close();
  await target.query('select pg_advisory_unlock_all(); truncate entries');
});
afterAll(async () => {
  await target.end();
  await database.drop();
});

const words = async () => (await target.query('select word from entries order by word')).rows.map(({ word }) => word);
const leaseOf = (secs: number | undefined): Partial<JobInput> => ({ forge: (claim) => ({ ...claim, lease_secs: secs }) });
const overASecond = () => sleep(1100);

/** Waits until the agent knows what heartbeats say, which may have ended the job already. */
async function beats(job: FakeJob): Promise<void> {
  let ended = false;
  void job.result.then(() => {
    ended = true;
  });
  await eventually(() => ended || job.heartbeats >= 2);
}

/** A claimed write that waits for its request lock, which the test holds. */
async function waiting(word: string, input: Partial<JobInput>, heartbeatStatus = 200): Promise<FakeJob> {
  const requestId = randomUUID();
  await target.query('select pg_advisory_lock($1)', [requestLockKey(requestId)]);
  const job = gateway.offer({ requestId, operation: 'execute_dml', detail: `insert into entries values ('${word}')`, ...input });
  job.heartbeat.status = heartbeatStatus;
  await job.claimed;
  return job;
}

const goOn = () => target.query('select pg_advisory_unlock_all()');

describe('a run whose lease is over before its first statement (AG-40a)', () => {
  it('does not start when no heartbeat came through for as long as the lease was given', async () => {
    const job = await waiting('cut off', leaseOf(1), 500);
    await overASecond();
    await goOn();
    expect(await job.result).toMatchObject({ success: false, outcome: 'not_started', cancelled: false, error_message: tooLate });
    expect(await words()).toEqual([]);
  });

  it('does not start when a heartbeat was told so', async () => {
    const job = await waiting('told', {}, 409);
    await beats(job);
    await goOn();
    expect(await job.result).toMatchObject({ success: false, outcome: 'not_started', error_message: tooLate });
    expect(await words()).toEqual([]);
  });

  it('starts when heartbeats have extended the lease', async () => {
    const job = await waiting('extended', leaseOf(1));
    await overASecond();
    await goOn();
    expect(await job.result).toMatchObject({ success: true });
    expect(await words()).toEqual(['extended']);
  });

  it('starts without an end of the lease, from a gateway that tells none', async () => {
    const job = await waiting('untold', leaseOf(undefined), 500);
    await overASecond();
    await goOn();
    expect(await job.result).toMatchObject({ success: true });
  });

  it('does not start a migration, of which nothing is done then', async () => {
    const detail = JSON.stringify({
      format: 'v2',
      direction: 'up',
      versions: ['v1'],
      migrations: [{ version: 'v1', sql: 'create table made (id int)', transactional: true }],
      dir_sha256: '0'.repeat(64),
    });
    const job = await waiting('', { operation: 'migrate_up', detail }, 409);
    await beats(job);
    await goOn();
    expect(await job.result).toMatchObject({ outcome: 'not_started', error_message: expect.stringContaining(tooLate) });
    expect((await target.query(`select to_regclass('made') as made`)).rows).toEqual([{ made: null }]);
  });

  it('goes on when it has begun (AG-64)', async () => {
    const job = gateway.offer({
      operation: 'execute_dml',
      detail: `insert into entries select 'begun' from pg_sleep(1.5)`,
      ...leaseOf(1),
    });
    await untilActive(target, 'pg_sleep(1.5)');
    job.heartbeat.status = 409;
    expect(await job.result).toMatchObject({ success: true, outcome: 'committed' });
    expect(await words()).toEqual(['begun']);
  });
});

describe('a claim that came with a later poll, because the answer to its own was lost (AG-40a, AG-81)', () => {
  /** The agent loses the answers to its polls for longer than the lease, then gets the claim. */
  async function lateClaim(heartbeatStatus: number): Promise<FakeJob> {
    await gateway.nextPoll((body) => Number(body.limit) > 0);
    gateway.pollStatus = 502;
    await gateway.nextPoll();
    const job = gateway.offer({ operation: 'execute_dml', detail: `insert into entries values ('late')`, ...leaseOf(1) });
    job.heartbeat.status = heartbeatStatus;
    const headers = { authorization: 'Bearer svc_test', 'content-type': 'application/json' };
    const answer = await fetch(`${gateway.url}/api/agent/jobs/${job.requestId}/claim`, { method: 'POST', headers, body: '{}' });
    gateway.pollExtra = { claims: [await answer.json()] };
    await overASecond();
    gateway.pollStatus = 200;
    return job;
  }

  it('does not start when its lease may be over and the gateway says that it is', async () => {
    const job = await lateClaim(409);
    expect(await job.result).toMatchObject({ success: false, outcome: 'not_started', error_message: tooLate });
    expect(await words()).toEqual([]);
  });

  it('starts when the gateway extends its lease', async () => {
    const job = await lateClaim(200);
    expect(await job.result).toMatchObject({ success: true });
    expect(await words()).toEqual(['late']);
  });
});
