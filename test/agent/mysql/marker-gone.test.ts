import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JobInput } from '../../support/fake-job.js';
import { findMysql } from '../../support/mysql.js';
import { type MysqlBench, startMysqlBench } from '../../support/mysql-agent.js';

const server = await findMysql(import.meta.url);

describe.skipIf(server === null)('a marker table on MySQL that is dropped while the agent runs', () => {
  let bench: MysqlBench;
  beforeAll(async () => {
    bench = await startMysqlBench(server!);
  });
  beforeEach(() =>
    bench.root.query('create or replace table parts (id int primary key, qty int); insert into parts values (1, 10)'),
  );
  afterAll(() => bench?.close());
  const run = (input: Partial<JobInput> = {}) => bench.offer('execute_dml', 'update parts set qty = qty + 1', input).result;
  const unproven = {
    outcome: 'unknown',
    error_message: 'the marker table is newer than a lost attempt: it is not known what attempt 1 did',
  };

  it('AP-51, AP-52: is made again after the write that is refused for it, but no lost write is run', async () => {
    const requestId = randomUUID();
    expect(await run({ requestId })).toMatchObject({ outcome: 'committed' });
    await bench.root.query('drop table svc_execution_marker');
    expect(await run()).toMatchObject({ outcome: 'not_started', error_message: 'marker table not available' });
    await expect.poll(() => bench.value("show tables like 'svc_execution_marker'")).toBe('svc_execution_marker');
    expect(await run()).toMatchObject({ outcome: 'committed' });
    expect(await run({ requestId, fence: 2, unresolvedFences: [1] })).toMatchObject(unproven);
    expect(await bench.value('select qty from parts')).toBe(12);
  });

  it('AP-54, AG-I3: that is emptied proves nothing of an earlier write', async () => {
    const requestId = randomUUID();
    expect(await run({ requestId })).toMatchObject({ outcome: 'committed' });
    expect(await run({ requestId, fence: 2, unresolvedFences: [1] })).toMatchObject({ outcome: 'already_applied' });
    await bench.root.query('delete from svc_execution_marker');
    expect(await run({ requestId, fence: 3, unresolvedFences: [1] })).toMatchObject(unproven);
    expect(await bench.value('select qty from parts')).toBe(11);
  });
});
