import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasNamespace } from '../../dev/temporal/ready.js';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { temporalAddress } from '../support/temporal.js';

describe('the shared engines of a test run', () => {
  let databases: TestDatabase[] = [];
  beforeAll(async () => {
    databases = await Promise.all([createTestDatabase(), createTestDatabase(), createEmptyDatabase()]);
  });
  afterAll(() => Promise.all(databases.map((database) => database.drop())));

  it('give each file migrated databases of its own', async () => {
    const names = await Promise.all(databases.map(({ url }) => ask(url, 'select current_database() as answer')));
    expect(new Set(names).size).toBe(3);
    const tables = `select count(*)::int as answer from information_schema.tables where table_name = 'requests'`;
    expect(await Promise.all(databases.map(({ adminUrl }) => ask(adminUrl, tables)))).toEqual([1, 1, 0]);
  });

  it('let the gateway work as a role without superuser rights', async () => {
    const isSuperuser = `select rolsuper as answer from pg_roles where rolname = current_user`;
    expect(await Promise.all(databases.map(({ url }) => ask(url, isSuperuser)))).toEqual([false, false, true]);
  });

  it('hold a Temporal server with the namespace default', async () => {
    const port = Number((await temporalAddress()).split(':')[1]);
    expect(await hasNamespace(port, 'default')).toBe(true);
    expect(await hasNamespace(port, 'not-there')).toBe(false);
  });
});

async function ask(url: string, query: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(query)).rows[0].answer;
  } finally {
    await client.end();
  }
}
