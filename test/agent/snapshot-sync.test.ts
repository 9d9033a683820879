import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AgentConfig } from '../../agent/config-values.js';
import type { Databases } from '../../agent/databases.js';
import { ConnectFailure } from '../../agent/drivers/driver.js';
import { Interrupted } from '../../agent/drivers/faults.js';
import { postgresErrors } from '../../agent/drivers/postgres/errors.js';
import { createGatewayClient, type GatewayClient } from '../../agent/gateway-client.js';
import { SnapshotTooLarge } from '../../agent/snapshot/no-snapshot.js';
import { createSnapshotSync } from '../../agent/snapshot-sync.js';
import type { Target } from '../../agent/target.js';
import { defaultTimings } from '../../agent/timings.js';
import type { SchemaSnapshot } from '../../domain/snapshot.js';
import { sleep } from '../../lib/sleep.js';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { createEmptyDatabase } from '../support/postgres.js';
import { table } from '../support/snapshots.js';
import { startTestAgent } from '../support/test-agent.js';

let gateway: FakeGateway;
let client: GatewayClient;
let stop: AbortController;
let lines: string[];
beforeEach(async () => {
  gateway = await startFakeGateway();
  client = createGatewayClient({ url: gateway.url, token: 'svc_test', ca: null, userAgent: 'test', connectTimeoutMs: 1000 });
  stop = new AbortController();
  lines = [];
});
afterEach(async () => {
  stop.abort();
  client.close();
  await gateway.close();
});

type Look = () => SchemaSnapshot | Promise<SchemaSnapshot>;
const small: Look = () => ({ tables: [table('users')] });

function targetOf(look: Look, over: Partial<Target> = {}): Target {
  const driver = {
    dialect: 'postgresql',
    snapshot: async () => look(),
    errorText: postgresErrors.errorText,
  } as unknown as Target['driver'];
  return { name: 'shop/staging', database: 'shop', environment: 'staging', degraded: false, driver, ...over } as Target;
}

function syncOf(targets: Target[], snapshotSync: Partial<AgentConfig['snapshotSync']> = {}) {
  const note =
    (level: string) =>
    (message: string, fields: object = {}) =>
      lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  return createSnapshotSync(
    {
      config: {
        snapshotSync: { enabled: true, onStartup: true, intervalMs: 0, ...snapshotSync },
        marker: { mode: 'auto', schema: null, table: 'Own_Markers', retentionDays: 180 },
      },
      client,
      databases: { all: targets } as unknown as Databases,
      timings: { ...defaultTimings, resultBackoffMs: [1] },
      log: { error: note('error'), warn: note('warn'), info: note('info'), debug: note('debug') },
    },
    stop.signal,
  );
}

const sent = (count: number) =>
  vi.waitFor(() => expect(gateway.schemaSyncs.length).toBeGreaterThanOrEqual(count), { timeout: 10_000, interval: 5 });
const statuses = () => gateway.schemaSyncs.map(({ status }) => status);

