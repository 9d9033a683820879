import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { requestLockKey, SINCE } from '../../agent/marker.js';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { connectEmptyDatabase } from '../support/postgres.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';

type Connected = Awaited<ReturnType<typeof connectEmptyDatabase>>;

let database: Connected['database'];
let target: Connected['client'];
let gateway: FakeGateway;
let agent: TestAgent;
beforeEach(async () => {
  ({ database, client: target } = await connectEmptyDatabase());
  gateway = await startFakeGateway();
});
afterEach(async () => {
  agent?.stop();
  await agent?.exit;
  await gateway.close();
  await target.end();
  await database.drop();
});

/** A marker table that somebody made before the agent came. */
const make = (kind: string, partitions: string) =>
  target.query(`create schema svc;
    create ${kind} table svc.svc_execution_marker (request_id text not null, fence bigint not null, step text not null default '',
      mode text not null, state text not null, execution_id text not null, agent_id text not null, approval_digest text not null,
      rows_affected bigint, created_at timestamptz not null default now(), primary key (request_id, fence, step, execution_id)) ${partitions};
    create table parts (id int primary key, qty int); insert into parts values (1, 10)`);

const add = { operation: 'execute_dml', detail: 'update parts set qty = qty + 1' };
const isThere = async () => (await target.query(`select to_regclass('svc.svc_execution_marker') is not null as made`)).rows;
const quantity = async () => (await target.query<{ qty: number }>('select qty from parts')).rows[0]?.qty;
const unproven = (fence: number) => ({
  outcome: 'unknown',
  error_message: `the marker table is newer than a lost attempt: it is not known what attempt ${fence} did`,
});

async function startAgent(): Promise<void> {
  const timings = { markerRetryMs: 50 };
  agent = startTestAgent({ gateway, url: database.url, tables: '[marker]\nschema = "svc"\n', timings });
  await gateway.nextPoll();
}

/** Resolves once the agent has made it again. */
async function dropTable(): Promise<void> {
  await target.query('drop table svc.svc_execution_marker');
  expect(await gateway.offer(add).result).toMatchObject({ outcome: 'not_started' });
  await expect.poll(isThere).toEqual([{ made: true }]);
}

it('AP-54, AG-I3: rows in partitions prove what a lost attempt did', async () => {
  await make('', 'partition by hash (request_id)');
  for (const rest of [0, 1])
    await target.query(
      `create table svc.part${rest} partition of svc.svc_execution_marker for values with (modulus 2, remainder ${rest})`,
    );
  await startAgent();
  const requestId = randomUUID();
  expect(await gateway.offer({ ...add, requestId }).result).toMatchObject({ outcome: 'committed' });
  expect(await gateway.offer({ ...add, requestId, fence: 2, unresolvedFences: [1] }).result).toMatchObject({
    outcome: 'already_applied',
    applied_fence: 1,
  });
  expect(await quantity()).toBe(11);
});

it('AP-51, AP-52, AG-59: a write that finds no marker table is refused, and the table is made again, but a lost write is not run', async () => {
  await make('', '');
  await startAgent();
  const requestId = randomUUID();
  expect(await gateway.offer({ ...add, requestId }).result).toMatchObject({ outcome: 'committed' });
  await target.query('drop table svc.svc_execution_marker');
  const lost = { ...add, requestId, fence: 2, unresolvedFences: [1] };
  expect(await gateway.offer(lost).result).toMatchObject({
    outcome: 'unknown',
    error_message: 'marker table not available: it is not known what attempt 1 did',
  });
  await expect.poll(isThere).toEqual([{ made: true }]);
  expect(await gateway.offer(add).result).toMatchObject({ outcome: 'committed' });
  expect(await gateway.offer({ ...lost, fence: 3, unresolvedFences: [1, 2] }).result).toMatchObject(unproven(2));
  expect(await quantity()).toBe(12);
  await expect.poll(() => agent.lines.join('\n')).toContain('marker rows can be written');
});

it.each([
  ['dropped while no agent runs', 'drop table svc.svc_execution_marker'],
  ['emptied while no agent runs', 'truncate svc.svc_execution_marker'],
])('AP-54, AG-I3: a table that was %s proves nothing of an earlier write, but of later ones', async (_, loss) => {
  await make('', '');
  await startAgent();
  const [requestId, later] = [randomUUID(), randomUUID()];
  expect(await gateway.offer({ ...add, requestId }).result).toMatchObject({ outcome: 'committed' });
  agent.stop();
  await agent.exit;
  await target.query(loss);
  await startAgent();
  const lost = { fence: 2, unresolvedFences: [1] };
  expect(await gateway.offer({ ...add, requestId, ...lost }).result).toMatchObject(unproven(1));
  expect(await gateway.offer({ ...add, requestId: later }).result).toMatchObject({ outcome: 'committed' });
  expect(await gateway.offer({ ...add, requestId: later, ...lost }).result).toMatchObject({ outcome: 'already_applied' });
  expect(await quantity()).toBe(12);
});

it('AP-54, AG-I3: a table that is emptied while the agent runs proves nothing but what its rows say', async () => {
  await make('', '');
  await startAgent();
  const requestId = randomUUID();
  expect(await gateway.offer({ ...add, requestId }).result).toMatchObject({ outcome: 'committed' });
  await target.query(`create table kept as select * from svc.svc_execution_marker where state = 'done';
    update kept set created_at = 'infinity'; delete from svc.svc_execution_marker`);
  const lost = { ...add, requestId, unresolvedFences: [1] };
  expect(await gateway.offer({ ...lost, fence: 2 }).result).toMatchObject(unproven(1));
  expect(await quantity()).toBe(11);
  await target.query('insert into svc.svc_execution_marker select * from kept');
  expect(await gateway.offer({ ...lost, fence: 3 }).result).toMatchObject({ outcome: 'already_applied' });
});

