import { readFileSync } from 'node:fs';
import pg from 'pg';
import { withClient } from './database-client.js';
import type { Passwords } from './passwords.js';
import type { PostgresServer } from './postgres.js';
import { replaceSharedRoles, shopEnvironments, shopRoles } from './shop-roles.js';

/**
 * Creates what is missing of the gateway's own database: `svc`, owned by role `svc`, closed to every other role. Returns its
 * address.
 */
export async function prepareGatewayDatabase(server: PostgresServer, passwords: Passwords): Promise<string> {
  await withClient(server.url('postgres'), async (client) => {
    // Only the superuser needs these two.
    await client.query('revoke all on database postgres, template1 from public');
    await ensureRole(client, 'svc', passwords.svc);
    await ensureDatabase(client, 'svc', 'svc', []);
  });
  return server.url('svc', 'svc', passwords.svc);
}

/**
 * Creates what is missing of the demo databases (DV-7, HD-91): each is owned by its own role, readable by another, and filled in
 * one transaction.
 */
export async function prepareShop(server: PostgresServer, passwords: Passwords): Promise<void> {
  await withClient(server.url('postgres'), async (client) => {
    for (const environment of shopEnvironments) {
      const { rw, ro } = shopRoles(environment);
      await ensureRole(client, rw, passwords.shop[environment].rw);
      await ensureRole(client, ro, passwords.shop[environment].ro);
      await ensureDatabase(client, `shop_${environment}`, rw, [ro]);
    }
  });
  await replaceSharedRoles(server);
  const fill = readFileSync(new URL('./shop.sql', import.meta.url), 'utf8');
  for (const environment of shopEnvironments) {
    const { rw, ro } = shopRoles(environment);
    await withClient(server.url(`shop_${environment}`, rw, passwords.shop[environment].rw), async (client) => {
      await client.query(`alter default privileges grant select on tables to ${ro}`);
      await client.query(`alter default privileges grant select on sequences to ${ro}`);
      const { rows } = await client.query(`select to_regclass('public.orders') is not null as filled`);
      if (!rows[0].filled) await client.query(`begin; ${fill}; commit`);
    });
  }
}

async function ensureRole(client: pg.Client, name: string, password: string): Promise<void> {
  const { rowCount } = await client.query('select from pg_roles where rolname = $1', [name]);
  await client.query(`${rowCount === 0 ? 'create' : 'alter'} role ${name} login password ${pg.escapeLiteral(password)}`);
}

/**
 * PostgreSQL lets everybody connect to a new database. Privileges are set at every start, since a first start may have been
 * killed.
 */
async function ensureDatabase(client: pg.Client, name: string, owner: string, readers: string[]): Promise<void> {
  const { rowCount } = await client.query('select from pg_database where datname = $1', [name]);
  if (rowCount === 0) await client.query(`create database ${name} owner ${owner}`);
  await client.query(`alter database ${name} owner to ${owner}`);
  await client.query(`revoke all on database ${name} from public`);
  for (const reader of readers) await client.query(`grant connect on database ${name} to ${reader}`);
}
