import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findMysql } from '../../support/mysql.js';
import { type MysqlBench, startMysqlBench } from '../../support/mysql-agent.js';
import { eventually } from '../../support/processes.js';

const server = await findMysql(import.meta.url);

describe.skipIf(server === null)('a job on MySQL that waits for its markers', () => {
  let bench: MysqlBench;
  beforeAll(async () => {
    bench = await startMysqlBench(server!);
    await bench.root.query('create table parts (id int primary key)');
  });
  afterAll(() => bench?.close());

  /** The result of a write whose marker table somebody else has locked; `then` is done once it waits. */
  async function waiting(input: { statementTimeoutSecs: number }, then: (job: ReturnType<MysqlBench['offer']>) => void) {
    await bench.root.query('lock tables svc_execution_marker write');
    try {
      const job = bench.offer('execute_dml', 'insert into parts values (1)', input);
      const waits = `select 1 from information_schema.processlist where state like 'Waiting for table metadata lock%' and info like '%svc_execution_marker%'`;
      await eventually(async () => ((await bench.root.query(waits))[0] as unknown[]).length > 0);
      then(job);
      return await job.result;
    } finally {
      await bench.root.query('unlock tables');
    }
  }

  it('AP-42, AP-45: is cancelled there, and has not started', async () => {
    const result = waiting({ statementTimeoutSecs: 30 }, (job) => {
      job.heartbeat.cancelled = true;
    });
    expect(await result).toMatchObject({
      outcome: 'not_started',
      cancelled: true,
      error_message: 'driver error: query cancelled',
    });
  });

  it('AP-20: waits no longer than a statement of it may', async () => {
    expect(await waiting({ statementTimeoutSecs: 1 }, () => {})).toMatchObject({
      outcome: 'not_started',
      error_message: 'driver error: query timed out after 1s',
    });
  });
});
