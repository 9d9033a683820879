import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { withLiveMemory } from '../support/live-memory.js';
import { findMysql } from '../support/mysql.js';
import { createEmptyDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';

const mebibyte = 1_048_576;
const maxResultBytes = 4 * mebibyte;
const maxRowBytes = 4 * mebibyte;
/** AP-72. */
const boundBytes = 3 * maxResultBytes + maxRowBytes + 2 * mebibyte;

const digits = Array.from({ length: 10 }, (_, digit) => `select ${digit} as d`).join(' union all ');
/** Up to ten million rows without a table, on any MySQL or MariaDB. */
const mysqlRows = (count: number) =>
  `with t as (${digits}) select a.d as n, 'some text of a row' as word from t a, t b, t c, t d, t e, t f, t g limit ${count}`;
const all = 10_000_000;
const server = await findMysql(import.meta.url);
const kinds = [
  {
    name: 'PostgreSQL',
    missing: false,
    open: async () => createEmptyDatabase(),
    rows: (count: number) => `select g as n, 'some text of a row' as word from generate_series(1, ${count}) g`,
  },
  { name: 'MySQL', missing: server === null, open: async () => server!.createDatabase(), rows: mysqlRows },
];

describe.each(kinds.filter(({ missing }) => !missing))(`${all} rows of $name`, ({ open, rows }) => {
  let database: { url: string; drop: () => Promise<void> };
  let gateway: FakeGateway;
  let agent: TestAgent;
  beforeAll(async () => {
    [database, gateway] = await Promise.all([open(), startFakeGateway()]);
    agent = startTestAgent({
      gateway,
      url: database.url,
      tables: `[limits]\nmax_rows = 20000000\nmax_result_bytes = ${maxResultBytes}\nmax_row_bytes = ${maxRowBytes}`,
    });
    await gateway.nextPoll((body) => Number(body.limit) > 0);
    // What is loaded once does not count as memory of a job.
    await gateway.offer({ detail: 'select 1' }).result;
    await gateway.offer({ operation: 'execute_dml', detail: 'create table changed (n int)' }).result;
  });
  afterAll(async () => {
    agent?.stop();
    await agent?.exit;
    await gateway?.close();
    await database?.drop();
  });

  it('AP-72, AP-I8: a read is cut at its limit and needs no more memory than the rule allows', async () => {
    const { value, grownBytes } = await withLiveMemory(() => gateway.offer({ detail: rows(all) }).result);
    expect(value).toMatchObject({ success: true, truncated: true });
    // The gateway of the test, in this process too, holds the submission twice.
    expect(grownBytes).toBeLessThan(boundBytes + 4 * maxResultBytes);
  }, 120_000);

  it('AP-36, AP-72: a write whose last statement gives them all runs to its end within the same memory', async () => {
    const work = () =>
      gateway.offer({
        operation: 'execute_dml',
        detail: `insert into changed values (1); ${rows(all)}`,
        maxResultBytes: 65_536,
        statementTimeoutSecs: 170,
      }).result;
    const { value, grownBytes } = await withLiveMemory(work);
    expect(value).toMatchObject({ success: true, truncated: true, outcome: 'committed' });
    expect(grownBytes).toBeLessThan(boundBytes);
  }, 180_000);

  it('AP-I8, AP-43: a cancel while they come is confirmed', async () => {
    const job = gateway.offer({ operation: 'execute_dml', detail: `insert into changed values (1); ${rows(all)}` });
    await eventually(() => job.heartbeats > 2);
    job.heartbeat.cancelled = true;
    expect(await job.result).toMatchObject({ success: false, outcome: 'rolled_back', cancelled: true });
  }, 120_000);
});
