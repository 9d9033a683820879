import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '../../db/migrate.js';
import { connectEmptyDatabase, createTestDatabase } from '../support/postgres.js';
import { readSchema } from './schema-text.js';

const file = fileURLToPath(new URL('../../db/schema.sql', import.meta.url));
const how = 'db/schema.sql is not what the migrations make; this writes it: npx vitest run test/db/schema.test.ts -u';

/** Of node-pg-migrate. */
const lockOfMigrations = '7241865325823964';

let schema: string;
beforeAll(async () => {
  const database = await createTestDatabase();
  const client = new pg.Client({ connectionString: database.adminUrl });
  try {
    await client.connect();
    schema = await readSchema(client);
  } finally {
    await client.end();
    await database.drop();
  }
});

it('every migration has a number of its own', () => {
  const numbers = readdirSync(new URL('../../db/migrations/', import.meta.url)).map((name) => Number.parseInt(name, 10));
  expect(numbers.filter((number, at) => numbers.indexOf(number) !== at)).toEqual([]);
});

it('migrations wait for another process and take their time, whatever limits the database has for its sessions (OP-50)', async () => {
  const { database, client } = await connectEmptyDatabase();
  try {
    await client.query('select pg_advisory_lock($1)', [lockOfMigrations]);
    const name = client.escapeIdentifier(client.database!);
    for (const limit of ['statement_timeout', 'lock_timeout'])
      await client.query(`alter database ${name} set ${limit} = '200ms'`);
    const outcome = migrate(database.url).then(() => 'migrated', String);
    await client.query('select pg_sleep(0.6), pg_advisory_unlock($1)', [lockOfMigrations]);
    expect(await outcome).toBe('migrated');
  } finally {
    await client.end();
    await database.drop();
  }
});

describe('db/schema.sql', () => {
  it('is the schema after all migrations', async () => {
    await expect(schema, how).toMatchFileSnapshot(file);
  });

  it('makes the same schema again in an empty database', async () => {
    const { database, client } = await connectEmptyDatabase();
    try {
      await client.query(schema);
      expect(await readSchema(client)).toBe(schema);
    } finally {
      await client.end();
      await database.drop();
    }
  });

  it('would not leave out what its reader does not know', async () => {
    const { database, client } = await connectEmptyDatabase();
    try {
      await client.query("create table t (a int); create view seen as select a from t; create type mood as enum ('good')");
      await expect(readSchema(client)).rejects.toThrow(/relation seen.*type mood/);
    } finally {
      await client.end();
      await database.drop();
    }
  });
});
