import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import { openDatabase } from '../../db/open-database.js';
import { asSuperuser, type OwnPostgres, openOwnPostgres } from '../support/own-postgres.js';
import { eventually } from '../support/processes.js';
import { openStandby, primarySettings, replicateSynchronously, type Standby } from '../support/standby.js';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';
import { createTripwire, type Tripwire } from '../support/tripwire.js';
import { openId, saveNothingEarly, takeId } from '../support/unsaved-ids.js';

/** Long enough for a promotion within one call. */
const patient = { connectTimeoutMs: 10_000, statementTimeoutMs: 60_000, callTimeoutMs: 60_000 };

let primary: OwnPostgres;
let standby: Standby;
/** Leads to the current primary, as a virtual address does. */
let front: TcpProxy;
let wire: Tripwire;
let database: Database;
beforeAll(async () => {
  primary = await openOwnPostgres();
  await primary.stop();
  await primary.start(...primarySettings);
  await saveNothingEarly(primary);
  await asSuperuser(primary.url('postgres'), (client) => client.query('create table acknowledged (n int)'));
  // The copy has the same statistics as its primary, by which a crash is noticed.
  standby = await openStandby(primary, { isCold: true });
  front = await startTcpProxy(primary.url('postgres'));
  wire = createTripwire();
  const url = await wire.front('database', front.url);
  database = openDatabase({ url, poolMax: 2, applicationName: 'test', ...patient });
}, 240_000);
afterAll(async () => {
  await database?.close();
  await wire?.close();
  await front?.close();
  await standby?.close();
  await primary?.close();
});

const write = (n: number) => database.transaction((tx) => tx.query('insert into acknowledged values ($1)', [n]));
const storedAt = async (server: OwnPostgres, n: number) =>
  (await asSuperuser(server.url('postgres'), (client) => client.query('select n from acknowledged where n = $1', [n]))).rows;

// The standby is promoted by the last of them.
describe('a streaming standby', { shuffle: false }, () => {
  it('HT-112: is no gateway database: what is asked there is 503, for it may lack what was acknowledged', async () => {
    const astray = openDatabase({ url: standby.url('postgres'), poolMax: 2, applicationName: 'test', ...patient });
    try {
      await expect(astray.query('select 1')).rejects.toMatchObject({ code: 'service.unavailable' });
    } finally {
      await astray.close();
    }
  });

  it('OP-I1: that commits wait for (synchronous_standby_names) has what was acknowledged, and while it is away nothing is', async () => {
    await replicateSynchronously(primary);
    await write(1);
    // What it has on disk it shows a moment later.
    await eventually(async () => (await storedAt(standby, 1)).length === 1);
    await standby.stop();
    const impatient = openDatabase({
      url: primary.url('postgres'),
      poolMax: 2,
      applicationName: 'test',
      ...patient,
      callTimeoutMs: 1500,
    });
    try {
      // Connects, so that only the transaction takes of its time.
      await impatient.query('select 1');
      const written = impatient.transaction((tx) => tx.query('insert into acknowledged values (2)'));
      await expect(written).rejects.toMatchObject({ code: 'service.unavailable' });
    } finally {
      await standby.start();
      await impatient.close();
    }
    await eventually(async () => (await storedAt(standby, 2)).length === 1);
    await replicateSynchronously(primary, false);
  }, 120_000);

  it('HT-113: a COMMIT whose answer was lost in a failover is 503, even if another transaction got its id', async () => {
    const written = write(3);
    written.catch(() => {});
    const held = await wire.next(({ bytes }) => bytes.includes('commit\0'));
    const taken = await openId(primary.url);
    await primary.kill();
    await standby.promote();
    await takeId(standby.url, taken);
    front.to(standby.url('postgres'));
    held!.lose();
    await expect(written).rejects.toMatchObject({ code: 'service.unavailable' });
    expect(await storedAt(standby, 3)).toEqual([]);
    await write(4);
    expect(await storedAt(standby, 4)).toEqual([{ n: 4 }]);
  }, 120_000);
});
