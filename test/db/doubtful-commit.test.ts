import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import { openDatabase } from '../../db/open-database.js';
import { openOwnPostgres } from '../support/own-postgres.js';

import { createTripwire, type Tripwire } from '../support/tripwire.js';
import { reuseOpenId, saveNothingEarly } from '../support/unsaved-ids.js';

describe('a COMMIT whose answer is lost (HT-113)', () => {
  let postgres: Awaited<ReturnType<typeof openOwnPostgres>>;
  let wire: Tripwire;
  let database: Database;
  let look: pg.Pool;

  beforeAll(async () => {
    postgres = await openOwnPostgres();
    await saveNothingEarly(postgres);
    look = new pg.Pool({ connectionString: postgres.url('postgres'), max: 1 });
    look.on('error', () => {});
    await look.query('create table acknowledged (n int); create table audit_events (id uuid primary key)');
  }, 120_000);
  beforeEach(async () => {
    wire = createTripwire();
    const url = await wire.front('database', postgres.url('postgres'));
    database = openDatabase({ url, poolMax: 2, connectTimeoutMs: 10_000, statementTimeoutMs: 10_000, applicationName: 'test' });
  });
  afterEach(async () => {
    await database.close();
    await wire.close();
  });
  afterAll(async () => {
    await look.end();
    await postgres.close();
  });

  const write = (n: number) => database.transaction((tx) => tx.query('insert into acknowledged values ($1)', [n]));
  const heldCommit = async () => (await wire.next(({ bytes }) => bytes.includes('commit\0')))!;
  const stored = async (n: number) => (await look.query('select n from acknowledged where n = $1', [n])).rows;

  it('is acknowledged when the transaction is there', async () => {
    const written = write(1);
    (await heldCommit()).passUnanswered();
    await written;
    expect(await stored(1)).toEqual([{ n: 1 }]);
  });

  it('is 503 when it never arrived', async () => {
    const written = write(2);
    written.catch(() => {});
    (await heldCommit()).lose();
    await expect(written).rejects.toMatchObject({ code: 'service.unavailable' });
    expect(await stored(2)).toEqual([]);
  });

  const writeOnce = (n: number) => {
    const text = `with written as (insert into acknowledged values ($1)), audited as (insert into audit_events values ($2)) select 1 as done`;
    const eventId = randomUUID();
    return database.writeOnce({ text, values: [n, eventId], topics: [], eventId });
  };
  const heldStatement = async () => (await wire.next(({ bytes }) => bytes.includes('insert into acknowledged')))!;

  it('is acknowledged when a statement that commits by itself is there', async () => {
    const written = writeOnce(4);
    (await heldStatement()).passUnanswered();
    expect(await written).toBe(true);
    expect(await stored(4)).toEqual([{ n: 4 }]);
  });

  it('is 503 when a statement that commits by itself never arrived', async () => {
    const written = writeOnce(5);
    written.catch(() => {});
    (await heldStatement()).lose();
    await expect(written).rejects.toMatchObject({ code: 'service.unavailable' });
    expect(await stored(5)).toEqual([]);
  });

  it('is 503 when a crash took the transaction back and another one got its id', async () => {
    const written = write(3);
    written.catch(() => {});
    const held = await heldCommit();
    await reuseOpenId(postgres);
    held.lose();
    await expect(written).rejects.toMatchObject({ code: 'service.unavailable' });
    expect(await stored(3)).toEqual([]);
  });
});
