import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { attemptId } from '../support/fake-job.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { startTestAgent, type TestAgent, withoutBeats } from '../support/test-agent.js';
import { databaseToml, dbaTeamToml, workflowToml } from '../support/toml.js';

const MARKERS = 'svc.svc_execution_marker';
/** The table as agents made it before rows had to fit an execution. */
const olderDdl = (
  table: string,
) => `create table ${table} (request_id text not null, fence bigint not null, step text not null default '', mode text not null,
  state text not null, execution_id text not null, agent_id text not null, approval_digest text not null, rows_affected bigint,
  created_at timestamptz not null default now(), primary key (request_id, fence, step))`;

let target: TestDatabase;
let root: pg.Client;
beforeAll(async () => {
  ({ database: target, client: root } = await connectEmptyDatabase());
  await root.query('create table parts (id int primary key, qty int); insert into parts values (1, 10); analyze parts');
});
afterAll(async () => {
  await root?.end();
  await target?.drop();
});

const plant = (
  table: string,
  requestId: string,
  fence: number,
  { state = 'done', mode = 'tx', execution = randomUUID() as string, digest = 'd', step = '' } = {},
) =>
  root.query(
    `insert into ${table} (request_id, fence, step, mode, state, execution_id, agent_id, approval_digest, rows_affected)
     values ($1, $2, $3, $4, $5, $6, 'a', $7, 1)`,
    [requestId, fence, step, mode, state, execution, digest],
  );
const quantity = async () => (await root.query('select qty from parts')).rows[0].qty;

describe('marker rows that somebody has planted, behind a real gateway (HD-40, HD-41)', () => {
  let api: TestApi;
  let agent: TestAgent;
  let people: Record<'alice' | 'bob' | 'carol', string>;
  beforeAll(async () => {
    const toml = [
      databaseToml('shop', ['staging']),
      dbaTeamToml,
      workflowToml({ auto: '{ mode = "risk_based", risk = "low", allow_read_only = true }', steps: [[{ group: 'dba-team' }]] }),
    ].join('');
    api = await startTestApi({ toml });
    people = await api.createUsers({
      alice: { roles: ['requester'] },
      bob: { roles: ['requester'] },
      carol: { groups: ['dba-team'] },
    });
    agent = startTestAgent({ gateway: api, token: api.tokens.agent, url: target.url });
    const synced = () => api.services.database.query('select 1 from schema_snapshots where collected_at is not null');
    await eventually(async () => (await synced()).length === 1);
  });
  afterAll(async () => {
    agent?.stop();
    await agent?.exit;
    await api?.close();
  });
  const ask = (token: string, detail: string, more: object = {}) =>
    api.call('POST', '/api/requests', { token, body: { database: 'shop', environment: 'staging', detail, ...more } });

  it('an approved change runs, and each row that fits no attempt is in the audit log', async () => {
    const { body: created } = await ask(people.bob, 'UPDATE parts SET qty = qty + 1 WHERE id = 1', { require_approval: true });
    const id = created.id;
    for (const table of [MARKERS, 'public.svc_execution_marker']) {
      const text = `INSERT INTO ${table} VALUES ('${id}', 1, '', 'tx', 'done', 'e', 'a', 'd', 1)`;
      expect((await ask(people.alice, text)).body.error).toContain('reserved_table: svc_execution_marker');
    }
    await plant(MARKERS, id, 1);
    await plant(MARKERS, id, 7);
    const before = await quantity();
    if (created.status === 'pending')
      expect((await api.call('POST', `/api/requests/${id}/approve`, { token: people.carol, body: {} })).status).toBe(200);
    const read = async () => (await api.call('GET', `/api/requests/${id}`, { token: people.bob })).body.status;
    if ((await read()) === 'approved') await api.call('POST', `/api/requests/${id}/resume`, { token: people.bob });
    await expect.poll(read, { timeout: 15_000 }).toMatch(/executed|failed|execution_lost/);
    expect([await read(), await quantity()]).toEqual(['executed', before + 1]);
    const events = await api.call('GET', '/api/audit/events?event_type=execution.marker_mismatch', { token: api.tokens.admin });
    const [event] = events.body.events.filter((one: { request_id: string }) => one.request_id === id);
    expect(event).toMatchObject({ outcome: 'denied', event_category: 'execution', resource_type: 'execution' });
    expect(JSON.parse(event.metadata_json)).toMatchObject({
      fence: 1,
      rows: [
        { fence: 7, state: 'done' },
        { fence: 1, state: 'done' },
      ],
    });
  });
});

