import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import { migrate } from '../../db/migrate.js';
import { openAuditKeys } from '../../runtime/audit-keys.js';
import { sealBatch } from '../../worker/seal-batch.js';
import { readDump, writeDump } from '../support/backups.js';
import { openOwnPostgres } from '../support/own-postgres.js';
import { openTestDatabase } from '../support/postgres.js';
import { numbered, openSealing, readChain, type Sealing, secretKey, writeEvents } from '../support/sealing.js';

let sealing: Sealing;
let cluster: Awaited<ReturnType<typeof openOwnPostgres>>;
let restored: Database;
beforeAll(async () => {
  sealing = await openSealing();
  cluster = await openOwnPostgres();
  await migrate(cluster.url('postgres'));
  restored = openTestDatabase(cluster.url('postgres'));
}, 120_000);
afterAll(async () => {
  await restored.close();
  await cluster.close();
  await sealing.close();
});

it('sealing goes on in the cluster where a backup was restored, whose transactions are numbered anew (AU-13)', async () => {
  await writeEvents(sealing.database, numbered('sealed', 700));
  await sealing.sealAll();
  await writeEvents(sealing.database, numbered('not-yet', 30));
  await writeDump(cluster.url('postgres'), await readDump(sealing.stored.adminUrl));
  const transactionOf = async (database: Database) =>
    (await database.query<{ id: number }>('select pg_current_xact_id()::text::bigint as id'))[0]!.id;
  expect(await transactionOf(restored)).toBeLessThan(await transactionOf(sealing.database));

  await writeEvents(restored, numbered('after', 30));
  const keys = await openAuditKeys({ database: restored, secretKey, publicKeys: [] });
  expect(await restored.transaction((tx) => sealBatch(tx, keys, { origin: 'svc', isAnchored: false }))).toMatchObject({
    kind: 'done',
    sealed: 60,
  });
  const names = (await readChain({ database: restored })).flatMap(({ event_type, resource_id }) =>
    event_type === 'config.synced' ? [resource_id] : [],
  );
  expect(names).toEqual([...numbered('sealed', 700), ...numbered('not-yet', 30), ...numbered('after', 30)]);
});
