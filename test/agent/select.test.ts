import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { untilActive } from '../support/active-statement.js';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import type { JobInput } from '../support/fake-job.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';

let database: TestDatabase;
let gateway: FakeGateway;
let agent: TestAgent;
let target: pg.Client;

beforeAll(async () => {
  ({ database, client: target } = await connectEmptyDatabase());
  await target.query(`
    create table parts (id int primary key, name text);
    insert into parts values (1, 'bolt'), (2, 'nut'), (3, null);
    create type mood as enum ('fine', 'bad');
    create domain small as int check (value < 10);
    create function sneaky() returns int language plpgsql as $$ begin insert into parts values (99, 'x'); return 1; end $$;
    create function waits(seconds float) returns int language plpgsql as $$ begin perform pg_sleep(seconds); return 1; end $$;
  `);
  gateway = await startFakeGateway();
  agent = startTestAgent({ gateway, url: database.url });
});

afterAll(async () => {
  agent.stop();
  await agent.exit;
  await gateway.close();
  await target.end();
  await database.drop();
});

async function run(detail: string, input: Partial<JobInput> = {}) {
  return await gateway.offer({ detail, ...input }).result;
}

/** The rows text of a result, as the agent wrote it. */
async function rowsOf(detail: string, input: Partial<JobInput> = {}): Promise<string> {
  const result = await run(detail, input);
  expect(result).toMatchObject({ success: true, outcome: 'committed' });
  return /"rows":(\[.*\]),"truncated"/.exec(result.result_data as string)?.[1] ?? '';
}

