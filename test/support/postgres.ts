import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { approvalMacs } from '../../crypto/approval-macs.js';
import type { Database } from '../../db/client.js';
import { openDatabase } from '../../db/open-database.js';
import { noneOutgoing } from '../../db/transaction.js';
import type { OutgoingOf } from '../../domain/notifications/outgoing.js';
import { askEngines } from './ask-engines.js';

export interface TestDatabase {
  /** The address for a role: `svc` for a migrated database, the superuser for an empty one. */
  url: string;
  /** Address of the same database for the superuser. */
  adminUrl: string;
  drop: () => Promise<void>;
}

/** A new database with the gateway's schema, owned by role `svc`; `drop` it after the test file. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const { database: template } = await askEngines('/template');
  return create(`template ${template} owner svc strategy file_copy`, { username: 'svc', password: 'svc' });
}

/** A new database without tables, as the superuser: a target, or a test of migrations. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return create('strategy file_copy', {});
}

/** The same with a connection to it. */
export async function connectEmptyDatabase(): Promise<{ database: TestDatabase; client: pg.Client }> {
  const database = await createEmptyDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  return { database, client };
}

/** Under the secret key that servers of tests have (test/support/api.ts). */
export const testMacs = approvalMacs(new Uint8Array(32).fill(0x5e));

/** Opens a database of `createTestDatabase` as the gateway does. */
export function openTestDatabase(url: string, poolMax = 10, outgoingOf: OutgoingOf = noneOutgoing): Database {
  return openDatabase({
    url,
    poolMax,
    connectTimeoutMs: 3000,
    statementTimeoutMs: 10_000,
    applicationName: 'test',
    macs: testMacs,
    outgoingOf,
  });
}

async function create(how: string, login: { username?: string; password?: string }): Promise<TestDatabase> {
  const { url: server } = await askEngines('/postgres');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await run(server, `create database ${name} ${how}`);
  const address = (parts: object) => Object.assign(new URL(server), { pathname: `/${name}`, ...parts }).href;
  return { url: address(login), adminUrl: address({}), drop: () => run(server, `drop database if exists ${name} with (force)`) };
}

async function run(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
