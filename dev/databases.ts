import { readFileSync } from 'node:fs';
import pg from 'pg';
import type { Passwords } from './passwords.js';
import type { PostgresServer } from './postgres.js';

export const shopEnvironments = ['staging', 'production'] as const;

/** Makes what is missing of the gateway's own database: `svc`, owned by role `svc`, closed to every other role. Answers its address. */
export async function prepareGatewayDatabase(server: PostgresServer, passwords: Passwords): Promise<string> {
  await withClient(server.url('postgres'), async (client) => {
    await ensureRole(client, 'svc', passwords.svc);
    await ensureDatabase(client, 'svc', 'svc', []);
  });
  return server.url('svc', 'svc', passwords.svc);
}

/** Makes what is missing of the demo databases (DV-7): owned by `shop_rw`, readable by `shop_ro`, filled in one transaction. */
export async function prepareShop(server: PostgresServer, passwords: Passwords): Promise<void> {
  await withClient(server.url('postgres'), async (client) => {
    await ensureRole(client, 'shop_rw', passwords.shop_rw);
    await ensureRole(client, 'shop_ro', passwords.shop_ro);
    for (const environment of shopEnvironments) await ensureDatabase(client, `shop_${environment}`, 'shop_rw', ['shop_ro']);
  });
  const fill = readFileSync(new URL('./shop.sql', import.meta.url), 'utf8');
  for (const environment of shopEnvironments) {
    await withClient(server.url(`shop_${environment}`, 'shop_rw', passwords.shop_rw), async (client) => {
      const { rows } = await client.query(`select to_regclass('public.orders') is not null as filled`);
      if (!rows[0].filled) await client.query(`begin; ${fill}; commit`);
    });
  }
}

async function ensureRole(client: pg.Client, name: string, password: string): Promise<void> {
  const { rowCount } = await client.query('select from pg_roles where rolname = $1', [name]);
  await client.query(`${rowCount === 0 ? 'create' : 'alter'} role ${name} login password ${pg.escapeLiteral(password)}`);
}

/** PostgreSQL lets everybody connect to a new database; the rights are set at every start, since a first start may have been killed. */
async function ensureDatabase(client: pg.Client, name: string, owner: string, readers: string[]): Promise<void> {
  const { rowCount } = await client.query('select from pg_database where datname = $1', [name]);
  if (rowCount === 0) await client.query(`create database ${name} owner ${owner}`);
  await client.query(`revoke all on database ${name} from public`);
  for (const reader of readers) await client.query(`grant connect on database ${name} to ${reader}`);
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000, query_timeout: 60_000 });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
