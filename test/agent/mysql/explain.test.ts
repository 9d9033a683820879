import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findMysql } from '../../support/mysql.js';
import { type MysqlBench, startMysqlBench } from '../../support/mysql-agent.js';

const server = await findMysql(import.meta.url);

describe.skipIf(server === null)('EXPLAIN on MySQL (AP-60)', () => {
  let bench: MysqlBench;
  beforeAll(async () => {
    bench = await startMysqlBench(server!, { tables: '[schema_sync]\nenabled = false\n' });
    await bench.root.query(`
      create table parts (id int primary key, name varchar(20)); insert into parts values (1, 'bolt'), (2, 'nut');
      create table others (id int primary key); insert into others values (1);
      create view seen as select id from parts`);
  });
  afterAll(() => bench?.close());

  const job = (sql: string, over: object = {}) => ({ id: randomUUID(), database: 'shop', environment: 'staging', sql, ...over });
  /** What the agent posts for one preflight job. */
  async function planOf(sql: string, over: object = {}): Promise<Record<string, unknown>> {
    const expires = new Date(Date.now() + 10_000).toISOString();
    const offered = job(sql, { claim_token: 'mine', timeout_ms: 5000, expires_at: expires, ...over });
    bench.gateway.offerExplains({ preflight_jobs: [offered] });
    await expect.poll(() => bench.gateway.explainCalls.length, { timeout: 10_000 }).toBe(1);
    const { body } = bench.gateway.explainCalls.splice(0)[0]!;
    expect([body.job_id, body.claim_token]).toEqual([offered.id, 'mine']);
    return body;
  }

  it.each([
    'select * from parts where id = 1',
    'select id from others union select id from parts',
    'with a as (select 1) select * from a',
  ])('gives the object of the plan of %s without running it', async (sql) => {
    const { result, error } = await planOf(sql);
    expect(error).toBeUndefined();
    expect(result).toHaveProperty('query_block');
  });

  it.each([
    "insert into parts values (3, 'x')",
    "insert into parts select id + 10, 'y' from others",
    "replace into parts values (1, 'x')",
    "update parts set name = 'x' where id = 1",
    'update parts p join others o on o.id = p.id set p.name = null',
    'delete from parts where id = 1;',
    'delete p from parts p join others o on o.id = p.id',
  ])('HD-3: plans as the account of reads, which may not %s', async (sql) => {
    const { result, error } = await planOf(sql);
    expect(result).toBeUndefined();
    expect(error).toMatch(/command denied.*\(error 114[23]/);
    expect(await bench.value('select group_concat(concat(id, name) order by id) from parts')).toBe('1bolt,2nut');
  });

  it.each([
    ['select 1; select 2', 'refused: '],
    ['select 1; delete from parts', 'EXPLAIN is not available for this statement'],
    ["set sql_mode = ''; select 1", 'EXPLAIN is not available for this statement'],
    ['create table t (id int)', 'EXPLAIN is not available for this statement'],
    ['truncate table parts', 'EXPLAIN is not available for this statement'],
    ['explain select 1', 'EXPLAIN is not available for this statement'],
    ['analyze format=json delete from parts', 'refused: '],
    ['show tables', 'EXPLAIN is not available for this statement'],
    ['call nothing()', 'EXPLAIN is not available for this statement'],
    ['commit', 'refused: '],
    ['select * from nowhere', 'driver error: query failed: Table '],
    ['select * from seen', 'seen is no table'],
    ['', 'EXPLAIN is not available for this statement'],
  ])('tells why there is no plan of %s', async (sql, text) => {
    const { result, error } = await planOf(sql);
    expect(result).toBeUndefined();
    expect(error).toContain(text);
  });

  it('ends at the timeout of its job when it waits for a lock, and serves the next one', async () => {
    await bench.root.query('lock table others write');
    const { error } = await planOf('select * from others', { timeout_ms: 200 });
    await bench.root.query('unlock tables');
    expect(error).toMatch(/^the database refused the plan \(SQLSTATE (70100|HY000)\)$/);
    expect(bench.agent.lines.join('\n')).toMatch(/max_statement_time|maximum statement execution time/);
    expect(await planOf('select * from others')).toHaveProperty('result');
  });

  it('AG-70: sends a plan above the limit as an error', async () => {
    const alias = 'p'.repeat(250);
    const wide = Array.from({ length: 1000 }, () => `select id from parts ${alias}`).join(' union all ');
    expect(await planOf(wide)).toMatchObject({ error: 'plan too large' });
  });

  it('answers dry-run jobs', async () => {
    const offered = job('select * from parts', { request_id: randomUUID() });
    bench.gateway.offerExplains({ dry_run_jobs: [offered] });
    await expect.poll(() => bench.gateway.explainCalls.length).toBe(2);
    const [claim, result] = bench.gateway.explainCalls.splice(0);
    expect(claim?.path).toBe(`/api/agent/dry-run/${offered.id}/claim`);
    expect(result?.path).toBe(`/api/agent/dry-run/${offered.id}/result`);
    expect(result?.body).toMatchObject({ claim_token: 'token', result: { query_block: {} } });
  });
});
