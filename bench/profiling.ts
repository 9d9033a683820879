import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import type { Child } from '../dev/child.js';
import type { PostgresServer } from '../dev/postgres.js';
import { sleep } from '../lib/sleep.js';

const writeWaitMs = 3000;

/**
 * Profiles what `measure` runs: the CPU of the three programs, and every statement of PostgreSQL with its duration. Without a
 * folder nothing is profiled.
 */
export function createProfiling(
  folder: string | null,
  processes: readonly Child[],
  postgres: PostgresServer,
  postgresLog: string,
) {
  const toggle = () => {
    for (const { name, pid } of processes) if (/server|worker|agent/.test(name)) process.kill(pid, 'SIGUSR2');
  };
  return {
    async measure<T>(work: () => Promise<T>): Promise<T> {
      if (folder === null) return work();
      await logStatements(postgres, true);
      toggle();
      const result = await work();
      toggle();
      await logStatements(postgres, false);
      await sleep(writeWaitMs);
      copyFileSync(postgresLog, join(folder, 'postgres.log'));
      return result;
    },
  };
}

async function logStatements(postgres: PostgresServer, on: boolean): Promise<void> {
  const client = new pg.Client({ connectionString: postgres.url('postgres') });
  await client.connect();
  await client.query(`alter system set log_line_prefix = '%m [%p] %a '`);
  await client.query(`alter system set log_min_duration_statement = ${on ? 0 : -1}`);
  await client.query('select pg_reload_conf()');
  await client.end();
  await sleep(500);
}
