import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startClaimProxy } from '../support/claim-proxy.js';
import { eventually } from '../support/processes.js';
import { databaseToml, dbaTeamToml, workflowToml } from '../support/toml.js';
import { vouch } from '../support/vouch.js';
import { type GatewayBench, startGatewayBench } from './gateway-bench.js';

const toml = [
  databaseToml('shop', ['staging']),
  dbaTeamToml,
  workflowToml({ auto: '{ mode = "risk_based", risk = "low", max_snapshot_age_secs = 3600 }', steps: [[{ group: 'dba-team' }]] }),
].join('');

let bench: GatewayBench;
let token: string;
beforeAll(async () => {
  bench = await startGatewayBench(toml);
  token = await bench.agentToken();
});
afterAll(() => bench?.close());
beforeEach(async () => {
  await bench.target.query('create table items (id integer primary key, qty integer)');
  await bench.target.query('insert into items select n, 1 from generate_series(1, 80) n');
  await bench.target.query('analyze items');
});
afterEach(async () => {
  await bench.stopAll();
  await bench.target.query('drop table if exists items, parts, log cascade; drop function if exists note');
  await bench.calls.sql('delete from schema_snapshots');
});

const snapshotAge = async () =>
  (
    await bench.calls.sql<{ secs: number }>(
      'select extract(epoch from clock_timestamp() - collected_at)::float8 as secs from schema_snapshots',
    )
  )[0]?.secs;
const fresh = () => eventually(async () => ((await snapshotAge()) ?? 1e9) < 60, 20_000);
const setBack = (interval: string) =>
  bench.calls.sql(
    `update schema_snapshots set collected_at = collected_at - $1::interval, synced_at = synced_at - $1::interval`,
    [interval],
  );
const shown = async (id: string) => (await bench.calls.show(bench.dana, id)).body;
const everything = 'update items set qty = 0 where id > 0';

/** An agent that has reported the schema and is gone: later changes of the tables go unnoticed. */
async function leaveSnapshot(): Promise<void> {
  bench.start({ token });
  await fresh();
  await bench.stopAll();
  await bench.target.query('insert into items select n, 1 from generate_series(81, 5080) n');
}

describe('an old snapshot (HD-23, SQ-85a)', () => {
  it('passes nothing by risk: 5,080 rows of a table that had 80', async () => {
    await leaveSnapshot();
    await setBack('2 hours');
    const id = await bench.create(everything);
    const request = await shown(id);
    expect([request.status, request.context.risk]).toEqual([
      'pending',
      { level: 'Unknown', factors: [{ name: 'schema_stale' }] },
    ]);
    expect(request.decision_trace).toMatchObject({
      risk: { level: 'unknown', factors: ['schema_stale'], schema_status: 'stale' },
      decision: { outcome: 'needs_approval', reasons: ['risk_unavailable'], auto_approve_threshold: 'low' },
    });
    const preflight = { database: 'shop', environment: 'staging', sql: everything, include_explain: false };
    expect((await bench.api.call('POST', '/api/preflight', { token: bench.dana, body: preflight })).body).toMatchObject({
      status: 'warning',
      risk_assessment: { level: 'unknown', factors: [{ name: 'schema_stale' }] },
      policy: { would_auto_approve: false },
    });
  });

  it('that was received in the future is not trusted either', async () => {
    await leaveSnapshot();
    await setBack('-2 hours');
    expect((await shown(await bench.create(everything))).context.risk.factors).toEqual([{ name: 'schema_stale' }]);
  });

  it('is asked for by the gateway before it is too old, and an unchanged one is as good as new', async () => {
    await leaveSnapshot();
    await setBack('31 minutes');
    bench.start({ token, tables: '[schema_sync]\nsync_on_startup = false\ninterval_secs = 0' });
    await fresh();
    expect(await bench.calls.sql(`select 1 from audit_events where event_type = 'schema.snapshot_updated'`)).not.toHaveLength(0);
  });

  it('does not become younger by a sync that failed', async () => {
    await leaveSnapshot();
    await setBack('2 hours');
    await bench.calls.sql(`update schema_snapshots set synced_at = clock_timestamp(), last_status = 'failed'`);
    expect((await shown(await bench.create(everything))).context.risk.factors).toEqual([{ name: 'schema_stale' }]);
  });
});

const tooMany = (rows: number) => `would have changed ${rows} rows, 1000 may pass without approval`;
const zeroed = async () => Number((await bench.target.query('select count(*) from items where qty = 0')).rows[0].count);

