import type { Connection } from 'mysql2/promise';
import mysql from 'mysql2/promise';
import { expect } from 'vitest';
import { type FakeGateway, startFakeGateway } from './fake-gateway.js';
import type { FakeJob, JobInput } from './fake-job.js';
import type { MysqlDatabase, MysqlServer } from './mysql.js';
import { eventually } from './processes.js';
import { startTestAgent, type TestAgent, type TestAgentOptions } from './test-agent.js';

/** An agent in this process with one MySQL target, behind a gateway that only passes jobs on. */
export interface MysqlBench {
  database: MysqlDatabase;
  gateway: FakeGateway;
  agent: TestAgent;
  /** The test's own connection, with all rights on the server. */
  root: Connection;
  offer(operation: string, detail: string, input?: Partial<JobInput>): FakeJob;
  run(operation: string, detail: string, input?: Partial<JobInput>): Promise<Record<string, unknown>>;
  /** The first column of one row. */
  value(sql: string, values?: string[]): Promise<unknown>;
  /** Waits until another connection runs a statement that contains the text. */
  untilActive(text: string): Promise<unknown>;
  close(): Promise<void>;
}

type Options = Partial<Omit<TestAgentOptions, 'gateway'>>;

/** Starts all of it. `through` may put a proxy in front of the address for writes. */
export async function startMysqlBench(
  server: MysqlServer,
  options: Options & { through?: (url: string) => string } = {},
): Promise<MysqlBench> {
  const database = await server.createDatabase();
  const gateway = await startFakeGateway();
  const root = await mysql.createConnection({ uri: database.adminUrl, rowsAsArray: true, multipleStatements: true });
  // Tests of the same server set the global mode, in which values of this session would be quoted wrongly.
  await root.query(
    "set session sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION'",
  );
  const url = options.through?.(database.url) ?? database.url;
  const agent = startTestAgent({ gateway, ...options, url, tables: `read_url = "${database.readUrl}"\n${options.tables ?? ''}` });
  await gateway.nextPoll();
  const fit = `update svc_execution_marker set approval_digest = ? where request_id = ? and fence < ?`;
  gateway.onClaim = async (claim) =>
    claim.fence > 1 && root.query(fit, [claim.approvalDigest, claim.requestId, claim.fence]).catch(() => {});
  const offer: MysqlBench['offer'] = (operation, detail, input) => gateway.offer({ operation, detail, ...input });
  const value = async (sql: string, values: string[] = []) => ((await root.query(sql, values))[0] as unknown[][])[0]?.[0];
  return {
    database,
    gateway,
    agent,
    root,
    offer,
    value,
    run: (operation, detail, input) => offer(operation, detail, input).result,
    untilActive: (text) =>
      eventually(async () => {
        const sql =
          'select count(*) from information_schema.processlist where db = database() and id <> connection_id() and info like ?';
        return Number(await value(sql, [`%${text}%`])) > 0;
      }),
    async close() {
      agent.stop();
      await agent.exit;
      await gateway.close();
      await root.end();
      await database.drop();
    },
  };
}

/** The rows text of a result, as the agent wrote it. */
export function rowsText(result: Record<string, unknown>): string {
  expect(result).toMatchObject({ success: true, outcome: 'committed' });
  return /"rows":(\[.*\]),"truncated"/.exec(result.result_data as string)?.[1] ?? '';
}
