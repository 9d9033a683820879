import { expect, it } from 'vitest';
import { startMigrationBench } from '../../support/migration-bench.js';
import { openOwnPostgres } from '../../support/own-postgres.js';

it('MI-38, AP-I5: a DROP DATABASE that is interrupted half-way is partial, with what ends it', async () => {
  const server = await openOwnPostgres();
  const url = server.url('postgres');
  const bench = await startMigrationBench({ database: { url, adminUrl: url, drop: async () => {} } });
  await bench.target.query('create database former');
  const { rows } = await bench.target.query(`select pid from pg_stat_activity where backend_type = 'checkpointer'`);
  // The statement waits for a checkpoint once it cannot go back any more.
  process.kill(rows[0].pid, 'SIGSTOP');
  const drop = { version: 'v1', up: 'drop database former', transactional: false };
  const result = await bench.up([drop], null, { statementTimeoutSecs: 1 });
  process.kill(rows[0].pid, 'SIGCONT');
  expect(result).toMatchObject({ success: false, outcome: 'partial', cancelled: false });
  expect(result.error_message).toMatch(
    /^migration timed out \(version v1\): .*; what was dropped can no longer be used: to end that, DROP DATABASE former$/,
  );
  expect(await bench.versions()).toEqual([]);
  expect(await bench.up([drop])).toMatchObject({ success: true });
  await bench.close();
  await server.close();
});
