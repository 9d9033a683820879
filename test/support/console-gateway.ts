import { readFileSync } from 'node:fs';
import pg from 'pg';
import { currentConsole } from '../../bin/console.mjs';
import { startTestApi, type TestApi } from './api.js';
import { createEmptyDatabase, type TestDatabase } from './postgres.js';
import { eventually } from './processes.js';
import { startTestAgent, type TestAgent } from './test-agent.js';
import { databaseToml, dbaTeamToml, needsDbaToml } from './toml.js';

/** Where the page is built to. */
export const consoleDist = new URL('../../dist/', import.meta.url);

/** The tables of the demo. */
const shopSql = new URL('../../dev/shop.sql', import.meta.url);

/** A real gateway with a real agent and a target database, in which alice asks and bob approves. `close` it after the file. */
export interface ConsoleGateway {
  api: TestApi;
  agent: TestAgent;
  /** The target database. */
  database: pg.Client;
  tokens: Record<'alice' | 'bob', string>;
  ask(detail: string, more?: object): Promise<string>;
  statusOf(id: string): Promise<string>;
  close(): Promise<void>;
}

export async function startConsoleGateway(): Promise<ConsoleGateway> {
  await currentConsole();
  const toml = [databaseToml('shop', ['staging']), dbaTeamToml, needsDbaToml('staging')].join('');
  const [api, target]: [TestApi, TestDatabase] = await Promise.all([startTestApi({ toml, consoleDist }), createEmptyDatabase()]);
  const alice = await api.createUser('alice', { roles: ['requester'] });
  const bob = await api.createUser('bob', { roles: ['requester'], groups: ['dba-team'] });
  const head = 'operations = ["execute_select", "execute_dml"]';
  const database = new pg.Client({ connectionString: target.url });
  await database.connect();
  await database.query(`${readFileSync(shopSql, 'utf8')}; create table items (id int primary key, name text)`);
  const agent = startTestAgent({ gateway: api, token: api.tokens.agent, url: target.url, head });
  await eventually(
    async () => (await api.call('GET', '/api/schemas/shop?environment=staging', { token: api.tokens.admin })).status === 200,
  );
  const ask = async (detail: string, more: object = {}) => {
    const body = { database: 'shop', environment: 'staging', detail, reason: 'a test', ...more };
    const { status, body: made, text } = await api.call('POST', '/api/requests', { token: alice, body });
    if (status !== 201) throw new Error(text);
    return made.id as string;
  };
  return {
    api,
    agent,
    database,
    tokens: { alice, bob },
    ask,
    statusOf: async (id) => (await api.call('GET', `/api/requests/${id}`, { token: alice })).body.status,
    close: async () => {
      await database.end();
      agent.stop();
      await agent.exit;
      await api.close();
      await target.drop();
    },
  };
}