describe('marker rows of earlier agents and of nobody (HD-40, HD-41)', () => {
  let gateway: FakeGateway;
  let agent: TestAgent;
  beforeAll(async () => {
    await root.query(olderDdl('public.svc_execution_marker'));
    gateway = await startFakeGateway();
    gateway.onClaim = async ({ requestId, approvalDigest }) => {
      for (const table of [MARKERS, 'public.svc_execution_marker'])
        await root.query(`update ${table} set approval_digest = $2 where request_id = $1 and approval_digest = 'fits'`, [
          requestId,
          approvalDigest,
        ]);
    };
    agent = startTestAgent({ gateway, url: target.url, timings: withoutBeats });
    await gateway.nextPoll();
  });
  afterAll(async () => {
    agent?.stop();
    await agent?.exit;
    await gateway?.close();
    await root.query('drop table public.svc_execution_marker');
  });
  const detail = 'update parts set qty = qty + 1';
  const run = (input: object) => gateway.offer({ operation: 'execute_dml', detail, ...input }).result;

  it('the marker of an attempt by an agent of the earlier version is found where that one wrote it', async () => {
    const [requestId, before] = [randomUUID(), await quantity()];
    await plant('public.svc_execution_marker', requestId, 1, { execution: attemptId(1), digest: 'fits' });
    const result = await run({ requestId, fence: 2, unresolvedFences: [1] });
    expect(result).toMatchObject({ outcome: 'already_applied', applied_fence: 1, applied_execution_id: attemptId(1) });
    expect(await quantity()).toBe(before);
  });

  it('also when a gateway of the earlier version does not tell executions', async () => {
    const requestId = randomUUID();
    await plant('public.svc_execution_marker', requestId, 1, { digest: 'fits' });
    const result = await run({ requestId, fence: 2, unresolvedFences: [1], tellsExecutions: false });
    expect(result).toMatchObject({ outcome: 'already_applied', applied_fence: 1 });
  });

  it.each<[string, number, Parameters<typeof plant>[3]]>([
    ['an execution that is none', 1, { digest: 'fits' }],
    ['a digest that is not the approved one', 1, { execution: attemptId(1) }],
    ['the execution of another fence', 2, { execution: attemptId(1), digest: 'fits' }],
    ['an open row outside a transaction', 1, { state: 'open', mode: 'auto', digest: 'fits' }],
    ['a state in capitals', 1, { state: 'DONE', execution: attemptId(1), digest: 'fits' }],
    ['a later fence', 99, { execution: attemptId(1), digest: 'fits' }],
    ['the own fence', 3, { digest: 'fits' }],
  ])('%s neither proves nor blocks anything, and is told', async (_, fence, what) => {
    const [requestId, before] = [randomUUID(), await quantity()];
    await plant(MARKERS, requestId, fence, what);
    const result = await run({ requestId, fence: 3, unresolvedFences: [1, 2] });
    expect(result).toMatchObject({ success: true, outcome: 'committed', marker_mismatches: [{ fence }] });
    expect(await quantity()).toBe(before + 1);
    const own = await root.query(`select execution_id from ${MARKERS} where request_id = $1 and fence = 3 and state = 'done'`, [
      requestId,
    ]);
    expect(own.rows).toHaveLength(fence === 3 ? 2 : 1);
  });

  it('a thousand long rows are told as twenty, and hide no genuine one', async () => {
    const requestId = randomUUID();
    await root
      .query(
        `insert into ${MARKERS} (request_id, fence, mode, state, execution_id, agent_id, approval_digest)
       select $1, 1000 + n, 'tx', 'done', repeat('x', 100000), 'a', 'd' from generate_series(1, 1000) n`,
        [requestId],
      )
      .catch(() => {});
    await root.query(
      `insert into ${MARKERS} (request_id, fence, mode, state, execution_id, agent_id, approval_digest)
       select $1, 1000 + n, 'tx', 'done', 'x' || n, 'a', 'd' from generate_series(1, 1000) n`,
      [requestId],
    );
    await plant(MARKERS, requestId, 1, { execution: attemptId(1), digest: 'fits' });
    const result = await run({ requestId, fence: 2, unresolvedFences: [1] });
    expect(result).toMatchObject({ outcome: 'already_applied', applied_fence: 1 });
    expect(result.marker_mismatches).toHaveLength(20);
  });

  it('a later row counts when the gateway has a later attempt', async () => {
    const [requestId, before] = [randomUUID(), await quantity()];
    await plant(MARKERS, requestId, 5);
    const result = await run({ requestId, fence: 2, gone: true });
    expect(result).toMatchObject({ success: false, outcome: 'not_started', error_message: 'superseded by attempt 5' });
    expect(await quantity()).toBe(before);
  });

  it('a function that deletes the marker of its own transaction takes the change with it', async () => {
    await root.query(
      `create or replace function unmark() returns int language plpgsql as $$ begin delete from ${MARKERS}; return 1; end $$`,
    );
    const before = await quantity();
    const result = await gateway.offer({ operation: 'execute_dml', detail: 'update parts set qty = qty + unmark()' }).result;
    expect(result).toMatchObject({ success: false, outcome: 'rolled_back' });
    expect(await quantity()).toBe(before);
  });
});

