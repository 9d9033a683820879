import { randomBytes, randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { bundleOf, tableFiles } from '../support/migration-bench.js';
import { connectEmptyDatabase } from '../support/postgres.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';

type Connected = Awaited<ReturnType<typeof connectEmptyDatabase>>;

let database: Connected['database'];
let root: Connected['client'];
let role: string;
const started: { agent: TestAgent; gateway: FakeGateway }[] = [];

/** Two roles for agents of one database: `first` may make the schema of the markers, `second` only tables in `public`. */
beforeEach(async () => {
  ({ database, client: root } = await connectEmptyDatabase());
  role = `role_${randomBytes(6).toString('hex')}`;
  const roles = ['first', 'second'].map((name) => `${role}_${name}`);
  for (const one of roles) await root.query(`create role ${one} login password 'x'`);
  await root.query(`grant create on database "${new URL(database.url).pathname.slice(1)}" to ${role}_first;
    grant usage, create on schema public to ${roles};
    create table parts (id int primary key, qty int); insert into parts values (1, 10); grant all on parts to ${roles}`);
  return async () => {
    await root.query(`drop owned by ${roles} cascade; drop role ${roles}`);
    await root.end();
    await database.drop();
  };
});
afterEach(async () => {
  for (const { agent, gateway } of started.splice(0)) {
    agent.stop();
    await agent.exit;
    await gateway.close();
  }
});

async function startAs(name: 'first' | 'second', tables = ''): Promise<FakeGateway> {
  const gateway = await startFakeGateway();
  const url = Object.assign(new URL(database.url), { username: `${role}_${name}`, password: 'x' }).href;
  started.push({ agent: startTestAgent({ gateway, url, tables }), gateway });
  await gateway.nextPoll();
  return gateway;
}

const add = { operation: 'execute_dml', detail: 'update parts set qty = qty + 1' };
const quantity = async () => (await root.query('select qty from parts')).rows[0].qty;
const again = { fence: 2, unresolvedFences: [1] };
const doubtful = (table: string) => ({
  outcome: 'unknown',
  error_message: `markers may be in ${table}.svc_execution_marker, which cannot be read: it is not known what attempt 1 did`,
});

it.each([
  ['in the own schema, which the role may not read', 'first', 'second', 'svc'],
  ['beside the data', 'second', 'first', 'public'],
] as const)('AP-54, AG-I3: a lost write does not run again where its marker may be %s', async (_, writer, reader, place) => {
  const agents = { second: await startAs('second'), first: await startAs('first') };
  const job = { ...add, requestId: randomUUID() };
  expect(await agents[writer].offer(job).result).toMatchObject({ outcome: 'committed' });
  expect(await agents[reader].offer({ ...job, ...again }).result).toMatchObject(doubtful(place));
  expect(await quantity()).toBe(11);
});

it('AP-54, MI-35: nor does a lost migration', async () => {
  const second = await startAs('second');
  await startAs('first');
  const detail = bundleOf('up', tableFiles(1));
  expect(await second.offer({ operation: 'migrate_up', detail, ...again }).result).toMatchObject(doubtful('svc'));
});

it('AP-54: a marker that is found counts, whatever other tables hold', async () => {
  const second = await startAs('second');
  await startAs('first');
  const job = { ...add, requestId: randomUUID() };
  expect(await second.offer(job).result).toMatchObject({ outcome: 'committed' });
  expect(await second.offer({ ...job, ...again }).result).toMatchObject({ outcome: 'already_applied', applied_fence: 1 });
  expect(await quantity()).toBe(11);
});

it('HD-41: a table of that name in a schema that no agent chooses keeps no lost write from running', async () => {
  const second = await startAs('second');
  await root.query(`create schema other; create table other.svc_execution_marker (like public.svc_execution_marker)`);
  expect(await second.offer({ ...add, ...again }).result).toMatchObject({ outcome: 'committed' });
});
