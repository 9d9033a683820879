import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { connectEmptyDatabase, createTestDatabase } from '../support/postgres.js';
import { readSchema } from './schema-text.js';

const file = fileURLToPath(new URL('../../db/schema.sql', import.meta.url));
const how = 'db/schema.sql is not what the migrations make; this writes it: npx vitest run test/db/schema.test.ts -u';

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
