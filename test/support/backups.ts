import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { migrate } from '../../db/migrate.js';
import { clone } from '../../dev/layout.js';
import { placePostgres } from '../../dev/postgres-programs.js';
import { makeDataFolder } from './memory-folder.js';
import { asSuperuser, type OwnPostgres, openOwnPostgres } from './own-postgres.js';
import { copy, copyRunning, primarySettings, startCopy } from './standby.js';

/** A backup of the gateway's PostgreSQL. */
export interface Backup {
  /** Restores it into a new server, once. */
  restore(): Promise<OwnPostgres>;
}

/** As `pg_basebackup` makes it of a running server: the files, and the log up to its end. That program is not in the npm package. */
export async function takeBaseBackup(primary: OwnPostgres): Promise<Backup> {
  const folder = makeDataFolder('svc-backup-');
  const place = placePostgres(clone, join(folder, 'postgres'));
  mkdirSync(dirname(place.dataDir), { recursive: true });
  await copyRunning(primary, place.dataDir);
  await copy(join(primary.dataDir, 'pg_wal'), place.dataDir);
  return { restore: () => startCopy(primary, { folder, place }, primarySettings) };
}

/** As `pg_dump` and `pg_restore` do it, into a server of its own. */
export async function takeDump(primary: OwnPostgres): Promise<Backup> {
  const dump = await readDump(primary.url('postgres'));
  return {
    async restore() {
      const server = await openPrimary();
      await migrate(server.url('postgres'));
      await writeDump(server.url('postgres'), dump);
      return server;
    },
  };
}

/** A server of which base backups can be taken. */
export async function openPrimary(): Promise<OwnPostgres> {
  const server = await openOwnPostgres();
  await server.kill();
  await server.start(...primarySettings);
  return server;
}

/** All rows and sequences of the gateway's database at one moment. */
interface Dump {
  tables: { name: string; rows: string[] }[];
  sequences: { name: string; last: string }[];
}

const listTables = `select quote_ident(relname) as name from pg_class
  where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'schema_migrations'`;

const listSequences = `select quote_ident(sequencename) as name, last_value::text as last from pg_sequences
  where schemaname = 'public' and last_value is not null`;

export function readDump(url: string): Promise<Dump> {
  return asSuperuser(url, async (client) => {
    await client.query('begin isolation level repeatable read read only');
    const tables: Dump['tables'] = [];
    for (const { name } of (await client.query<{ name: string }>(listTables)).rows) {
      const { rows } = await client.query<{ row: string }>(`select to_jsonb(t)::text as row from ${name} t`);
      tables.push({ name, rows: rows.map(({ row }) => row) });
    }
    const { rows: sequences } = await client.query<Dump['sequences'][number]>(listSequences);
    return { tables, sequences };
  });
}

const rowsAtOnce = 1000;

/** Into tables that the migrations have made, in whatever order, as a restore does it before it adds keys and triggers. */
export async function writeDump(url: string, { tables, sequences }: Dump): Promise<void> {
  await asSuperuser(url, async (client) => {
    await client.query(`set session_replication_role = 'replica'`);
    for (const { name, rows } of tables) {
      await client.query(`delete from ${name}`);
      for (let at = 0; at < rows.length; at += rowsAtOnce)
        await client.query(
          `insert into ${name} overriding system value select (jsonb_populate_record(null::${name}, row)).* from unnest($1::jsonb[]) row`,
          [rows.slice(at, at + rowsAtOnce)],
        );
    }
    for (const { name, last } of sequences)
      if (name !== 'schema_migrations_id_seq') await client.query('select setval($1::regclass, $2::bigint)', [name, last]);
  });
}
