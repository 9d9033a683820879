import { type FakeGateway, startFakeGateway } from './fake-gateway.js';
import type { FakeJob, JobInput } from './fake-job.js';
import { bundleOf, type MigrationFile, type Result } from './migration-bench.js';
import type { MysqlBench } from './mysql-agent.js';
import { startTestAgent, type TestAgent } from './test-agent.js';

/** Another agent for the database of a bench, behind a gateway of its own. */
export interface OtherAgent {
  gateway: FakeGateway;
  agent: TestAgent;
  up(files: readonly MigrationFile[], input?: Partial<JobInput>): Promise<Result>;
  offer(files: readonly MigrationFile[], input?: Partial<JobInput>): FakeJob;
  /** Ends the agent, if the test has not done so, and its gateway. */
  close(): Promise<void>;
}

/** Starts it; `head` stands before the tables of its agent.toml. */
export async function startOtherAgent({ database }: Pick<MysqlBench, 'database'>, head = ''): Promise<OtherAgent> {
  const gateway = await startFakeGateway();
  const agent = startTestAgent({ gateway, url: database.url, tables: `read_url = "${database.readUrl}"\n`, head });
  await gateway.nextPoll();
  const offer: OtherAgent['offer'] = (files, input) =>
    gateway.offer({ operation: 'migrate_up', detail: bundleOf('up', files), ...input });
  return {
    gateway,
    agent,
    offer,
    up: async (files, input) => (await offer(files, input).result) as Result,
    async close() {
      agent.stop();
      await agent.exit;
      await gateway.close();
    },
  };
}
