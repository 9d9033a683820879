import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { untilActive } from '../support/active-statement.js';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';

/** `shop` from the start, and what a reload brings. */
const databases: TestDatabase[] = [];
let [shop, other]: pg.Client[] = [];
/** A proxy in front of `other`. */
let proxy: TcpProxy;
let gateway: FakeGateway;
let agent: TestAgent;

beforeAll(async () => {
  const made = await Promise.all([connectEmptyDatabase(), connectEmptyDatabase()]);
  databases.push(...made.map(({ database }) => database));
  [shop, other] = made.map(({ client }) => client);
  for (const client of [shop, other]) await client!.query('create table runs (word text)');
  proxy = await startTcpProxy(databases[1]!.url);
});
beforeEach(async () => {
  gateway = await startFakeGateway();
});
afterEach(async () => {
  proxy.heal();
  await letGo();
  agent.stop();
  await agent.exit;
  await gateway.close();
  for (const client of [shop, other]) await client!.query('truncate runs');
});
afterAll(async () => {
  await proxy.close();
  await Promise.all([shop, other].map((client) => client?.end()));
  await Promise.all(databases.map((database) => database.drop()));
});

async function start(tables = '', pollWaitMs = 20_000): Promise<void> {
  agent = startTestAgent({ gateway, url: databases[0]!.url, tables, pollWaitMs });
  await gateway.nextPoll((poll) => Number(poll.limit) > 0);
}

const reports = () => `[databases.reports.staging]\nurl = "${proxy.url}"\n`;
const namesOf = ({ capabilities }: Record<string, unknown>) =>
  (capabilities as { scopes: { database: string }[] }).scopes.map(({ database }) => database);
/** The next poll that names these databases; call it before what leads to it. */
const poll = (...names: string[]) => gateway.nextPoll((body) => JSON.stringify(namesOf(body)) === JSON.stringify(names));
const write = (word: string, database = 'shop') =>
  gateway.offer({ operation: 'execute_dml', detail: `insert into runs values ('${word}')`, database });
/** A write that runs until `letGo`. */
async function standing(word: string, database: string) {
  const client = database === 'shop' ? shop! : other!;
  await client.query('select pg_advisory_lock(7)');
  const detail = `insert into runs select '${word}' from pg_advisory_xact_lock(7)`;
  const job = gateway.offer({ operation: 'execute_dml', detail, database });
  await untilActive(client, 'pg_advisory_xact_lock(7)');
  return job;
}
const letGo = () => Promise.all([shop, other].map((client) => client!.query('select pg_advisory_unlock_all()')));
const words = async (client: pg.Client | undefined) =>
  (await client!.query('select word from runs order by 1')).rows.map(({ word }) => word);
/** Sessions of agents on the database. */
const sessions = async (client: pg.Client | undefined) =>
  (
    await client!.query('select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()')
  ).rows.map(({ pid }) => pid);
const unchanged = { added: [], changed: [], removed: [] };

describe('a reload of agent.toml (AP-19)', () => {
  it('adds a database at once, and leaves the others and their connections alone', async () => {
    await start();
    expect(await write('one').result).toMatchObject({ success: true });
    const before = await sessions(shop);
    const named = poll('shop', 'reports');
    expect(await agent.reload(agent.text + reports())).toMatchObject({
      outcome: 'applied',
      errors: [],
      warnings: [],
      added: ['reports/staging'],
      changed: [],
      removed: [],
    });
    await named;
    expect(await write('two', 'reports').result).toMatchObject({ success: true });
    expect(await write('three').result).toMatchObject({ success: true });
    expect([await words(shop), await words(other)]).toEqual([['one', 'three'], ['two']]);
    // One that ended by itself is nothing that the reload did.
    const after = await sessions(shop);
    expect(after).not.toEqual([]);
    expect(before).toEqual(expect.arrayContaining(after));
    await eventually(() => gateway.schemaSyncs.some(({ database }) => database === 'reports'));
    expect(await agent.reload(agent.text + reports())).toMatchObject({ ...unchanged, outcome: 'unchanged', warnings: [] });
  });

  it('lets what runs on a removed database end with its connection, claims nothing new for it, then closes it', async () => {
    await start(reports());
    const running = await standing('late', 'reports');
    const named = poll('shop');
    expect(await agent.reload(agent.text.replace(reports(), ''))).toMatchObject({
      outcome: 'applied',
      removed: ['reports/staging'],
    });
    await named;
    expect(running.submissions).toEqual([]);
    await letGo();
    expect(await running.result).toMatchObject({ success: true, outcome: 'committed' });
    expect(await words(other)).toEqual(['late']);
    await eventually(async () => (await sessions(other)).length === 0);
    expect(namesOf(gateway.polls.at(-1)!)).toEqual(['shop']);
    expect(await write('still').result).toMatchObject({ success: true });
  });

  it('lets what runs on a changed database end there, and runs what comes by the new address', async () => {
    await start();
    const running = await standing('old', 'shop');
    const next = agent.text.replace(databases[0]!.url, databases[1]!.url);
    expect(await agent.reload(next)).toMatchObject({ outcome: 'applied', changed: ['shop/staging'] });
    expect(await write('new').result).toMatchObject({ success: true });
    expect(running.submissions).toEqual([]);
    await letGo();
    expect(await running.result).toMatchObject({ success: true, outcome: 'committed' });
    expect([await words(shop), await words(other)]).toEqual([['old'], ['new']]);
    await eventually(async () => (await sessions(shop)).length === 0);
  });

  it('asks once more for what a poll that it cut short has claimed for a removed database, and for nothing new', async () => {
    await start(reports());
    const between = gateway.polls.length;
    const named = poll('shop');
    await agent.reload(agent.text.replace(reports(), ''));
    await named;
    const last = gateway.polls.slice(between, -1);
    expect(last.map((body) => [namesOf(body), body.limit, body.explain_limit, body.claim])).toEqual(
      last.map(() => [['shop', 'reports'], 0, 0, true]),
    );
    expect(last.length).toBeGreaterThan(0);
    expect(gateway.polls.at(-1)).toMatchObject({ limit: 8 });
  });

  it('takes a database that cannot be reached, says so, and serves it when it can', async () => {
    await start();
    proxy.cut();
    const { outcome, warnings } = await agent.reload(agent.text + reports());
    expect([outcome, warnings]).toEqual([
      'applied',
      [expect.stringMatching(/^agent\.toml: databases\.reports\.staging: connection failed: .+; the agent keeps trying$/)],
    ]);
    const named = poll('shop', 'reports');
    proxy.heal();
    await named;
    expect(await write('back', 'reports').result).toMatchObject({ success: true });
  });

  it('is served one after the other, however many are asked for', async () => {
    await start();
    const both = await Promise.all([agent.reload(agent.text + reports()), agent.reload(agent.text)]);
    expect(both.map(({ outcome }) => outcome)).not.toContain('rejected');
    await agent.reload(agent.text);
    for (const turn of [1, 2, 3]) {
      expect((await agent.reload(agent.text + reports())).added, `turn ${turn}`).toEqual(['reports/staging']);
      expect((await agent.reload(agent.text)).removed).toEqual(['reports/staging']);
    }
    await eventually(async () => (await sessions(other)).length === 0);
  });
});