/** An agent has written there for 3000 days. */
const writtenFor3000Days = () =>
  target.query(`insert into svc.svc_execution_marker values
    ('${SINCE}', 0, '', 'tx', 'open', '-', '-', '-', null, now() - interval '3000 days'),
    ('old', 1, '', 'tx', 'done', '-', '-', '-', 1, now() - interval '2999 days')`);

it('AP-51, AP-56: a table with old rows has rows since the age at which they are deleted', async () => {
  await make('', '');
  await writtenFor3000Days();
  await startAgent();
  const rows = `select request_id, round(extract(epoch from now() - created_at) / 86400)::int as days from svc.svc_execution_marker`;
  await expect.poll(async () => (await target.query(rows)).rows).toEqual([{ request_id: SINCE, days: 180 }]);
});

it('AP-56, AG-I3: rows that were deleted for their age prove nothing of what was lost before', async () => {
  await make('', '');
  await writtenFor3000Days();
  await startAgent();
  const requestId = randomUUID();
  expect(await gateway.offer({ ...add, requestId }).result).toMatchObject({ outcome: 'committed' });
  agent.stop();
  await agent.exit;
  const own = `svc.svc_execution_marker where request_id = '${requestId}'`;
  await target.query(`update ${own.replace('where', "set created_at = now() - interval '200 days' where")}`);
  await startAgent();
  await expect.poll(async () => (await target.query(`select fence from ${own}`)).rows).toEqual([]);
  const claimedAt = new Date(Date.now() - 200 * 86_400_000).toISOString();
  const forge = (claim: Record<string, unknown>) => ({
    ...claim,
    unresolved_executions: (claim.unresolved_executions as object[]).map((one) => ({ ...one, claimed_at: claimedAt })),
  });
  const lost = { ...add, requestId, fence: 2, unresolvedFences: [1], forge };
  expect(await gateway.offer(lost).result).toMatchObject(unproven(1));
  expect(await quantity()).toBe(11);
});

it('AP-54, AG-I3: what passes between a claim and its run makes no table older', async () => {
  await make('', '');
  await startAgent();
  const requestId = randomUUID();
  expect(await gateway.offer({ ...add, requestId }).result).toMatchObject({ outcome: 'committed' });
  await dropTable();
  // The answer to the claim is on its way for longer than all of the above took.
  const forge = (claim: Record<string, unknown>) => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000);
    return claim;
  };
  const lost = { ...add, requestId, fence: 2, unresolvedFences: [1], forge };
  expect(await gateway.offer(lost).result).toMatchObject(unproven(1));
  expect(await quantity()).toBe(11);
});

it('AP-54: a gateway that does not say when a lost attempt was claimed is believed', async () => {
  await make('', '');
  await startAgent();
  const requestId = randomUUID();
  expect(await gateway.offer({ ...add, requestId }).result).toMatchObject({ outcome: 'committed' });
  await target.query('delete from svc.svc_execution_marker');
  const silent = (claim: Record<string, unknown>) => ({ ...claim, server_time: undefined });
  const lost = { ...add, requestId, fence: 2, unresolvedFences: [1], forge: silent };
  expect(await gateway.offer(lost).result).toMatchObject({ outcome: 'committed' });
});

it('AP-52, AG-I3: a lost write that has begun does not run when the table is made again before it reads it', async () => {
  await make('', '');
  await startAgent();
  const requestId = randomUUID();
  expect(await gateway.offer({ ...add, requestId }).result).toMatchObject({ outcome: 'committed' });
  await target.query('select pg_advisory_lock($1)', [String(requestLockKey(requestId))]);
  const again = gateway.offer({ ...add, requestId, fence: 2, unresolvedFences: [1] });
  await again.claimed;
  await dropTable();
  await target.query('select pg_advisory_unlock_all()');
  expect(await again.result).toMatchObject(unproven(1));
  expect(await quantity()).toBe(11);
});

it('AP-51, AG-I3: no markers are written into a table that a crash would empty', async () => {
  await make('unlogged', '');
  await startAgent();
  expect(agent.lines.join('\n')).toContain('the marker table is unlogged or temporary: a crash would empty it');
  expect(gateway.polls.at(-1)?.capabilities).toMatchObject({ scopes: [{ marker: false }] });
});

it('AP-51: markers are written where transactions of the role only read by default', async () => {
  await make('', '');
  await target.query(
    `do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`,
  );
  await startAgent();
  expect(gateway.polls.at(-1)?.capabilities).toMatchObject({ scopes: [{ marker: true }] });
  expect(await gateway.offer(add).result).toMatchObject({ outcome: 'committed' });
});

it('AP-51: markers are written as soon as their table allows it, without a restart', async () => {
  await make('unlogged', '');
  await startAgent();
  const writes = () => gateway.polls.at(-1)?.capabilities;
  expect(writes()).toMatchObject({ scopes: [{ marker: false }] });
  await target.query('alter table svc.svc_execution_marker set logged');
  await expect.poll(writes, { timeout: 10_000 }).toMatchObject({ scopes: [{ marker: true }] });
  expect(agent.lines.filter((line) => /marker rows can be written/.test(line))).toEqual([
    expect.stringMatching(/^warn no marker rows/),
    expect.stringMatching(/^info marker rows/),
  ]);
});
