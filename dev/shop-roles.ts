import type pg from 'pg';
import { withClient } from './database-client.js';
import type { ShopEnvironment, ShopPasswords } from './passwords.js';
import type { PostgresServer } from './postgres.js';

export const shopEnvironments = ['staging', 'production'] as const satisfies readonly ShopEnvironment[];

/** One environment's roles. A password belongs to a role, so separate passwords need separate roles. */
export const shopRoles = (environment: ShopEnvironment): ShopPasswords => ({
  rw: `shop_${environment}_rw`,
  ro: `shop_${environment}_ro`,
});

/** Roles of an earlier version, which had one password for both environments. */
const shared = ['shop_rw', 'shop_ro'];

/**
 * Gives the environment's roles what the shared roles own and may read, and drops the shared roles. Safe to interrupt and repeat.
 */
export async function replaceSharedRoles(server: PostgresServer): Promise<void> {
  const present = await withClient(server.url('postgres'), async (client) => {
    const { rows } = await client.query<{ rolname: string }>('select rolname from pg_roles where rolname = any ($1)', [shared]);
    return rows.map(({ rolname }) => rolname);
  });
  if (present.length === 0) return;
  for (const environment of shopEnvironments)
    await withClient(server.url(`shop_${environment}`), (client) => handOver(client, environment, present));
  await withClient(server.url('postgres'), async (client) => {
    for (const role of present) await dropRole(client, role);
  });
}

async function handOver(client: pg.Client, environment: ShopEnvironment, present: readonly string[]): Promise<void> {
  const { rw, ro } = shopRoles(environment);
  await client.query('begin');
  if (present.includes('shop_ro')) await client.query(grantsOf('shop_ro', ro));
  await client.query(`reassign owned by ${present.join(', ')} to ${rw}`);
  // Sequential: default privileges of one role for the other would be dropped twice, which is an error.
  for (const role of present) await client.query(`drop owned by ${role}`);
  await client.query('commit');
}

/** Grants another role everything that one role may read in this database. */
const grantsOf = (from: string, to: string) => `
do $$
declare
  one record;
begin
  for one in select nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' and has_schema_privilege('${from}', oid, 'usage') loop
    execute format('grant usage on schema %I to ${to}', one.nspname);
  end loop;
  for one in
    select oid::regclass as name, relkind from pg_class
    where relkind in ('r', 'p', 'v', 'm', 'f', 'S') and relnamespace::regnamespace::text !~ '^(pg_|information_schema)'
      and case relkind when 'S' then has_sequence_privilege('${from}', oid, 'select') else has_table_privilege('${from}', oid, 'select') end
  loop
    execute format('grant select on %s %s to ${to}', case one.relkind when 'S' then 'sequence' else 'table' end, one.name);
  end loop;
end
$$`;

/** A role that owns something in a foreign database stays, but nobody can log in with it. */
async function dropRole(client: pg.Client, role: string): Promise<void> {
  try {
    await client.query(`drop role ${role}`);
  } catch (error) {
    if ((error as { code?: string }).code !== '2BP01') throw error;
    await client.query(`alter role ${role} nologin password null`);
  }
}
