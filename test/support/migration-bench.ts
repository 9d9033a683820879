import pg from 'pg';
import { type FakeGateway, startFakeGateway } from './fake-gateway.js';
import type { FakeJob, JobInput } from './fake-job.js';
import { createEmptyDatabase, type TestDatabase } from './postgres.js';
import { startTestAgent, type TestAgent, type TestAgentOptions } from './test-agent.js';

export interface MigrationFile {
  version: string;
  up: string;
  down?: string;
  transactional?: boolean;
}

type Operation = 'migrate_up' | 'migrate_down' | 'migrate_status' | 'migrate_repair';
export type Result = Record<string, unknown> & { success: boolean; outcome: string; error_message?: string };

/** The detail of `migrate_up` or `migrate_down` for these files, as a client makes it (MI-10). */
export function bundleOf(direction: 'up' | 'down', files: readonly MigrationFile[], maxCount: number | null = null): string {
  const migrations = files
    .filter(({ down }) => direction === 'up' || down !== undefined)
    .map(({ version, up, down, transactional }) => ({
      version,
      sql: direction === 'up' ? up : down,
      transactional,
    }));
  const versions = migrations.map(({ version }) => version);
  const cap = maxCount ?? (direction === 'down' ? 1 : null);
  return JSON.stringify({ format: 'v2', direction, versions, migrations, dir_sha256: 'ab', max_count: cap });
}

/** Migrations that create and drop the tables t1, t2 and so on; their versions are v1, v2 and so on. */
export function tableFiles(count: number): MigrationFile[] {
  return Array.from({ length: count }, (_, index) => {
    const table = `t${index + 1}`;
    return { version: `v${index + 1}`, up: `create table ${table} (id int)`, down: `drop table ${table}` };
  });
}

export function dataOf(result: Record<string, unknown>): unknown {
  return JSON.parse((result.result_data as string | undefined) ?? 'null');
}

/** An agent in this process with one empty PostgreSQL target, behind a gateway that only passes jobs on. */
export interface MigrationBench {
  url: string;
  /** The test's own connection, with all rights. */
  target: pg.Client;
  gateway: FakeGateway;
  agent: TestAgent;
  offer(operation: Operation, detail: string, input?: Partial<JobInput>): FakeJob;
  run(operation: Operation, detail: string, input?: Partial<JobInput>): Promise<Result>;
  /** Applies the files, or at most `max_count` of them. */
  up(files: readonly MigrationFile[], maxCount?: number | null, input?: Partial<JobInput>): Promise<Result>;
  down(files: readonly MigrationFile[], maxCount: number, input?: Partial<JobInput>): Promise<Result>;
  /** The version rows, ascending; empty when there is no table. */
  versions(): Promise<string[]>;
  /** Names of the tables of schema public, without the marker table. */
  tables(): Promise<string[]>;
  /** Step, mode and state of the request's marker rows. */
  markers(requestId: string): Promise<string[]>;
  /** Drops all that the test made. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

const ALL_OPERATIONS =
  'operations = ["execute_select", "execute_dml", "migrate_up", "migrate_down", "migrate_status", "migrate_repair"]';

type Options = Partial<Omit<TestAgentOptions, 'gateway' | 'url'>> & {
  database?: TestDatabase;
  through?: (url: string) => string;
  /** How long the agent waits for an earlier attempt. */
  fenceWaitSecs?: number;
};

/** Starts all of it, in a new database unless one is given. `through` may put a proxy in front of the address. */
export async function startMigrationBench(options: Options = {}): Promise<MigrationBench> {
  const database = options.database ?? (await createEmptyDatabase());
  const target = new pg.Client({ connectionString: database.url });
  await target.connect();
  const gateway = await startFakeGateway();
  const head = `${ALL_OPERATIONS}\nfence_wait_secs = ${options.fenceWaitSecs ?? 1}\nmigration_lock_wait_secs = 3\n${options.head ?? ''}`;
  const agent = startTestAgent({ gateway, ...options, url: options.through?.(database.url) ?? database.url, head });
  await gateway.nextPoll();
  const fit = `update svc.svc_execution_marker set approval_digest = $2 where request_id = $1 and fence < $3`;
  gateway.onClaim = async (claim) =>
    claim.fence > 1 && target.query(fit, [claim.requestId, claim.approvalDigest, String(claim.fence)]).catch(() => {});
  const offer: MigrationBench['offer'] = (operation, detail, input) => gateway.offer({ operation, detail, ...input });
  const run: MigrationBench['run'] = async (...args) => (await offer(...args).result) as Result;
  const column = async (sql: string, values: string[] = []) =>
    (await target.query({ text: sql, values, rowMode: 'array' })).rows.map(([value]) => String(value));
  return {
    url: database.url,
    target,
    gateway,
    agent,
    offer,
    run,
    up: (files, maxCount = null, input = {}) => run('migrate_up', bundleOf('up', files, maxCount), input),
    down: (files, maxCount, input = {}) => run('migrate_down', bundleOf('down', files, maxCount), input),
    versions: () => appliedVersions(target),
    tables: () =>
      column(
        "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and relname not like 'svc%' order by 1",
      ),
    markers: (requestId) =>
      column(
        "select concat_ws(' ', nullif(step, ''), mode, state, fence) from svc.svc_execution_marker where request_id = $1 order by fence, step",
        [requestId],
      ),
    async clear() {
      const names = await column(
        "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and relname not like 'svc%'",
      );
      for (const name of names) await target.query(`drop table "${name}" cascade`);
    },
    async close() {
      agent.stop();
      await agent.exit;
      await gateway.close();
      await target.end();
      await database.drop();
    },
  };
}

/** The version rows, ascending; empty when there is no table. */
export async function appliedVersions(target: pg.Client): Promise<string[]> {
  const there = await target.query("select to_regclass('schema_migrations') as name");
  if (there.rows[0].name === null) return [];
  return (await target.query('select version from schema_migrations order by version collate "C"')).rows.map(
    ({ version }) => version,
  );
}
