import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { expect } from 'vitest';
import { gatewayCalls } from '../api/gateway-calls.js';
import { startTestApi } from '../support/api.js';
import { createEmptyDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { startTestAgent, type TestAgent, type TestAgentOptions } from '../support/test-agent.js';
import { databaseToml, dbaTeamToml, passesToml, workflowToml } from '../support/toml.js';

const passesAll = [
  databaseToml('shop', ['staging']),
  dbaTeamToml,
  passesToml('staging'),
  '[[execution_policies]]\nmax_executions = 20\nretry_on_failure = true\n',
].join('');

const passesByRisk = [
  databaseToml('shop', ['staging']),
  dbaTeamToml,
  workflowToml({ auto: '{ mode = "risk_based", risk = "low" }', steps: [[{ group: 'dba-team' }]] }),
].join('');

/** A bench where low risk passes: bob asks, carol approves, and an agent has sent the schema of the target, which `tables` fills first. */
export async function startRiskBench(tables = '') {
  const bench = await startGatewayBench(passesByRisk);
  await bench.target.query(tables);
  const bob = await bench.api.createUser('bob', { roles: ['requester'] });
  const carol = await bench.api.createUser('carol', { groups: ['dba-team'] });
  bench.start({ token: await bench.agentToken() });
  const synced = () => bench.calls.sql(`select 1 from schema_snapshots where last_status = 'ready'`);
  await eventually(async () => (await synced()).length === 1);
  return { bench, bob, carol };
}

export type GatewayBench = Awaited<ReturnType<typeof startGatewayBench>>;

/** A real gateway and a target with a table `entries (word text)`; agents are started by the test, and stopped by `close`. */
export async function startGatewayBench(toml = passesAll) {
  const [api, database] = await Promise.all([
    startTestApi({ toml, times: { cancelWaitMs: 20, claimWithinMs: 3000 } }),
    createEmptyDatabase(),
  ]);
  const target = new pg.Client({ connectionString: database.url });
  await target.connect();
  await target.query('create table entries (word text)');
  const dana = await api.createUser('dana', { roles: ['requester'] });
  const calls = gatewayCalls(api);
  const agents: TestAgent[] = [];
  let tokens = 0;
  const statusOf = async (id: string): Promise<string> => (await calls.show(dana, id)).body.status;
  return {
    api,
    target,
    targetUrl: database.url,
    dana,
    calls,
    statusOf,
    /** A token for one more agent. */
    async agentToken(): Promise<string> {
      tokens += 1;
      const body = { subject_id: `agent-${tokens}`, subject_type: 'agent' };
      const answer = await api.call('POST', '/api/tokens', { token: api.tokens.admin, body });
      expect(answer.status).toBe(201);
      return answer.body.token;
    },
    start(options: Partial<TestAgentOptions> & { token: string }): TestAgent {
      const agent = startTestAgent({ gateway: api, url: database.url, ...options });
      agents.push(agent);
      return agent;
    },
    async stopAll(): Promise<void> {
      for (const agent of agents) agent.stop();
      await Promise.all(agents.splice(0).map(({ exit }) => exit));
    },
    /** Repeated under its idempotency key while the gateway says that it is too busy, as clients do. */
    async create(detail: string): Promise<string> {
      const operation = /^select/i.test(detail) ? {} : { operation: 'execute_dml' };
      const request = { environment: 'staging', detail, ...operation, idempotency_key: randomUUID() };
      let answer = await calls.create(dana, request);
      await eventually(async () => {
        if (answer.status === 503) answer = await calls.create(dana, request);
        return answer.status !== 503;
      }, 120_000);
      expect([200, 201]).toContain(answer.status);
      return answer.body.id;
    },
    async ended(id: string): Promise<string> {
      await eventually(async () => !/dispatched|running/.test(await statusOf(id)), 60_000);
      return statusOf(id);
    },
    newestRun: async (id: string) => (await calls.executions(dana, id)).body.executions[0],
    resume: (id: string) => calls.act(dana, id, 'resume'),
    cancel: (id: string) => calls.act(dana, id, 'cancel'),
    audited: (id: string, type: string) =>
      calls.sql<{ outcome: string; metadata: Record<string, unknown> }>(
        'select outcome, metadata_json::jsonb as metadata from audit_events where request_id = $1 and event_type = $2',
        [id, type],
      ),
    words: async (): Promise<string[]> =>
      (await target.query('select word from entries order by word')).rows.map(({ word }) => word),
    async close(): Promise<void> {
      for (const agent of agents) agent.stop();
      await Promise.all(agents.map(({ exit }) => exit));
      await api.close();
      await target.end();
      await database.drop();
    },
  };
}
