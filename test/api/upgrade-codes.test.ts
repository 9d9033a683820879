import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { adoptBatch } from '../../runtime/adopt-database.js';
import type { TestApi } from '../support/api.js';
import { dropCodes, makeFormer } from '../support/former-database.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';
import { temporaryFolder } from '../support/processes.js';
import { ownerAndApprover, startCalls } from './calls-api.js';
import { callsToml } from './calls-toml.js';
import { gatewayCalls } from './gateway-calls.js';
import { reach } from './reach-status.js';

const secretKey = new Uint8Array(32).fill(0x5e);

let database: TestDatabase;
let stateDir: string;
let tokens: Record<'owner' | 'approver' | 'admin', string>;
let apis: TestApi[];
beforeEach(async () => {
  database = await createTestDatabase();
  stateDir = await temporaryFolder();
  apis = [];
});
afterEach(async () => {
  for (const api of apis) await api.close();
  await database.drop();
});

/** Requests of every status as an older version left them, with no server running. */
async function olderVersion(copies = 0): Promise<Record<string, string>> {
  const first = await startCalls(ownerAndApprover, ['shop/production', 'shop/staging'], { database, stateDir });
  tokens = first.tokens;
  const ids: Record<string, string> = {};
  for (const status of Object.keys(reach)) ids[status] = await reach[status]!(first.calls, tokens);
  ids.passed = await first.calls.created(tokens.owner, { environment: 'staging' });
  if (copies > 0)
    await first.calls.sql(
      `insert into requests select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid()))).* from requests r, generate_series(1, $2::int) where r.id = $1`,
      [ids.pending, copies],
    );
  await first.api.close();
  await withDatabase((db) => makeFormer(db, secretKey));
  return ids;
}

async function withDatabase<T>(work: (db: ReturnType<typeof openTestDatabase>) => Promise<T>): Promise<T> {
  const db = openTestDatabase(database.url);
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

async function start() {
  const { api, calls } = await startCalls({}, [], { database, stateDir, toml: callsToml });
  apis.push(api);
  return { api, calls: gatewayCalls({ ...api, tokens: { agent: api.tokens.agent } }), raw: calls };
}

const countWithout = () =>
  withDatabase(async (db) => {
    const [row] = await db.query<{ n: number }>(
      `select (select count(*) from requests where request_mac is null or state_mac is null) + (select count(*) from decisions where mac is null)
         + (select count(*) from config_generations where mac is null) as n`,
    );
    return row!.n;
  });

describe('the first start after a version without authentication codes (HD-50)', () => {
  it('gives all that is stored its codes once, however many servers start at once, and requests go on', async () => {
    const ids = await olderVersion(450);
    const [{ calls }] = await Promise.all([start(), start(), start()]);
    expect(await countWithout()).toBe(0);
    expect((await calls.act(tokens.approver, ids.pending!, 'approve')).status).toBe(200);
    expect((await calls.act(tokens.owner, ids.approved!, 'resume')).status).toBe(200);
    for (const id of [ids.dispatched!, ids.passed!, ids.approved!]) expect((await calls.claim(id)).status).toBe(200);
    expect(await calls.sql(`select 1 from audit_events where event_type = 'secret_key.adopted'`)).toHaveLength(1);
    expect(await calls.sql(`select 1 from audit_events where event_type = 'config.rejected'`)).toEqual([]);
  });

  it('goes on where one that was killed had got to', async () => {
    const ids = await olderVersion(450);
    await withDatabase((db) => db.transaction((tx) => adoptBatch(tx, { after: null, generation: 0 })));
    expect(await countWithout()).toBeGreaterThan(200);
    const { calls } = await start();
    expect(await countWithout()).toBe(0);
    expect((await calls.act(tokens.owner, ids.approved!, 'resume')).status).toBe(200);
  });

  it('cannot be asked for again by who only writes the database: no server starts, and nothing gets a code', async () => {
    const ids = await olderVersion();
    await (await start()).api.close();
    apis = [];
    await withDatabase(async (db) => {
      await dropCodes(db);
      await db.query(`update requests set status = 'approved' where id = $1`, [ids.pending]);
    });
    await expect(start()).rejects.toThrow('the record of the secret key is missing');
    expect(await countWithout()).toBeGreaterThan(0);
    // Without its keys the database looks new; still, nothing stored in it gets a code.
    await withDatabase((db) => db.query('delete from signing_keys'));
    const { calls } = await start();
    expect((await calls.act(tokens.owner, ids.approved!, 'resume')).body.error).toBe('approved content changed');
    expect((await calls.act(tokens.owner, ids.pending!, 'resume')).body.error).toBe('approved content changed');
  });

  it('accepts no empty code afterwards', async () => {
    const ids = await olderVersion();
    const { calls } = await start();
    await calls.sql(`update requests set request_mac = '' where id = $1`, [ids.approved]);
    expect((await calls.act(tokens.owner, ids.approved!, 'resume')).status).toBe(409);
    await calls.sql('update requests set request_mac = null where id = $1', [ids.dispatched]);
    expect((await calls.claim(ids.dispatched!)).status).toBe(409);
    await calls.sql('update requests set state_mac = null where id = $1', [ids.pending]);
    expect((await calls.act(tokens.approver, ids.pending!, 'approve')).status).toBe(409);
  });
});
