import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findMysql } from '../../support/mysql.js';
import { type MysqlBench, rowsText, startMysqlBench } from '../../support/mysql-agent.js';
import { eventually } from '../../support/processes.js';

const server = await findMysql(import.meta.url);

describe.skipIf(server === null)('execute_select on MySQL', () => {
  let bench: MysqlBench;
  beforeAll(async () => {
    bench = await startMysqlBench(server!);
    await bench.root.query(`
      create table parts (id int primary key, name varchar(20));
      insert into parts values (1, 'bolt'), (2, 'nut'), (3, null);
      create view named as select name from parts where name is not null;
      create table numbers (n int primary key);
      insert into numbers with recursive g as (select 1 as n union all select n + 1 from g where n < 1000) select n from g;
      create table kept (id int primary key) engine=Aria;
      create function sneaky() returns int modifies sql data begin insert into parts values (99, 'x'); return 1; end;
      create function waits(seconds float) returns int return sleep(seconds);
      grant execute on ${bench.database.name}.* to '${bench.database.name}_r'@'%';
    `);
  });
  afterAll(() => bench?.close());

  const run = (detail: string, input = {}) => bench.run('execute_select', detail, input);
  const rowsOf = async (detail: string) => rowsText(await run(detail));

  it('AP-70: answers rows as objects in column order, with types', async () => {
    const result = await run('select id, name from parts order by id');
    expect(result).toMatchObject({ success: true, outcome: 'committed', fence: 1, rows_affected: null, truncated: false });
    expect(result.result_data).toBe(
      '{"columns":["id","name"],"column_types":["int","varchar"],"rows":[{"id":1,"name":"bolt"},{"id":2,"name":"nut"},{"id":3,"name":null}],"truncated":false,"truncation_reason":null}',
    );
  });

  it('AP-70: answers rows as arrays when two columns share a name, and columns without rows', async () => {
    expect(await rowsOf('select 9007199254740993 as id, 7 as id')).toBe('[[9007199254740993,7]]');
    expect((await run('select 1 as a from parts where false')).result_data).toBe(
      '{"columns":["a"],"column_types":["int"],"rows":[],"truncated":false,"truncation_reason":null}',
    );
    expect(await rowsOf("select '?' as a -- why?\n")).toBe('[{"a":"?"}]');
  });

  it('AP-23, AP-26: applies settings of the text to this job only', async () => {
    expect(await rowsOf("set time_zone = '+09:00'; select from_unixtime(0) as t")).toBe('[{"t":"1970-01-01 09:00:00"}]');
    expect(await rowsOf('select from_unixtime(0) as t')).toBe('[{"t":"1970-01-01 00:00:00"}]');
    expect((await run("set sql_mode = ''")).result_data).toContain('"columns":[]');
  });

  it('reads as the classifier read it, whatever the modes and character set of the server', async () => {
    await bench.root.query("set global sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,STRICT_TRANS_TABLES'");
    try {
      const other = await startMysqlBench(server!);
      try {
        const text = `select "a" as a, 'it\\'s' as b, 1 || 0 as c, 'zu groß 😀' as d, @@sql_mode as e`;
        expect(rowsText(await other.run('execute_select', text))).toBe(
          '[{"a":"a","b":"it\'s","c":1,"d":"zu groß 😀","e":"STRICT_TRANS_TABLES"}]',
        );
      } finally {
        await other.close();
      }
    } finally {
      await bench.root.query('set global sql_mode = default');
    }
  });

  it('AP-31: runs SHOW, DESCRIBE and EXPLAIN, and views that may be read but not planned', async () => {
    expect(await rowsOf("show tables like 'par%'")).toContain('parts');
    expect(await rowsOf('explain select * from parts where id = 1')).toContain('PRIMARY');
    expect(await rowsOf('select * from named order by name')).toBe('[{"name":"bolt"},{"name":"nut"}]');
    expect(await rowsOf('(select 1 as a) union all select 2')).toBe('[{"a":1},{"a":2}]');
    expect(await rowsOf('with n as (select 5 as a) select a from n')).toBe('[{"a":5}]');
    expect(await rowsOf('values (1)')).toBe('[{"1":1}]');
  });

  it('AP-71: stops at the row limit and says so only when a further row exists', async () => {
    const cut = await run('select n from numbers', { maxRows: 150 });
    expect(cut).toMatchObject({ success: true, truncated: true });
    expect(JSON.parse(cut.result_data as string)).toMatchObject({ truncation_reason: 'row limit reached (150)' });
    expect(JSON.parse(cut.result_data as string).rows).toHaveLength(150);
    expect(await run('select n from numbers', { maxRows: 1000 })).toMatchObject({ truncated: false });
    expect(await run('select 1', { maxRows: 0 })).toMatchObject({ truncated: true });
  });

  it('AP-40, AP-71: stops before the byte limit would be passed, and makes the server stop sending', async () => {
    const endless = "select a.n, repeat('ä', 1000) as t from numbers a, numbers b, numbers c, numbers d";
    const cut = await run(endless, { maxResultBytes: 1_048_576 });
    const text = cut.result_data as string;
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1_048_576);
    expect(Buffer.byteLength(text)).toBeGreaterThan(1_045_000);
    expect(JSON.parse(text)).toMatchObject({ truncated: true, truncation_reason: 'size limit reached (1 MB)' });
    const sending = "select count(*) from information_schema.processlist where db = database() and info like 'select a.n%'";
    await eventually(async () => Number(await bench.value(sending)) === 0);
  });

  it('AP-72: reads a result of many times the limits without keeping it', async () => {
    const many = "select repeat('x', 1000) as t from numbers a, numbers b limit 300000";
    globalThis.gc?.();
    const before = process.memoryUsage().rss;
    expect(await run(many, { maxResultBytes: 1_048_576 })).toMatchObject({ truncated: true });
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1_048_576);
  });

  it('AP-72: ends a row above max_row_bytes, and serves the next job', async () => {
    await bench.root.query('set global max_allowed_packet = 67108864');
    const result = await run("select repeat('x', 14000000) as a, repeat('x', 14000000) as b");
    expect(result).toMatchObject({ success: false, error_message: 'driver error: query failed: row too large' });
    expect(await rowsOf('select 1 as a')).toBe('[{"a":1}]');
  });

  it('AP-I1: cannot write through a function, and reports the error of the database', async () => {
    const result = await run('select sneaky()');
    expect(result).toMatchObject({ success: false, outcome: 'rolled_back', cancelled: false });
    expect(result.error_message).toContain('error 1792, SQLSTATE 25006');
    expect(await bench.value('select count(*) from parts')).toBe(3);
  });

  it('section 11: reports a failed query with its number and SQLSTATE, a refused one without the account', async () => {
    expect((await run('select nothing from parts')).error_message).toMatch(
      /^driver error: query failed: Unknown column 'nothing' in '(SELECT|field list)' \(error 1054, SQLSTATE 42S22\)$/,
    );
    const denied = (await run('select * from mysql.global_priv')).error_message;
    expect(denied).toContain('error 1142');
    expect(denied).not.toContain(bench.database.name);
  });

  it('AP-30: ends a statement at its timeout', async () => {
    expect(await run('select waits(20)', { statementTimeoutSecs: 1 })).toMatchObject({
      success: false,
      outcome: 'rolled_back',
      cancelled: false,
      error_message: 'driver error: query timed out after 1s',
    });
  });

  it('AP-42, AP-43: confirms a cancel that a heartbeat brought', async () => {
    const job = bench.offer('execute_select', 'select count(*) from numbers a, numbers b, numbers c where a.n + b.n = c.n * 7');
    await bench.untilActive('c.n * 7');
    job.heartbeat.cancelled = true;
    expect(await job.result).toMatchObject({
      success: false,
      outcome: 'rolled_back',
      cancelled: true,
      error_message: 'driver error: query cancelled',
    });
  });

  it('AP-21: refuses what the gate does not call a read', async () => {
    expect(await run('select 1; delete from parts where id = 1')).toMatchObject({ success: false, outcome: 'not_started' });
    for (const text of ['update parts set name = null', 'select 1 for update', 'select /*!50000 sleep(1) */ 1', 'commit']) {
      expect((await run(text)).error_message).toMatch(/^refused: /);
    }
    expect((await run('-- nothing')).error_message).toBe('refused: no statement');
  });
});
