import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { bundleOf } from '../support/migration-bench.js';
import { eventually } from '../support/processes.js';
import { type GatewayBench, startRiskBench } from './gateway-bench.js';

let bench: GatewayBench;
let bob: string;
let carol: string;
beforeAll(async () => {
  ({ bench, bob, carol } = await startRiskBench());
});
afterEach(() => bench.target.query('drop schema public cascade; create schema public'));
afterAll(() => bench?.close());

describe('where version rows of migrations are looked for, nothing is put without approval (HD-40)', () => {
  it.each([
    "create view schema_migrations as select 'v1'::text as version",
    "create table if not exists schema_migrations (version text primary key check (version <> 'v1'))",
  ])('so an approved migration runs: %s', async (planted) => {
    const asked = await bench.create(planted);
    expect(await bench.ended(asked)).toBe('pending');

    const id = await bench.calls.created(bob, {
      environment: 'staging',
      operation: 'migrate_up',
      detail: bundleOf('up', [{ version: 'v1', up: 'create table bills (id int)' }]),
    });
    expect((await bench.calls.act(carol, id, 'approve')).status).toBe(200);
    expect((await bench.calls.act(bob, id, 'resume')).status).toBe(200);
    await eventually(async () => (await bench.calls.show(bob, id)).body.status === 'executed');
    expect((await bench.target.query(`select to_regclass('bills') is not null as made`)).rows).toEqual([{ made: true }]);
  });
});
