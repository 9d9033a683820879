import { randomBytes, randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { attemptId } from '../support/fake-job.js';
import { connectEmptyDatabase } from '../support/postgres.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';

const MARKERS = 'svc.svc_execution_marker';
const OLDER = 'public.svc_execution_marker';

type Connected = Awaited<ReturnType<typeof connectEmptyDatabase>>;

let database: Connected['database'];
let root: Connected['client'];
let gateway: FakeGateway;
let agent: TestAgent;
let role: string;
/** An agent's role that may make tables in both places, but no schema. */
beforeEach(async () => {
  ({ database, client: root } = await connectEmptyDatabase());
  gateway = await startFakeGateway();
  role = `moved_${randomBytes(6).toString('hex')}`;
  await root.query(`create role ${role} login password 'x'; create schema svc authorization ${role};
    grant usage, create on schema public to ${role}; create table parts (id int primary key, qty int);
    insert into parts values (1, 10); grant all on parts to ${role}`);
});
afterEach(async () => {
  await stopAgent();
  await gateway.close();
  await root.query(`drop owned by ${role} cascade; drop role ${role}`);
  await root.end();
  await database.drop();
});

async function startAgent(): Promise<void> {
  const url = Object.assign(new URL(database.url), { username: role, password: 'x' }).href;
  agent = startTestAgent({ gateway, url });
  await gateway.nextPoll();
}
async function stopAgent(): Promise<void> {
  agent?.stop();
  await agent?.exit;
}

/** What an agent of an earlier version left beside the data. */
const leaveOlderTable = () =>
  root.query(`set role ${role};
    create table ${OLDER} (request_id text not null, fence bigint not null, step text not null default '', mode text not null,
      state text not null, execution_id text not null, agent_id text not null, approval_digest text not null, rows_affected bigint,
      created_at timestamptz not null default now(), primary key (request_id, fence, step));
    insert into ${OLDER} values ('old', 1, '', 'tx', 'done', '-', '-', '-', 1, now() - interval '3 days'); reset role`);

const add = { operation: 'execute_dml', detail: 'update parts set qty = qty + 1' };
const quantity = async () => (await root.query('select qty from parts')).rows[0].qty;
const unproven = {
  outcome: 'unknown',
  error_message: 'the marker table is newer than a lost attempt: it is not known what attempt 1 did',
};
const found = { outcome: 'already_applied', applied_fence: 1 };

/** A write that commits, and the next attempt of its request. */
async function writeOnce(): Promise<() => Promise<Record<string, unknown>>> {
  const requestId = randomUUID();
  expect(await gateway.offer({ ...add, requestId }).result).toMatchObject({ outcome: 'committed' });
  return () => gateway.offer({ ...add, requestId, fence: 2, unresolvedFences: [1] }).result;
}

/** A write that an agent of an earlier version lost an hour ago, without a marker. */
function resumeEarlier(): Promise<Record<string, unknown>> {
  const claimed_at = new Date(Date.now() - 3_600_000).toISOString();
  const unresolved_executions = [{ fence: 1, execution_id: attemptId(1), claimed_at, marker_form: 1 }];
  const forge = (claim: Record<string, unknown>) => ({ ...claim, unresolved_executions });
  return gateway.offer({ ...add, fence: 2, unresolvedFences: [1], forge }).result;
}

it('AP-54, AG-I3: a table that is dropped and made again proves nothing, though an older one lies elsewhere', async () => {
  await leaveOlderTable();
  await startAgent();
  const resume = await writeOnce();
  await root.query(`drop table ${MARKERS}`);
  expect(await gateway.offer(add).result).toMatchObject({ outcome: 'not_started' });
  const isThere = async () => (await root.query(`select to_regclass('${MARKERS}') is not null as made`)).rows;
  await expect.poll(isThere).toEqual([{ made: true }]);
  expect(await resume()).toMatchObject(unproven);
  expect(await quantity()).toBe(11);
});

const hidden = {
  outcome: 'unknown',
  error_message: `markers may be in ${MARKERS}, which cannot be read: it is not known what attempt 1 did`,
};

it.each([
  ['is dropped with its schema', 'drop schema svc cascade', unproven],
  ['is in a schema of which the role has lost its rights', 'alter schema svc owner to current_user', hidden],
  ['is closed to the role', `alter table ${MARKERS} owner to current_user`, hidden],
  ['got row security', `alter table ${MARKERS} enable row level security`, hidden],
])('AP-54, AG-I3: an older table to which the agent goes back because its own %s proves nothing', async (_, sql, result) => {
  await leaveOlderTable();
  await startAgent();
  const resume = await writeOnce();
  await stopAgent();
  await root.query(sql);
  await startAgent();
  expect(await resume()).toMatchObject(result);
  expect(await quantity()).toBe(11);
  expect(await (await writeOnce())()).toMatchObject(found);
});

it('AG-59, AP-54: what an earlier version lost runs again by its own table, though that of this version is newer', async () => {
  await leaveOlderTable();
  await startAgent();
  expect(await resumeEarlier()).toMatchObject({ outcome: 'committed' });
  expect(await quantity()).toBe(11);
});

it('AP-54, AG-I3: the marker of an earlier version is found beside the data, however many schemas have such a table', async () => {
  await leaveOlderTable();
  for (let nth = 1; nth <= 6; nth += 1)
    await root.query(`create schema a${nth}; create table a${nth}.svc_execution_marker (like ${OLDER} including all);
      insert into a${nth}.svc_execution_marker select * from ${OLDER};
      alter table a${nth}.svc_execution_marker owner to ${role}; grant usage on schema a${nth} to ${role}`);
  await startAgent();
  gateway.onClaim = ({ requestId, approvalDigest }) =>
    root.query(`insert into ${OLDER} values ($1, 1, '', 'tx', 'done', $2, 'a', $3, 1)`, [
      requestId,
      attemptId(1),
      approvalDigest,
    ]);
  expect(await resumeEarlier()).toMatchObject(found);
  expect(await quantity()).toBe(10);
});

it('AP-54, AG-I3: what an earlier version lost does not run again once its table is gone', async () => {
  await leaveOlderTable();
  await startAgent();
  await root.query(`drop table ${OLDER}`);
  expect(await resumeEarlier()).toMatchObject(unproven);
  expect(await quantity()).toBe(10);
});

it('AP-54: a marker is found where this version wrote it before it had a schema of its own', async () => {
  await root.query('alter schema svc rename to away');
  await startAgent();
  const resume = await writeOnce();
  await stopAgent();
  await root.query('alter schema away rename to svc');
  await startAgent();
  expect(await resume()).toMatchObject(found);
  expect((await root.query(`select count(*)::int as n from ${MARKERS} where state = 'done'`)).rows).toEqual([{ n: 0 }]);
});
