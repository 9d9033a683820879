import type { JobInput } from './fake-job.js';
import { bundleOf, type MigrationFile, type Result } from './migration-bench.js';
import type { MysqlServer } from './mysql.js';
import { type MysqlBench, startMysqlBench } from './mysql-agent.js';

/** An agent that may migrate one empty MySQL target. */
export interface MysqlMigrationBench extends MysqlBench {
  up(files: readonly MigrationFile[], maxCount?: number | null, input?: Partial<JobInput>): Promise<Result>;
  down(files: readonly MigrationFile[], maxCount: number, input?: Partial<JobInput>): Promise<Result>;
  repair(action: 'mark_applied' | 'remove', version: string): Promise<Result>;
  /** The version rows, ascending by bytes; empty when there is no table. */
  versions(): Promise<string[]>;
  /** Names of the tables, without those of the gateway. */
  tables(): Promise<string[]>;
  /** Step, mode, state and fence of the request's marker rows. */
  markers(requestId: string): Promise<string[]>;
  /** One column, as texts. */
  column(sql: string, values?: string[]): Promise<string[]>;
  /** Drops all that the test made. */
  clear(): Promise<void>;
}

const head = `operations = ["execute_select", "execute_dml", "migrate_up", "migrate_down", "migrate_status", "migrate_repair"]
fence_wait_secs = 20
`;

/** Starts all of it. `lockWaitSecs`: how long the agent waits for the lock of other migrations. */
export async function startMysqlMigrationBench(server: MysqlServer, lockWaitSecs = 20): Promise<MysqlMigrationBench> {
  const bench = await startMysqlBench(server, { head: `${head}migration_lock_wait_secs = ${lockWaitSecs}\n` });
  const column: MysqlMigrationBench['column'] = async (sql, values = []) =>
    ((await bench.root.query(sql, values))[0] as unknown[][]).map(([value]) => String(value));
  const run = async (...args: Parameters<MysqlBench['run']>) => (await bench.run(...args)) as Result;
  const allTables = () =>
    column(
      `select table_name from information_schema.tables where table_schema = database() and table_name not like 'svc%' order by cast(table_name as binary)`,
    );
  return {
    ...bench,
    column,
    up: (files, maxCount = null, input = {}) => run('migrate_up', bundleOf('up', files, maxCount), input),
    down: (files, maxCount, input = {}) => run('migrate_down', bundleOf('down', files, maxCount), input),
    repair: (action, version) => run('migrate_repair', JSON.stringify({ action, version })),
    async versions() {
      if (!(await allTables()).includes('schema_migrations')) return [];
      return column('select version from schema_migrations order by cast(version as binary)');
    },
    tables: async () => (await allTables()).filter((name) => name !== 'schema_migrations'),
    markers: (requestId) =>
      column(
        `select concat_ws(' ', nullif(step, ''), mode, state, fence) from svc_execution_marker where request_id = ? order by fence, step`,
        [requestId],
      ),
    async clear() {
      for (const name of await allTables()) await bench.root.query(`drop table \`${name}\``);
    },
  };
}
