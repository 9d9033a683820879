import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { expect, it } from 'vitest';
import { migrate, schemaVersion } from '../../db/migrate.js';
import { appliedSchemaVersion } from '../../db/schema-version.js';
import { connectEmptyDatabase, openTestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';

const folder = fileURLToPath(new URL('../../db/migrations/', import.meta.url));
/** The migrations before the one with this number. */
const before = (number: number) => readdirSync(folder).filter((name) => Number.parseInt(name, 10) < number).length;

const waiting = `select 1 from pg_locks where not granted and mode = 'AccessExclusiveLock'
  and database = (select oid from pg_database where datname = current_database())`;

it('a change of the schema that waits for a long transaction, such as a dump, keeps no call waiting (OP-54)', async () => {
  const { database: stored, client } = await connectEmptyDatabase();
  const gateway = openTestDatabase(stored.url);
  const dump = new pg.Client({ connectionString: stored.url });
  try {
    // The next one drops an index of the executions.
    const how = { dbClient: client, dir: folder, migrationsTable: 'schema_migrations', noLock: true, log: () => {} };
    await runner({ ...how, direction: 'up', count: before(37) });
    await dump.connect();
    await dump.query('begin; select from executions');
    let locked = 0;
    const onLocked = () => {
      locked += 1;
    };
    const outcome = migrate(stored.url, { onLocked }).then(() => 'migrated', String);
    for (const times of [1, 2]) {
      await eventually(async () => (await client.query(waiting)).rows.length > 0, 60_000);
      expect(await gateway.query('select from executions')).toEqual([]);
      await eventually(() => locked >= times, 60_000);
    }
    await dump.query('rollback');
    expect(await outcome).toBe('migrated');
    expect(await appliedSchemaVersion(gateway)).toBe(schemaVersion);
  } finally {
    await gateway.close();
    await dump.end();
    await client.end();
    await stored.drop();
  }
}, 180_000);
