import { randomUUID } from 'node:crypto';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import type { ResultStore } from '../../runtime/result-store.js';
import { openS3ResultStore } from '../../runtime/result-store-s3.js';
import { createResultCleaner } from '../../worker/expired-results.js';
import { createOrphanCleaner } from '../../worker/orphans.js';
import { createPurge } from '../../worker/purge.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';
import { s3Client, s3Storage } from '../support/s3.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { age, dayMs, keepResult, keysOf, recorded, toEnd } from './kept-results.js';

const s3 = await s3Storage(import.meta.url);

describe.skipIf(s3 === null)('cleaning of results in S3', () => {
  let stored: TestDatabase;
  let database: Database;
  /** A folder of the bucket for each test. */
  let config: NonNullable<typeof s3>;
  let results: ResultStore;
  beforeAll(async () => {
    stored = await createTestDatabase();
    database = openTestDatabase(stored.url);
  });
  afterAll(async () => {
    await database?.close();
    await stored?.drop();
  });
  beforeEach(async () => {
    await database.query('truncate requests, background_state, config_generations, tokens cascade');
    config = { ...s3!, prefix: `results-${randomUUID()}` };
    results = openS3ResultStore(config);
  });

  const executed = (agoMs = 0) => keepResult(database, results, agoMs);
  const cleaner = (store = results) => createResultCleaner({ database, results: store, resultTtlDays: () => 30, everyMs: 0 });
  const purge = (store = results) => createPurge({ database, results: store, requestTtlDays: () => 90, everyMs: 0 });
  const orphans = (youngestMs: number) =>
    createOrphanCleaner({ database, results, signal: new AbortController().signal, everyMs: 0, youngestMs });

  it('RS-60: what is over goes with object and record, and nothing else', async () => {
    await executed(30 * dayMs);
    const kept = await executed(30 * dayMs - 60_000);
    await toEnd(cleaner());
    expect([await recorded(database), await keysOf(results)]).toEqual([[kept.executionId], [kept.key]]);
  });

  it('RS-60: a record stays while the store is away, and goes with its object once it is back', async () => {
    const { executionId } = await executed(31 * dayMs);
    const proxy = await startTcpProxy(config.endpoint!);
    const through = openS3ResultStore({ ...config, endpoint: proxy.url });
    proxy.cut();
    await expect(cleaner(through).once()).rejects.toThrow();
    expect(await recorded(database)).toEqual([executionId]);
    proxy.heal();
    await database.query('truncate background_state');
    await toEnd(cleaner(through));
    expect([await recorded(database), await keysOf(results)]).toEqual([[], []]);
    await proxy.close();
  });

  it('RS-61: a purged request takes its objects with it first', async () => {
    const [gone, young] = [await executed(), await executed()];
    await age(database, gone.id, 91);
    const dead = openS3ResultStore({ ...config, endpoint: 'http://127.0.0.1:1' });
    await expect(purge(dead).once()).rejects.toThrow();
    expect(await recorded(database)).toEqual([gone.executionId, young.executionId].sort());
    await database.query('truncate background_state');
    await toEnd(purge());
    expect([await recorded(database), await keysOf(results)]).toEqual([[young.executionId], [young.key]]);
    const left = await database.query<{ id: string }>('select id from requests');
    expect(left).toEqual([{ id: young.id }]);
  });

  it('RS-49: objects without a record go once they are old; those with one, and what others put there, stay', async () => {
    const [kept, lost] = [await executed(), await executed()];
    await database.query('delete from results where execution_id = $1', [lost.executionId]);
    const foreign = 'someone/else.txt';
    const put = new PutObjectCommand({ Bucket: config.bucket, Key: `${config.prefix}/${foreign}`, Body: 'x' });
    await s3Client(config).send(put);
    await toEnd(orphans(3_600_000));
    expect(await keysOf(results)).toEqual([kept.key, lost.key, foreign].sort());
    await database.query('truncate background_state');
    // The store's clock has whole seconds, so "old" begins in the future here.
    await toEnd(orphans(-60_000));
    expect(await keysOf(results)).toEqual([kept.key, foreign].sort());
  });
});