describe('a reload that is refused changes nothing (AP-19)', () => {
  it.each<[string, (text: string) => string, RegExp]>([
    ['broken TOML', (text) => `${text}\n[databases.`, /^\S*agent\.toml:\d+:\d+: /],
    [
      'an unknown key',
      (text) => `${text}\nread_ulr = "x"`,
      /agent\.toml: unknown key databases\.shop\.staging\.read_ulr \(did you mean read_url\?\)$/,
    ],
    ['no database', (text) => text.slice(0, text.indexOf('[databases')), /agent\.toml: databases: /],
    [
      'a variable that is not set',
      (text) => `${text}${reports().replace(proxy.url, '$' + '{NOT_SET}')}`,
      /reports\.staging\.url: environment variable NOT_SET is not set$/,
    ],
    [
      'refused credentials',
      (text) => text + reports().replace(/\/\/[^@]+@/, '//nobody:hunter2@'),
      /databases\.reports\.staging: authentication failed: SQLSTATE 28P01/,
    ],
  ])('for %s, with the place and no secret', async (_, change, error) => {
    await other!.query('drop schema if exists svc cascade');
    await start();
    const before = gateway.polls.length;
    const record = await agent.reload(change(agent.text));
    expect(record).toMatchObject({ ...unchanged, outcome: 'rejected', errors: [expect.stringMatching(error)] });
    expect(JSON.stringify(record) + agent.lines.join()).not.toContain('hunter2');
    expect(agent.lines.some((line) => line.startsWith('error agent.toml not reloaded'))).toBe(true);
    expect(gateway.polls.length).toBe(before);
    expect(await write('goes on').result).toMatchObject({ success: true });
    expect((await other!.query(`select to_regnamespace('svc') as svc`)).rows).toEqual([{ svc: null }]);
  });

  it('where none of the databases could be reached then', async () => {
    await start();
    const record = await agent.reload(agent.text.replace(databases[0]!.url, 'postgres://u@127.0.0.1:1/shop'));
    expect([record.outcome, record.errors.at(-1)]).toEqual(['rejected', 'agent.toml: none of its databases can be reached']);
    expect(await write('goes on').result).toMatchObject({ success: true });
  });

  it('while the agent drains: it says that it is stopping', async () => {
    await start();
    const running = await standing('last', 'shop');
    agent.stop();
    const record = await agent.reload(agent.text + reports());
    expect(record).toMatchObject({ outcome: 'rejected', errors: ['the agent is stopping'] });
    await letGo();
    expect(await running.result).toMatchObject({ success: true });
    expect(await agent.exit).toBe(0);
  });
});

it('what cannot change while the agent runs is named, and the rest applies (AP-19)', async () => {
  await start();
  const next = agent.text
    .replace('poll_interval_ms = 20', 'poll_interval_ms = 21\nmax_concurrent_tasks = 9')
    .replace(gateway.url, 'http://127.0.0.1:9')
    .replace('svc_test', 'svc_other');
  const { outcome, added, warnings } = await agent.reload(next + reports());
  expect([outcome, added]).toEqual(['applied', ['reports/staging']]);
  const keys = ['max_concurrent_tasks', 'poll_interval_ms', 'server.url', 'server.agent_token'];
  expect(warnings).toEqual(keys.map((key) => `needs a restart: ${key}`));
  expect(await write('as before', 'reports').result).toMatchObject({ success: true });
});
