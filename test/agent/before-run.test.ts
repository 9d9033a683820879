import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { lockWaits } from '../support/active-statement.js';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import type { JobInput } from '../support/fake-job.js';
import { bundleOf, tableFiles } from '../support/migration-bench.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';

let database: TestDatabase;
let gateway: FakeGateway;
let agent: TestAgent;
let target: pg.Client;
let other: pg.Client;

beforeAll(async () => {
  ({ database, client: target } = await connectEmptyDatabase());
  other = new pg.Client({ connectionString: database.url });
  await other.connect();
  gateway = await startFakeGateway();
  agent = startTestAgent({ gateway, url: database.url });
  await gateway.nextPoll();
  await target.query('create table parts (id int); create table schema_migrations (version text primary key)');
});
beforeEach(async () => {
  await other.query('begin');
});
afterEach(async () => {
  await other.query('rollback');
});
afterAll(async () => {
  agent.stop();
  await agent.exit;
  await gateway.close();
  await other.end();
  await target.end();
  await database.drop();
});

const change = { operation: 'execute_dml', detail: 'insert into parts values (1)' };
const migration = { operation: 'migrate_up', detail: bundleOf('up', tableFiles(1)), statementTimeoutSecs: 0 };

/** A job that waits for a table which somebody else has locked. */
async function waiting(table: string, input: JobInput) {
  await other.query(`lock table ${table}`);
  const job = gateway.offer(input);
  await eventually(async () => (await target.query(lockWaits)).rows.length > 0);
  return job;
}

async function cancelled(table: string, input: JobInput) {
  const job = await waiting(table, input);
  job.heartbeat.cancelled = true;
  return await job.result;
}

describe('a job that waits for its markers', () => {
  it('AP-42, AP-45: is cancelled there, and has not started', async () => {
    expect(await cancelled('svc.svc_execution_marker', change)).toMatchObject({
      success: false,
      outcome: 'not_started',
      cancelled: true,
      error_message: 'driver error: query cancelled',
    });
  });

  it('AP-20: waits no longer than a statement of it may', async () => {
    const job = await waiting('svc.svc_execution_marker', { ...change, statementTimeoutSecs: 1 });
    expect(await job.result).toMatchObject({
      outcome: 'not_started',
      cancelled: false,
      error_message: 'driver error: query timed out after 1s',
    });
  });

  it('AG-63: confirms no cancel while it is not known what a lost attempt did', async () => {
    const lost = { requestId: randomUUID(), fence: 2, unresolvedFences: [1] };
    expect(await cancelled('svc.svc_execution_marker', { ...change, ...lost })).toMatchObject({
      outcome: 'unknown',
      cancelled: false,
    });
  });
});

describe('a migration that waits for the tracking table', () => {
  it('MI-34: is cancelled there, and has not started', async () => {
    expect(await cancelled('schema_migrations', migration)).toMatchObject({
      outcome: 'not_started',
      cancelled: true,
      error_message: 'migration error: migration cancelled',
    });
  });

  it('MI-41: is cancelled there when it only asks for the status', async () => {
    expect(await cancelled('schema_migrations', { operation: 'migrate_status', detail: '' })).toMatchObject({
      cancelled: true,
      error_message: 'migration error: migration cancelled',
    });
  });
});
