import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/processes.js';
import { databaseToml, dbaTeamToml, workflowToml } from '../support/toml.js';
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
  await bench.target.query('drop table items');
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

/** An agent that has told the schema as it is, and is gone: what happens to the tables now, nobody hears of. */
async function leaveSnapshot(): Promise<void> {
  bench.start({ token });
  await fresh();
  await bench.stopAll();
  await bench.target.query('insert into items select n, 1 from generate_series(81, 50080) n');
}

describe('an old snapshot (HD-23, SQ-85a)', () => {
  it('passes nothing by risk: 50,080 rows of a table that had 80', async () => {
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
      ...{ status: 'warning', risk_assessment: { level: 'unknown', factors: [{ name: 'schema_stale' }] } },
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
