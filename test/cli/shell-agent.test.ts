import pg from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { createEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';
import { databaseToml, dbaTeamToml, needsDbaToml } from '../support/toml.js';
import { runSvc, type SvcOptions } from './run-svc.js';

vi.setConfig({ testTimeout: 150_000 });

/** A real gateway, a real agent and a real PostgreSQL; every request needs bob. */
let api: TestApi;
let target: TestDatabase;
let agent: TestAgent;
let database: pg.Client;
let tokens: Record<'alice' | 'bob', string>;
beforeAll(async () => {
  const toml = [databaseToml('shop', ['staging']), dbaTeamToml, needsDbaToml('staging')].join('');
  [api, target] = await Promise.all([startTestApi({ toml }), createEmptyDatabase()]);
  const alice = await api.createUser('alice', { roles: ['requester'] });
  const bob = await api.createUser('bob', { roles: ['requester'], groups: ['dba-team'] });
  tokens = { alice, bob };
  const operations = ['execute_select', 'execute_dml'];
  const head = `operations = ${JSON.stringify(operations)}`;
  agent = startTestAgent({ gateway: api, token: api.tokens.agent, url: target.url, head });
  database = new pg.Client({ connectionString: target.url });
  await database.connect();
  await database.query('create table items (id int primary key, name text)');
});
afterAll(async () => {
  await database.end();
  agent.stop();
  expect(await agent.exit).toBe(0);
  await api.close();
  await target.drop();
});

const svc = (user: keyof typeof tokens, argv: string[], options: SvcOptions = {}) =>
  runSvc(argv, {
    environment: { SVC_SERVER_URL: api.url, SVC_TOKEN: tokens[user], SVC_DATABASE: 'shop', SVC_ENV: 'staging', SVC_YES: '1' },
    ...options,
  });

async function pendingIds(): Promise<string[]> {
  const { stdout } = await svc('alice', ['request', 'list', '--status', 'pending', '--json']);
  return JSON.parse(stdout).data.requests.map(({ id }: { id: string }) => id);
}

it('svc shell waits for the approval of each statement in turn, and stops where the database refuses one (CL-53)', async () => {
  const stdin =
    "insert into items values (1, 'a;b');\ninsert into items values (1, 'twice');\ninsert into items values (3, 'c');";
  const running = svc('alice', ['shell', '--wait', '--no-preflight'], { stdin });
  for (const _ of ['first', 'second']) {
    const [id, ...others] = await eventually(async () => {
      const ids = await pendingIds();
      return ids.length > 0 && ids;
    }, 60_000);
    expect(others).toEqual([]);
    expect((await svc('bob', ['request', 'approve', id!])).code).toBe(0);
  }
  const { code, stderr } = await running;
  expect([code, stderr]).toEqual([3, expect.stringContaining('duplicate key value')]);
  expect((await database.query('select id, name from items')).rows).toEqual([{ id: 1, name: 'a;b' }]);
  expect(await pendingIds()).toEqual([]);
});

it('svc request watch follows what others do with a request, and does nothing to it (CL-35)', async () => {
  const asked = await svc('alice', ['execute', 'select count(*) from items', '--ask', '--json']);
  const { request_id: id } = JSON.parse(asked.stdout).data;
  let isWatched = false;
  const watching = svc('bob', ['request', 'watch', id], {
    started: ({ stdout }) => void eventually(() => stdout().includes(' pending: ')).then(() => (isWatched = true)),
  });
  await eventually(() => isWatched);
  await svc('bob', ['request', 'approve', id]);
  await svc('alice', ['request', 'resume', id]);
  const { code, stdout } = await watching;
  expect(code).toBe(0);
  const lines = stdout.trimEnd().split('\n');
  expect(lines[0]).toMatch(/^\d{4}-\d\d-\d\dT\S+Z pending: next approvers group:dba-team \(0\/1 steps\)$/);
  expect(lines.at(-1)).toMatch(/Z executed$/);
  const rejected = JSON.parse((await svc('alice', ['execute', 'select 2', '--ask', '--json'])).stdout).data.request_id;
  await svc('bob', ['request', 'reject', rejected]);
  expect((await svc('alice', ['request', 'watch', rejected])).code).toBe(1);
});