describe('a write that passed by risk changes no more rows than its risk was judged by (HD-25)', () => {
  async function run(sql: string) {
    const id = await bench.create(sql);
    expect((await shown(id)).max_affected_rows).toBe(1000);
    const status = await bench.ended(id);
    const { outcome, error_message: error, rows_affected: rows } = await bench.newestRun(id);
    return { status, outcome, error, rows };
  }
  const refused = (rows: number) => ({ status: 'failed', outcome: 'rolled_back', error: tooMany(rows), rows: null });

  it('5,080 rows of a table of which the snapshot knows 80', async () => {
    await leaveSnapshot();
    bench.start({ token, tables: '[schema_sync]\nenabled = false' });
    expect(await run(everything)).toEqual(refused(5_080));
    expect(await zeroed()).toBe(0);
    expect(await run('update items set qty = 0 where id <= 1000')).toMatchObject({ status: 'executed', rows: 1000 });
    expect(await run('update items set qty = 0 where id <= 1001')).toEqual(refused(1001));
    expect(await zeroed()).toBe(1000);
  });

  it('whatever form hides them: common table expressions, MERGE, INSERT of a query, RETURNING, ON CONFLICT, cascades, rules, triggers', async () => {
    await bench.target.query(`create table parts (item integer references items on update cascade on delete cascade, n integer);
      create table log (word text); analyze parts, log;
      create function note() returns trigger language plpgsql as 'begin insert into log select n::text from generate_series(1, 2000) n; return null; end'`);
    await leaveSnapshot();
    await bench.target.query(`insert into parts select 7, n from generate_series(1, 1500) n; insert into parts values (8, 1)`);
    bench.start({ token, tables: '[schema_sync]\nenabled = false' });
    const forms: [string, number][] = [
      ['with changed as (update items set qty = 0 where id > 0 returning id) select count(*) from changed', 5_080],
      [
        'with changed as (update items set qty = 0 where id > 2000 returning id) insert into log select min(id)::text from changed',
        3081,
      ],
      ['merge into items t using (select 1 as one) s on t.id > 3000 when matched then update set qty = 0', 2080],
      ['insert into log select id::text from items where id > 80', 5000],
      ['insert into items select id, 0 from items on conflict (id) do update set qty = 0', 5_080],
      ['update items set qty = 0 where id > 4000 returning id', 1080],
      ['update items set id = -7 where id = 7', 1501],
    ];
    for (const [sql, rows] of forms) expect([sql, await run(sql)]).toEqual([sql, refused(rows)]);
    // What nobody looked at when its risk was judged: a trigger and a rule that came later.
    await bench.target.query('create trigger noted after update on items for each statement execute function note()');
    expect(await run('update items set qty = 0 where id = 1')).toEqual(refused(2001));
    await bench.target.query(`drop trigger noted on items;
      create constraint trigger noted after update on items deferrable initially deferred for each row execute function note()`);
    expect(await run('update items set qty = 0 where id = 1')).toEqual(refused(2001));
    await bench.target.query(`drop trigger noted on items;
      create rule more as on update to items do also insert into log select n::text from generate_series(1, 3000) n`);
    expect(await run('update items set qty = 0 where id = 1')).toEqual(refused(3001));
    expect([await zeroed(), Number((await bench.target.query('select count(*) from log')).rows[0].count)]).toEqual([0, 0]);
  });

  it('nor may its trigger empty a table or change the schema, which no count shows', async () => {
    await bench.target.query('create table log (word text); analyze log');
    await leaveSnapshot();
    await bench.target.query(`insert into log select n::text from generate_series(1, 5000) n`);
    bench.start({ token, tables: '[schema_sync]\nenabled = false' });
    const error = 'changed rows cannot be counted: a trigger or function emptied a table or changed the schema';
    for (const [deed, isRefused] of [
      ['truncate log', true],
      ['begin truncate log; exception when others then null; end', true],
      ['alter table log add column more integer', true],
      ['create temporary table scratch (n integer); truncate scratch; drop table scratch', false],
    ] as const) {
      await bench.target.query(`create or replace function note() returns trigger language plpgsql as $$begin ${deed}; return null; end$$;
        create or replace trigger noted after update on items for each statement execute function note()`);
      const ran = await run('update items set qty = 0 where id = 1');
      expect([deed, ran]).toMatchObject([
        deed,
        isRefused ? { status: 'failed', outcome: 'rolled_back', error } : { status: 'executed', rows: 1 },
      ]);
    }
    expect(Number((await bench.target.query('select count(*) from log')).rows[0].count)).toBe(5000);
  });

  it('and nothing that commits by itself or cannot be counted passes by risk', async () => {
    await leaveSnapshot();
    const asked = async (sql: string) => {
      const { status, decision_trace: trace, max_affected_rows: bound } = await shown(await bench.create(sql));
      return [status, trace.risk.level, trace.decision.reasons, bound];
    };
    expect(await asked('create index concurrently by_qty on items (qty)')).toEqual([
      'pending',
      'low',
      ['rows_not_bounded'],
      null,
    ]);
    expect(await asked('create table further (id integer)')).toEqual(['dispatched', 'low', ['risk_below_threshold'], 1000]);
    expect(await asked('select * from items')).toEqual(['dispatched', 'low', ['risk_below_threshold'], null]);
  });

  it('also when it is run again after its agent was lost, and by no claim that says otherwise', async () => {
    await leaveSnapshot();
    const proxy = await startClaimProxy(bench.api.url);
    const id = await bench.create(everything);
    proxy.onClaim = (claim) => ({ ...claim, max_affected_rows: 100_000 });
    bench.start({ gateway: proxy, token, tables: '[schema_sync]\nenabled = false' });
    expect(await bench.ended(id)).toBe('failed');
    expect(await bench.newestRun(id)).toMatchObject({
      outcome: 'not_started',
      error_message: 'token verification failed: max_affected_rows mismatch',
    });
    const changes: ((claim: Record<string, unknown>) => unknown)[] = [
      (claim) => ({ ...claim, max_affected_rows: null }),
      ({ max_affected_rows: _, ...claim }) => claim,
      (claim) => ({
        ...claim,
        max_affected_rows: null,
        execution_token: String(claim.execution_token).replace('"max_affected_rows":1000', '"max_affected_rows":null'),
      }),
    ];
    for (const change of changes) {
      proxy.onClaim = change;
      const next = await bench.create(everything);
      await bench.ended(next);
      expect((await bench.newestRun(next)).error_message).toMatch(/max_affected_rows mismatch|signature invalid/);
    }
    // The answer of the claim is lost with its agent.
    const lost = await bench.create(everything);
    proxy.onClaim = () => Promise.reject(new Error('the answer is lost'));
    await eventually(async () => (await bench.statusOf(lost)) === 'running', 20_000);
    await bench.calls.sql(
      `update executions set lease_expires_at = clock_timestamp() - interval '1 second' where request_id = $1`,
      [lost],
    );
    await bench.calls.sql(`update requests set status = 'execution_lost' where id = $1`, [lost]);
    await bench.calls.sql(
      `update executions set status = 'failed', lost = true, unresolved = true, finished_at = clock_timestamp() where request_id = $1`,
      [lost],
    );
    await vouch(bench.api.services.database, lost);
    await bench.stopAll();
    proxy.onClaim = null;
    expect((await bench.resume(lost)).status).toBe(200);
    bench.start({ gateway: proxy, token, tables: '[schema_sync]\nenabled = false' });
    expect(await bench.ended(lost)).toBe('failed');
    expect(await bench.newestRun(lost)).toMatchObject({ outcome: 'rolled_back', error_message: tooMany(5_080) });
    expect(proxy.claims.at(-1)).toMatchObject({ max_affected_rows: 1000, fence: 2 });
    expect(await zeroed()).toBe(0);
    await proxy.close();
  }, 60_000);

  it('waits for an agent that can limit it: an older one is neither offered nor given it', async () => {
    await leaveSnapshot();
    const id = await bench.create(everything);
    const capabilities = { scopes: [{ database: 'shop', environment: 'staging', marker: true }], features: ['fence'] };
    const asOld = (path: string, body: unknown) => bench.api.call('POST', `/api/agent/${path}`, { token, body });
    expect((await asOld('poll', { capabilities })).body.jobs).toEqual([]);
    expect((await asOld(`jobs/${id}/claim`, {})).body).toMatchObject({
      code: 'request.conflict',
      error: 'the agent cannot limit how many rows a write changes',
    });
    expect((await shown(id)).queue_hint).toBe('agents_outdated');
    const able = { ...capabilities, features: ['fence', 'marker_executions', 'max_affected_rows'] };
    expect((await asOld('poll', { capabilities: able, limit: 5 })).body.jobs).toMatchObject([{ id }]);
    expect((await shown(id)).queue_hint).toBeNull();
    const claim = (await asOld(`jobs/${id}/claim`, {})).body;
    expect([claim.max_affected_rows, JSON.parse(claim.execution_token).max_affected_rows]).toEqual([1000, 1000]);
  });

  it('where the database does not count changed rows nothing of it stays', async () => {
    await leaveSnapshot();
    await bench.target.query(
      'do $$ begin execute format($f$alter database %I set track_counts = off$f$, current_database()); end $$',
    );
    bench.start({ token, tables: '[schema_sync]\nenabled = false' });
    expect(await run('update items set qty = 0 where id = 1')).toMatchObject({
      status: 'failed',
      outcome: 'rolled_back',
      error: 'changed rows cannot be counted: track_counts is off in the database',
    });
    expect(await zeroed()).toBe(0);
    await bench.target.query(
      'do $$ begin execute format($f$alter database %I reset track_counts$f$, current_database()); end $$',
    );
  });
});
