import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startClaimProxy } from '../support/claim-proxy.js';
import { eventually } from '../support/processes.js';
import type { TestAgentOptions } from '../support/test-agent.js';
import { databaseToml, dbaTeamToml, workflowToml } from '../support/toml.js';
import { type GatewayBench, startGatewayBench } from './gateway-bench.js';

const toml = [
  databaseToml('shop', ['staging']),
  dbaTeamToml,
  workflowToml({ auto: '{ mode = "risk_based", risk = "low", allow_read_only = true }', steps: [[{ group: 'dba-team' }]] }),
].join('');

let bench: GatewayBench;
let token: string;
let bob: string;
beforeAll(async () => {
  bench = await startGatewayBench(toml);
  token = await bench.agentToken();
  bob = await bench.api.createUser('bob', { groups: ['dba-team'] });
});
afterAll(() => bench?.close());
beforeEach(async () => {
  await bench.target.query(`
    create table public.items (id integer primary key, qty integer); insert into public.items select n, 1 from generate_series(1, 10) n;
    create schema app; create table app.items (like public.items including all); insert into app.items select n, 1 from generate_series(1, 5000) n;
    analyze public.items, app.items`);
});
afterEach(async () => {
  await bench.stopAll();
  await bench.target.query(`drop table public.items; drop schema app cascade`);
  await bench.calls.sql('delete from schema_snapshots');
});

const write = 'update items set qty = 0 where id < 5';
const noSync = '[schema_sync]\nenabled = false';
const shown = async (id: string) => (await bench.calls.show(bench.dana, id)).body;
const zeroed = async () =>
  (
    await bench.target.query(
      `select (select count(*) from public.items where qty = 0)::int as public, (select count(*) from app.items where qty = 0)::int as app`,
    )
  ).rows[0];

/** An agent that has reported its path with the schema, and still runs. */
async function startSynced(options: Partial<TestAgentOptions> = {}) {
  const agent = bench.start({ token, ...options });
  await eventually(
    async () => (await bench.calls.sql('select 1 from schema_snapshots where collected_at is not null')).length === 1,
  );
  return agent;
}

/** Lets a request go on that waits for bob. */
async function approve(id: string) {
  if ((await bench.statusOf(id)) !== 'pending') return;
  expect((await bench.calls.act(bob, id, 'approve')).status).toBe(200);
  expect((await bench.resume(id)).status).toBe(200);
}

/** How a request ends that is made for the path `public` and meets another agent. */
async function meets(options: Partial<TestAgentOptions>, text = write) {
  await startSynced();
  await bench.stopAll();
  const id = await bench.create(text);
  await approve(id);
  bench.start({ token, ...options });
  const status = await bench.ended(id);
  return { id, status, ...(await bench.newestRun(id)) };
}

const refused = (here: string) => ({
  status: 'failed',
  outcome: 'not_started',
  error_message: `search_path mismatch: approved for "public", here it is "${here}"; make the request again after the next schema sync`,
});

describe('names mean the same to who classifies, who approves and who runs (HD-31)', () => {
  it.each([
    ['public', '', 'low', { public: 4, app: 0 }],
    ['app, public', 'search_path = "app, public"', 'medium', { public: 0, app: 4 }],
  ])('along the path %s', async (path, tables, level, changed) => {
    await startSynced({ tables });
    const id = await bench.create(write);
    const { search_path: told, context } = await shown(id);
    expect([told.join(', '), context.risk.level.toLowerCase()]).toEqual([path, level]);
    expect(context.tables.map((table: { schema_name: string }) => table.schema_name)).toEqual([path.split(',')[0]]);
    await approve(id);
    expect(await bench.ended(id)).toBe('executed');
    expect(await zeroed()).toEqual(changed);
  });

  it('a table in a schema that is not on the path is none of the text', async () => {
    await bench.target.query('alter table app.items rename to parts; analyze app.parts');
    try {
      await startSynced();
      const { context } = await shown(await bench.create('update parts set qty = 0 where id < 5'));
      expect([context.tables, context.risk.factors]).toEqual([['parts'], [{ name: 'table_unresolved', tables: ['parts'] }]]);
    } finally {
      await bench.target.query('alter table app.parts rename to items');
    }
  });
});