describe('a table of the earlier version that the file names (HD-41)', () => {
  it('a row that stands in the way of the own one is overwritten, since a fence has one execution', async () => {
    await root.query(`create schema ops; ${olderDdl('ops.svc_execution_marker')}`);
    const gateway = await startFakeGateway();
    const agent = startTestAgent({ gateway, url: target.url, tables: '[marker]\nschema = "ops"' });
    await gateway.nextPoll();
    const [requestId, before] = [randomUUID(), await quantity()];
    await plant('ops.svc_execution_marker', requestId, 1);
    const result = await gateway.offer({ operation: 'execute_dml', detail: 'update parts set qty = qty + 1', requestId }).result;
    expect(result).toMatchObject({ outcome: 'committed', marker_mismatches: [{ fence: 1 }] });
    expect(await quantity()).toBe(before + 1);
    const { rows } = await root.query(
      'select state, rows_affected::int as n, execution_id from ops.svc_execution_marker where request_id = $1',
      [requestId],
    );
    expect(rows).toMatchObject([{ state: 'done', n: 1 }]);
    agent.stop();
    await agent.exit;
    await gateway.close();
  });
});

describe('where markers lie (HD-40)', () => {
  const address = (role: string) => Object.assign(new URL(target.url), { username: role, password: 'x' }).href;
  const roles: string[] = [];
  const newRole = async (rights: string) => {
    const role = `marks_${randomUUID().slice(0, 8)}`;
    roles.push(role);
    await root.query(`create role ${role} login password 'x'; ${rights.replaceAll('ROLE', role)}`);
    return role;
  };
  const startWith = async (role: string) => {
    const gateway = await startFakeGateway();
    const agent = startTestAgent({ gateway, url: address(role) });
    await gateway.nextPoll();
    const result = await gateway.offer({ operation: 'execute_dml', detail: 'update parts set qty = 1' }).result;
    agent.stop();
    await agent.exit;
    await gateway.close();
    return { result, lines: agent.lines.join('\n') };
  };
  beforeEach(() => root.query('drop schema if exists svc cascade'));
  afterAll(async () => {
    await root.query('drop schema if exists svc cascade');
    for (const role of roles) await root.query(`drop owned by ${role} cascade; drop role ${role}`);
  });

  it('in a schema svc that the role makes, where it may', async () => {
    const name = new URL(target.url).pathname.slice(1);
    const role = await newRole(`grant create on database ${name} to ROLE; grant select, update on parts to ROLE`);
    expect((await startWith(role)).result).toMatchObject({ outcome: 'committed' });
    expect((await root.query(`select state from ${MARKERS} where state = 'done'`)).rows).toEqual([{ state: 'done' }]);
  });

  it('else in the first schema of its path, with a word in the log', async () => {
    const role = await newRole('create schema ROLE authorization ROLE; grant select, update on parts to ROLE');
    const { result, lines } = await startWith(role);
    expect(result).toMatchObject({ outcome: 'committed' });
    expect(lines).toContain(
      `in schema ${role}, because of the own one: there is no schema svc, and the role lacks CREATE on the database`,
    );
    expect((await root.query(`select state from ${role}.svc_execution_marker where state = 'done'`)).rows).toEqual([
      { state: 'done' },
    ]);
  });

  it('never in a table whose triggers, rules or row security would run with the rights of the agent', async () => {
    const role = await newRole('grant select, update on parts to ROLE');
    await root.query(`create schema svc; ${olderDdl(MARKERS)}; grant usage on schema svc to ${role}; grant all on ${MARKERS} to ${role};
      create function evil() returns trigger language plpgsql as $$ begin return new; end $$;
      create trigger evil before insert on ${MARKERS} for each row execute function evil()`);
    const { result, lines } = await startWith(role);
    expect(result).toMatchObject({ outcome: 'not_started', error_message: 'marker table not available' });
    expect(lines).toContain('no marker rows can be written');
  });
});