describe('execute_select on PostgreSQL', () => {
  it('answers rows as objects in column order, with types (AP-70)', async () => {
    const result = await run('select id, name from parts order by id');
    expect(result).toMatchObject({ success: true, outcome: 'committed', fence: 1, rows_affected: null, truncated: false });
    expect(result.result_data).toBe(
      '{"columns":["id","name"],"column_types":["int4","text"],"rows":[{"id":1,"name":"bolt"},{"id":2,"name":"nut"},{"id":3,"name":null}],"truncated":false,"truncation_reason":null}',
    );
  });

  it('answers rows as arrays when two columns share a name, and columns without rows (AP-70)', async () => {
    expect(await rowsOf('select 9007199254740993::int8 as id, 7 as id')).toBe('[[9007199254740993,7]]');
    expect((await run('select 1 as a where false')).result_data).toBe(
      '{"columns":["a"],"column_types":["int4"],"rows":[],"truncated":false,"truncation_reason":null}',
    );
    expect(await rowsOf('select from parts limit 1')).toBe('[{}]');
  });

  it.each([
    ["'NaN'::float8", '"NaN"'],
    ["'-Infinity'::float4", '"-Infinity"'],
    ['1e20::float8', '1e+20'],
    ['0.1::float8 + 0.2', '0.30000000000000004'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['1.50::numeric', '"1.50"'],
    ['true', 'true'],
    ['null::int', 'null'],
    [`'{"b":1,"a":[1.0, 2e0],"b":2}'::json`, '{"b":1,"a":[1.0, 2e0],"b":2}'],
    [`'"\\u0000x"'::json`, '"\\u0000x"'],
    [`'{"a":12345678901234567890}'::jsonb`, '{"a": 12345678901234567890}'],
    ["'\\x00ff10'::bytea", '"\\\\x00ff10"'],
    ['array[1, null, 3]', '[1,null,3]'],
    ['array[[1,2],[3,4]]::int8[]', '[[1,2],[3,4]]'],
    [`array['a,b', 'NULL', null, 'q"\\', '', '{x}']`, '["a,b","NULL",null,"q\\"\\\\","","{x}"]'],
    ['array[]::text[]', '[]'],
    ["'[2:3]={1,2}'::int[]", '"[2:3]={1,2}"'],
    [`array['{"a": 1}'::jsonb, '2']`, '[{"a": 1},2]'],
    ["array['fine','bad']::mood[]", '["fine","bad"]'],
    ["'fine'::mood", '"fine"'],
    ['5::small', '5'],
    ['array[5]::small[]', '[5]'],
    ["date '2024-02-29'", '"2024-02-29"'],
    ["timestamptz '2024-02-29 12:00+02'", '"2024-02-29 10:00:00+00"'],
    ["interval '1 day 2 hours'", '"1 day 02:00:00"'],
    ["'10.0.0.1/8'::inet", '"10.0.0.1/8"'],
    ['int4range(1, 5)', '"[1,5)"'],
    ["row(1, 'a')", '"(1,a)"'],
    ["'zu groß 😀'", '"zu groß 😀"'],
    ["e'a\\nb\\x01'", '"a\\nb\\u0001"'],
    ['16384::oid', '"16384"'],
  ])('writes %s as %s (type table)', async (expression, json) => {
    expect(await rowsOf(`select ${expression} as v`)).toBe(`[{"v":${json}}]`);
  });

  it('applies settings of the text to this job only (AP-23, AP-26)', async () => {
    expect(await rowsOf("set timezone = 'Asia/Tokyo'; select timestamptz '2024-01-01 00:00Z' as t")).toBe(
      '[{"t":"2024-01-01 09:00:00+09"}]',
    );
    expect(await rowsOf("select timestamptz '2024-01-01 00:00Z' as t")).toBe('[{"t":"2024-01-01 00:00:00+00"}]');
    expect((await run("set timezone = 'UTC'")).result_data).toContain('"columns":[]');
  });

  it('runs SHOW and EXPLAIN (AP-28)', async () => {
    expect(await rowsOf('show transaction_read_only')).toBe('[{"transaction_read_only":"on"}]');
    expect(await rowsOf('explain (costs off) delete from parts where id = 1')).toContain('Delete on parts');
  });

  it('stops at the row limit and says so only when a further row exists (AP-71)', async () => {
    const cut = await run('select g from generate_series(1, 1000) g', { maxRows: 150 });
    expect(cut).toMatchObject({ success: true, truncated: true });
    expect(JSON.parse(cut.result_data as string)).toMatchObject({ truncation_reason: 'row limit reached (150)' });
    expect(JSON.parse(cut.result_data as string).rows).toHaveLength(150);
    expect(await run('select g from generate_series(1, 150) g', { maxRows: 150 })).toMatchObject({ truncated: false });
    expect(await run('select 1', { maxRows: 0 })).toMatchObject({ truncated: true });
  });

  it('stops before the byte limit would be passed (AP-40, AP-71)', async () => {
    const cut = await run("select g, repeat('ä', 1000) as t from generate_series(1, 100000) g", { maxResultBytes: 1_048_576 });
    const text = cut.result_data as string;
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1_048_576);
    expect(Buffer.byteLength(text)).toBeGreaterThan(1_045_000);
    expect(JSON.parse(text)).toMatchObject({ truncated: true, truncation_reason: 'size limit reached (1 MB)' });
  });

  it('keeps every value of a result of many pieces', async () => {
    const result = await run(`select g, repeat(chr(128512) || '"', 20) as t from generate_series(1, 5000) g`);
    const { rows } = JSON.parse(result.result_data as string);
    expect(rows).toHaveLength(5000);
    expect(rows.every((row: { g: number; t: string }, index: number) => row.g === index + 1 && row.t === '😀"'.repeat(20))).toBe(
      true,
    );
  });

  it('cannot write through a volatile function, and reports the error of the database (AP-I1)', async () => {
    const result = await run('select sneaky()');
    expect(result).toMatchObject({ success: false, outcome: 'rolled_back', cancelled: false });
    expect(result.error_message).toContain('SQLSTATE 25006');
    expect((await target.query('select count(*)::int as n from parts')).rows[0].n).toBe(3);
  });

  it('gives no rows out when the transaction was given an id, and closes that connection (AP-25, AP-29)', async () => {
    await target.query(
      'create or replace function take_id() returns text language sql volatile as $$ select pg_current_xact_id()::text $$',
    );
    expect(await rowsOf('show default_transaction_read_only')).toBe('[{"default_transaction_read_only":"on"}]');
    expect(await run('select take_id()')).toMatchObject({
      success: false,
      outcome: 'rolled_back',
      error_message: 'driver error: query failed: read-only guard broken',
    });
    expect(await rowsOf('select 1 as n')).toBe('[{"n":1}]');
  });

  it('reports a failed query with SQLSTATE and position (section 11)', async () => {
    const result = await run('select nothing from parts');
    expect(result.error_message).toBe('driver error: query failed: column "nothing" does not exist (SQLSTATE 42703, position 8)');
  });

  it('ends a statement at its timeout (AP-27)', async () => {
    const result = await run('select waits(20)', { statementTimeoutSecs: 1 });
    expect(result).toMatchObject({
      success: false,
      outcome: 'rolled_back',
      cancelled: false,
      error_message: 'driver error: query timed out after 1s',
    });
  });

  it('confirms a cancel that a heartbeat brought (AP-42, AP-43)', async () => {
    const job = gateway.offer({ detail: 'select waits(30)' });
    await untilActive(target, 'waits(30)');
    job.heartbeat.cancelled = true;
    expect(await job.result).toMatchObject({
      success: false,
      outcome: 'rolled_back',
      cancelled: true,
      error_message: 'driver error: query cancelled',
    });
  });

  it('refuses what the gate does not call a read (AP-21)', async () => {
    expect(await run('select 1; delete from parts where id = 1')).toMatchObject({ success: false, outcome: 'not_started' });
    expect((await run('update parts set name = null where id = 1')).error_message).toMatch(/^refused: /);
    expect((await run('commit')).error_message).toMatch(/^refused: /);
    expect((await run('-- nothing')).error_message).toBe('refused: no statement');
  });

  it('ends a row above max_row_bytes, and serves the next job (AP-72)', async () => {
    const result = await run("select repeat('x', 20000000) as t");
    expect(result).toMatchObject({ success: false, error_message: 'driver error: query failed: row too large' });
    expect(await rowsOf('select 1 as a')).toBe('[{"a":1}]');
  });
});
