import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startFakeGateway } from '../../support/fake-gateway.js';
import { bundleOf, dataOf, type MigrationBench, startMigrationBench, tableFiles } from '../../support/migration-bench.js';
import { startTestAgent } from '../../support/test-agent.js';

let bench: MigrationBench;

beforeAll(async () => {
  bench = await startMigrationBench();
});
beforeEach(() => bench.clear());
afterAll(() => bench.close());

const repair = (action: string, version: string) => JSON.stringify({ action, version });

describe('migrate_status', () => {
  it('MI-41, MI-22: lists the applied versions by bytes, ascending', async () => {
    await bench.target.query(
      `create table schema_migrations (version text primary key); insert into schema_migrations values ('b'), ('A'), ('10'), ('9'), ('a')`,
    );
    expect(await bench.run('migrate_status', '')).toMatchObject({
      success: true,
      outcome: 'committed',
      result_data: '{"applied_versions":["10","9","A","a","b"]}',
    });
  });

  it('MI-21, MI-41, MI-I8: an empty database has none, and stays as it is', async () => {
    const state = async () =>
      (await bench.target.query('select pg_current_xact_id_if_assigned(), (select count(*) from pg_class)')).rows;
    const before = await state();
    expect(dataOf(await bench.run('migrate_status', '{}'))).toEqual({ applied_versions: [] });
    expect(await state()).toEqual(before);
    expect(await bench.tables()).toEqual([]);
  });

  it('MI-41: takes no lock', async () => {
    await bench.target.query('select pg_advisory_lock(-5598397634837090491)');
    expect(await bench.run('migrate_status', '')).toMatchObject({ success: true });
    await bench.target.query('select pg_advisory_unlock_all()');
  });

  it('MI-20: says when the table cannot be used', async () => {
    await bench.target.query('create table schema_migrations (id int)');
    expect(await bench.run('migrate_status', '')).toMatchObject({
      success: false,
      error_message: 'migration error: the table public.schema_migrations has no column version',
    });
  });
});

describe('migrate_repair', () => {
  it('MI-42: marks and removes a version, and says whether that changed something; the schema stays', async () => {
    const job = bench.offer('migrate_repair', repair('mark_applied', 'v1'));
    expect(await job.result).toMatchObject({
      success: true,
      outcome: 'committed',
      result_data: '{"repaired":"mark_applied","version":"v1","changed":true}',
    });
    expect(await bench.markers(job.requestId)).toEqual(['tx done 1']);
    expect(dataOf(await bench.run('migrate_repair', repair('mark_applied', 'v1')))).toMatchObject({ changed: false });
    expect(await bench.versions()).toEqual(['v1']);
    expect(dataOf(await bench.run('migrate_repair', repair('remove', 'v1')))).toMatchObject({
      repaired: 'remove',
      changed: true,
    });
    expect(dataOf(await bench.run('migrate_repair', repair('remove', 'v1')))).toMatchObject({ changed: false });
    expect(await bench.tables()).toEqual(['schema_migrations']);
  });

  it('MI-31, MI-42: waits for the lock of migrations', async () => {
    await bench.target.query('select pg_advisory_lock(-5598397634837090491)');
    expect(await bench.run('migrate_repair', repair('remove', 'v1'))).toMatchObject({
      success: false,
      outcome: 'not_started',
      error_message: 'migration error: another migration holds the lock',
    });
    await bench.target.query('select pg_advisory_unlock_all()');
  });

  it('AP-54: of a lost attempt that did it, tells what that changed', async () => {
    const requestId = randomUUID();
    await bench.run('migrate_repair', repair('mark_applied', 'v1'), { requestId });
    expect(
      await bench.run('migrate_repair', repair('mark_applied', 'v1'), { requestId, fence: 2, unresolvedFences: [1] }),
    ).toMatchObject({
      success: true,
      outcome: 'already_applied',
      applied_fence: 1,
      result_data: '{"repaired":"mark_applied","version":"v1","changed":true}',
    });
  });

  it('AP-24: an agent that does not list it refuses it, and takes the other operations', async () => {
    const gateway = await startFakeGateway();
    const agent = startTestAgent({ gateway, url: bench.url });
    try {
      const poll = await gateway.nextPoll();
      expect((poll.capabilities as { operations: string[] }).operations).not.toContain('migrate_repair');
      expect(await gateway.offer({ operation: 'migrate_repair', detail: repair('remove', 'v1') }).result).toMatchObject({
        outcome: 'not_started',
        error_message: 'unsupported operation: migrate_repair',
      });
      expect(await gateway.offer({ operation: 'migrate_up', detail: bundleOf('up', tableFiles(1)) }).result).toMatchObject({
        success: true,
      });
    } finally {
      agent.stop();
      await agent.exit;
      await gateway.close();
    }
  });
});

describe('the gate of migrations', () => {
  const up = (sql: string, extra: object = {}) => bench.run('migrate_up', bundleOf('up', [{ version: 'v1', up: sql, ...extra }]));

  it.each([
    ['create table t1 (id int); commit', 'transaction control'],
    ['set role postgres', 'migrations[0].sql'],
    ['listen t1', 'session state'],
    ['create tabel t1 (id int)', 'migrations[0].sql'],
    ['copy t1 from stdin', 'migrations[0].sql'],
  ])('AP-22: %s is refused', async (sql, words) => {
    const result = await up(sql);
    expect(result).toMatchObject({ success: false, outcome: 'not_started', cancelled: false });
    expect(result.error_message).toMatch(/^refused: /);
    expect(result.error_message).toContain(words);
    expect(await bench.tables()).toEqual([]);
  });

  it('MI-16: two statements without a transaction are refused', async () => {
    const result = await up('vacuum; vacuum', { transactional: false });
    expect(result.error_message).toMatch(/^refused: .*migrations\[0\]\.transactional/);
  });

  it('MI-15, MI-17: a detail that is no bundle is refused', async () => {
    for (const detail of [
      '',
      '{}',
      'nothing',
      bundleOf('down', tableFiles(1)),
      bundleOf('up', tableFiles(1)).replace('"v2"', '"v1"'),
    ]) {
      const result = await bench.run('migrate_up', detail);
      expect(result).toMatchObject({ outcome: 'not_started' });
      expect(result.error_message).toMatch(/^refused: /);
    }
  });

  it('MI-I7: text of any characters runs as its very bytes', async () => {
    const text = "é😀\u2028'' \\ \t";
    await up(`-- ☃\ncreate table t1 as select '${text}'::text as it /* ü */;`);
    expect((await bench.target.query('select it from t1')).rows).toEqual([{ it: text.replace("''", "'") }]);
  });
});