describe('a job made for one path does not run along another (HD-31)', () => {
  it.each([
    ['a write', write],
    ['a write in two statements', `${write}; ${write}`],
    ['a statement that no transaction takes', 'create index concurrently more on items (qty)'],
    ['a read', 'select count(*) from items'],
  ])('%s, when the file of the agent names another one meanwhile', async (_, text) => {
    expect(await meets({ tables: 'search_path = "app, public"' }, text)).toMatchObject(refused('app, public'));
    expect(await zeroed()).toEqual({ public: 0, app: 0 });
  });

  it('when a schema appears that "$user" stands for, also on a connection that was there before', async () => {
    await startSynced();
    expect(await bench.ended(await bench.create(write))).toBe('executed');
    const role = new URL(bench.targetUrl).username;
    await bench.target.query(`create schema ${role}; create table ${role}.items (like public.items including all)`);
    try {
      const id = await bench.create(write);
      expect(await bench.ended(id)).toBe('failed');
      expect(await bench.newestRun(id)).toMatchObject({
        outcome: 'not_started',
        error_message: refused(`${role}, public`).error_message,
      });
    } finally {
      await bench.target.query(`drop schema ${role} cascade`);
    }
    const again = async () => bench.ended(await bench.create('select count(*) from items'));
    await eventually(async () => (await again()) === 'executed');
  });

  it('and the agent then syncs the schema, so that the request made again runs (AP-65)', async () => {
    const late = 'search_path = "app, public"\n[schema_sync]\nsync_on_startup = false';
    expect(await meets({ tables: late })).toMatchObject(refused('app, public'));
    await eventually(async () => {
      const [found] = await bench.calls.sql<{ path: string }>(
        `select snapshot #>> '{search_path,write,0}' as path from schema_snapshots`,
      );
      return found?.path === 'app';
    });
    const again = await bench.create(write);
    await approve(again);
    expect(await bench.ended(again)).toBe('executed');
    expect(await zeroed()).toEqual({ public: 0, app: 4 });
  });

  it('when somebody on the way changes or drops the path of the claim', async () => {
    await startSynced();
    await bench.stopAll();
    const proxy = await startClaimProxy(bench.api.url);
    try {
      bench.start({ gateway: proxy, token, tables: `search_path = "app, public"\n${noSync}` });
      for (const [change, why] of [
        [(claim: object) => ({ ...claim, search_path: ['app', 'public'] }), 'search_path mismatch'],
        [(claim: object) => ({ ...claim, search_path: null }), 'search_path mismatch'],
        [({ search_path: _, ...claim }: Record<string, unknown>) => claim, 'search_path mismatch'],
        [
          (claim: Record<string, unknown>) => ({
            ...claim,
            search_path: null,
            execution_token: String(claim.execution_token).replace(/"search_path":"[^}]*?\]"/, '"search_path":null'),
          }),
          'signature invalid',
        ],
      ] as const) {
        proxy.onClaim = change as typeof proxy.onClaim;
        const id = await bench.create(write);
        await bench.ended(id);
        expect((await bench.newestRun(id)).error_message).toBe(`token verification failed: ${why}`);
      }
      expect(await zeroed()).toEqual({ public: 0, app: 0 });
    } finally {
      await proxy.close();
    }
  });

  it('but where no agent has told a path, any agent runs it as before', async () => {
    await startSynced();
    await bench.stopAll();
    await bench.calls.sql(`update schema_snapshots set snapshot = snapshot - 'search_path'`);
    const id = await bench.create('select count(*) from items');
    expect((await shown(id)).search_path).toBeNull();
    bench.start({ token, tables: `search_path = "app, public"\n${noSync}` });
    expect(await bench.ended(id)).toBe('executed');
  });
});

describe('the paths that an agent tells (HD-31, AP-61)', () => {
  const told = async () =>
    (await bench.calls.sql<{ paths: unknown }>(`select snapshot -> 'search_path' as paths from schema_snapshots`))[0]?.paths;

  it('are those of the role that reads and of the one that writes, with the schemas that the snapshot cannot tell', async () => {
    const reader = `path_reader_${process.pid}`;
    const writer = new URL(bench.targetUrl).username;
    await bench.target.query(`create role ${reader} login password 'reader'; grant usage on schema public to ${reader};
      create schema ${reader} authorization ${reader}; create schema ${writer}; create table ${writer}.items (id integer)`);
    try {
      const readUrl = Object.assign(new URL(bench.targetUrl), { username: reader, password: 'reader' }).href;
      await startSynced({ tables: `read_url = "${readUrl}"` });
      expect(await told()).toEqual({ read: [reader, 'public'], write: [writer, 'public'], unseen: [writer] });
      const { search_path: path, context } = await shown(await bench.create(write));
      expect([path, context.tables]).toEqual([[writer, 'public'], ['items']]);
      expect(context.risk.factors).toEqual([{ name: 'table_unresolved', tables: ['items'] }]);
      expect((await shown(await bench.create('select * from items'))).search_path).toEqual([reader, 'public']);
    } finally {
      await bench.stopAll();
      await bench.target.query(`drop schema ${writer} cascade; drop owned by ${reader}; drop role ${reader}`);
    }
  });

  it('keep names that need quotes', async () => {
    await bench.target.query(`create schema "Odd Name"`);
    try {
      await startSynced({ tables: `search_path = '"Odd Name", public'` });
      expect(await told()).toEqual({ read: ['Odd Name', 'public'], write: ['Odd Name', 'public'], unseen: [] });
      const id = await bench.create(write);
      expect([await bench.ended(id), (await shown(id)).search_path]).toEqual(['executed', ['Odd Name', 'public']]);
    } finally {
      await bench.target.query(`drop schema "Odd Name"`);
    }
  });
});