describe('schema sync of the agent (AP-65)', () => {
  it('sends what each connected database looks like, once until something changes', async () => {
    const [one, away] = [targetOf(small), targetOf(small, { degraded: true })];
    const sync = syncOf([one, away]);
    sync.catchUp();
    await sync.idle();
    expect(gateway.schemaSyncs).toEqual([
      {
        database: 'shop',
        environment: 'staging',
        dialect: 'postgresql',
        status: 'ready',
        error_message: null,
        snapshot: { tables: [table('users')] },
      },
    ]);
    sync.catchUp();
    await sync.idle();
    expect(gateway.schemaSyncs).toHaveLength(1);
    sync.request(one);
    await sync.idle();
    expect(gateway.schemaSyncs).toHaveLength(2);
  });

  it('leaves out the tables of markers, but not one through which deletes elsewhere may go (AP-63, HD-40)', async () => {
    const [key] = table('users').constraints;
    const reference = { ...key!, name: 'to_users', constraint_type: 'foreign_key', referenced_table: 'users' } as const;
    const hanging = table('svc_execution_marker', { schema_name: 'odd', constraints: [key!, reference] });
    const tables = [
      ...[table('own_markers'), table('svc_execution_marker', { schema_name: 'svc' }), table('svc_execution_markers')],
      ...[table('users'), hanging],
    ];
    const sync = syncOf([targetOf(() => ({ tables }))]);
    sync.catchUp();
    await sync.idle();
    expect(gateway.schemaSyncs.map(({ snapshot }) => snapshot)).toEqual([
      { tables: [table('svc_execution_markers'), table('users'), hanging] },
    ]);
  });

  it('catches up with a database that is back', async () => {
    const away = targetOf(small, { degraded: true });
    const sync = syncOf([away]);
    sync.catchUp();
    Object.assign(away, { degraded: false });
    sync.catchUp();
    await sync.idle();
    expect(statuses()).toEqual(['ready']);
  });

  it('never runs twice at once for a database: what comes meanwhile runs once more afterwards', async () => {
    let now = 0;
    let most = 0;
    const target = targetOf(async () => {
      most = Math.max(most, ++now);
      await sleep(10);
      now--;
      return small();
    });
    const sync = syncOf([target]);
    for (let times = 0; times < 5; times++) sync.request(target);
    await sync.idle();
    expect([most, statuses()]).toEqual([1, ['ready', 'ready']]);
  });

  it('syncs at every interval, not at the start when that is off, and never when it is switched off', async () => {
    const target = targetOf(small);
    syncOf([target], { enabled: false }).catchUp();
    syncOf([target], { onStartup: false }).catchUp();
    syncOf([target], { enabled: false, intervalMs: 1 }).begin();
    await sleep(20);
    expect(gateway.schemaSyncs).toEqual([]);
    syncOf([target], { intervalMs: 5 }).begin();
    await sent(3);
  });

  it('reports why it failed, without host or user', async () => {
    const sync = syncOf([
      targetOf(() => {
        throw new ConnectFailure('connection', 'ECONNREFUSED');
      }),
      targetOf(() => {
        throw new SnapshotTooLarge();
      }),
    ]);
    sync.catchUp();
    await sync.idle();
    expect(gateway.schemaSyncs.map(({ status, snapshot, error_message: text }) => [status, snapshot, text]).sort()).toEqual([
      ['failed', null, 'driver error: connection failed: ECONNREFUSED'],
      ['failed', null, 'snapshot too large'],
    ]);
  });

  it('sends a snapshot above 10 MiB as failed', async () => {
    const wide =
      (bytes: number): Look =>
      () => ({ tables: [table('x'.repeat(bytes))] });
    const sync = syncOf([targetOf(wide(3_400_000)), targetOf(wide(3_600_000))]);
    sync.catchUp();
    await sync.idle();
    expect(statuses().sort()).toEqual(['failed', 'ready']);
  });

  it('tries three times more when the server is away or does not know the scope yet, then waits for the next time', async () => {
    const target = targetOf(small);
    const sync = syncOf([target]);
    gateway.schemaStatuses = [503, 403, 429];
    sync.request(target);
    await sync.idle();
    expect(gateway.schemaSyncs).toHaveLength(4);
    expect(lines.filter((line) => line.startsWith('warn'))).toEqual([]);
    gateway.schemaStatuses = [500, 500, 500, 500, 500];
    sync.request(target);
    await sync.idle();
    expect(gateway.schemaSyncs).toHaveLength(8);
    expect(lines.at(-1)).toBe('warn schema not synced {"database":"shop/staging","why":"status 500"}');
    gateway.schemaStatuses = [400];
    sync.request(target);
    await sync.idle();
    expect(gateway.schemaSyncs).toHaveLength(9);
  });

  it('AG-50: tries again after what a proxy says', async () => {
    const target = targetOf(small);
    const sync = syncOf([target]);
    gateway.proxyStatuses = [404, 400, 401];
    sync.request(target);
    await sync.idle();
    expect(gateway.schemaSyncs).toHaveLength(4);
    expect(lines.filter((line) => line.startsWith('warn'))).toEqual([]);
  });

  it('tells once that the server is too old', async () => {
    const target = targetOf(small);
    const sync = syncOf([target]);
    gateway.schemaStatuses = [404, 501];
    for (let times = 0; times < 2; times++) {
      sync.request(target);
      await sync.idle();
    }
    expect(lines).toEqual(['warn schema not synced: server too old {"status":404}']);
    expect(gateway.schemaSyncs).toHaveLength(2);
  });

  it('sends nothing once the agent stops', async () => {
    const target = targetOf(async () => {
      stop.abort();
      throw new Interrupted();
    });
    const sync = syncOf([target], { intervalMs: 1 });
    sync.begin();
    sync.request(target);
    await sync.idle();
    sync.request(target);
    await sleep(5);
    expect(gateway.schemaSyncs).toEqual([]);
  });
});

describe('a running agent', () => {
  it('syncs after readiness and after DDL that took effect, not after other writes, and leaves out its markers (AP-63, AP-65)', async () => {
    const database = await createEmptyDatabase();
    const agent = startTestAgent({ gateway, url: database.url });
    const named = (count: number) => {
      const snapshot = gateway.schemaSyncs[count - 1]?.snapshot as SchemaSnapshot | undefined;
      return snapshot?.tables.map(({ name }) => name);
    };
    const run = (detail: string) => gateway.offer({ operation: 'execute_dml', detail }).result;
    try {
      await sent(1);
      expect(named(1)).toEqual([]);
      expect(await run('create table parts (id int primary key)')).toMatchObject({ success: true });
      await sent(2);
      expect(named(2)).toEqual(['parts']);
      expect(await run('insert into parts values (1)')).toMatchObject({ success: true });
      expect(await run('create table parts (id int)')).toMatchObject({ success: false });
      expect(await run('drop table parts')).toMatchObject({ success: true });
      await sent(3);
      expect(named(3)).toEqual([]);
    } finally {
      agent.stop();
      expect(await agent.exit).toBe(0);
      await database.drop();
    }
  });
});
