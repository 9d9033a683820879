import { setTimeout as sleep } from 'node:timers/promises';
import mysql from 'mysql2/promise';
import pg from 'pg';

/** One write of a request into the row `key` of a target, and how to see whether it is there. */
export interface Write {
  target: Target;
  key: number;
  kind: Kind;
}

/** How a write runs: all of it with its marker in one transaction, or each statement for itself. */
export interface Kind {
  mode: 'tx' | 'auto';
  operation?: 'migrate_up';
  /** How many changes it consists of; each is proven for itself. */
  changes: number;
  detail(key: number): string;
  /** How many changes of `key` took place. */
  applied(target: Target, key: number): Promise<number>;
}

/** A database that agents write to, with a table `ledger (id, n)` whose rows begin at 0. */
export interface Target {
  name: 'shop' | 'store';
  kinds: readonly Kind[];
  /** The marker table. */
  markers: string;
  /** Rows of one query, past every agent; asked again while the server is away. */
  rows(sql: string, values?: (string | number)[]): Promise<Record<string, unknown>[]>;
  /** Transactions that are open, and request locks that are held. */
  held(): Promise<number>;
  close(): Promise<void>;
}

const counted = async (target: Target, key: number): Promise<number> =>
  Number((await target.rows(`select n from ledger where id = ${key}`))[0]?.n);
const add = (key: number) => `update ledger set n = n + 1 where id = ${key}`;

const migrations = 3;

/** Migrations of a key, one for each step; the versions of one key go before those of the next. */
function migrationsOf(key: number, sql: (step: number) => string): string {
  const steps = Array.from({ length: migrations }, (_, step) => ({ version: `${1000 + key}.${step}`, sql: sql(step) }));
  const versions = steps.map(({ version }) => version);
  return JSON.stringify({ format: 'v2', direction: 'up', versions, migrations: steps, dir_sha256: '0'.repeat(64) });
}
/** Each adds one. */
const additions = (key: number) => migrationsOf(key, () => add(key));
/** Each makes a table, which no transaction takes back. */
const tables = (key: number) => migrationsOf(key, (step) => `create table made_${key}_${step} (id int)`);

/** Where the version rows disagree with the changes, no number is right (MI-I1). */
async function migrated(target: Target, key: number): Promise<number> {
  const sql = `select n, (select count(*) from schema_migrations where version like '${1000 + key}.%') as versions from ledger where id = ${key}`;
  const [row] = await target.rows(sql);
  return Number(row?.n) === Number(row?.versions) ? Number(row?.n) : Number.NaN;
}

/** A table whose version row is missing is half a change, as after a death between the two (MI-39); any other disagreement makes no number right. */
async function tablesMade(target: Target, key: number): Promise<number> {
  const sql = `select table_name from information_schema.tables where table_schema = database() and table_name like 'made\\_${key}\\_%'`;
  const made = (await target.rows(sql)).map((row) => String(Object.values(row)[0]).split('_')[2]);
  const rows = await target.rows(`select version from schema_migrations where version like '${1000 + key}.%'`);
  const versions = rows.map(({ version }) => String(version).split('.')[1]);
  const half = made.length - versions.length;
  return versions.every((step) => made.includes(step)) && half <= 1 ? made.length - half / 2 : Number.NaN;
}

const postgresKinds: readonly Kind[] = [
  { mode: 'tx', changes: 1, detail: add, applied: counted },
  {
    mode: 'tx',
    changes: 1,
    // Its result is an object in the result store (RS-63).
    detail: (key) => `insert into notes (id) values (${key}); ${add(key)} returning n, repeat('x', 100000) as filler`,
    applied: counted,
  },
  { mode: 'tx', changes: 1, detail: (key) => `${add(key)}; select pg_sleep(0.02)`, applied: counted },
  {
    mode: 'auto',
    changes: 1,
    // Each on a table of its own: PostgreSQL ends one of two that run on the same table as a deadlock.
    detail: (key) => `create index concurrently ledger_${key} on indexed_${key} (id)`,
    applied: async (target, key) => {
      const sql = `select count(*)::int as n from pg_index where indexrelid = to_regclass('ledger_${key}') and indisvalid`;
      return Number((await target.rows(sql))[0]?.n);
    },
  },
  { mode: 'tx', operation: 'migrate_up', changes: migrations, detail: additions, applied: migrated },
];

const mysqlKinds: readonly Kind[] = [
  { mode: 'tx', changes: 1, detail: add, applied: counted },
  { mode: 'tx', changes: 1, detail: (key) => `insert into notes (id) values (${key}); ${add(key)}`, applied: counted },
  { mode: 'tx', changes: 1, detail: (key) => `${add(key)}; select sleep(0.02)`, applied: counted },
  { mode: 'auto', changes: 1, detail: (key) => `call bump(${key})`, applied: counted },
  { mode: 'tx', operation: 'migrate_up', changes: migrations, detail: additions, applied: migrated },
  { mode: 'auto', operation: 'migrate_up', changes: migrations, detail: tables, applied: tablesMade },
];

/** Advisory locks and open transactions of a PostgreSQL target. */
export const heldInTarget = `select (select count(*) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database()))
  + (select count(*) from pg_stat_activity where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()) as n`;

/** The PostgreSQL target, with as many rows as there are keys. */
export async function preparePostgres(url: string, keys: number): Promise<Target> {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on('error', () => {});
  await pool.query(`create table ledger (id int primary key, n int not null); create table notes (id int); create table schema_migrations (version text primary key);
    insert into ledger select key, 0 from generate_series(1, ${keys}) key;
    ${Array.from({ length: keys }, (_, index) => `create table indexed_${index + 1} (id int)`).join('; ')}`);
  const rows: Target['rows'] = (sql, values) => patiently(async () => (await pool.query(sql, values)).rows);
  return {
    name: 'shop',
    markers: 'svc.svc_execution_marker',
    kinds: postgresKinds,
    rows,
    close: () => pool.end(),
    held: async () => Number((await rows(heldInTarget))[0]?.n),
  };
}

/** The other transactions of this database; other test files use the server too. */
export const openTransactions = `select id from information_schema.innodb_trx join information_schema.processlist on id = trx_mysql_thread_id
  where db = database() and id <> connection_id()`;

/** The MySQL or MariaDB target; `url` is its superuser's. */
export async function prepareMysql(url: string, keys: number): Promise<Target> {
  const pool = mysql.createPool({ uri: url, connectionLimit: 2, multipleStatements: true });
  const values = Array.from({ length: keys }, (_, key) => `(${key + 1}, 0)`);
  await pool.query(`create table ledger (id int primary key, n int not null); create table notes (id int);
    create table schema_migrations (version varchar(255) collate utf8mb4_bin primary key);
    create procedure bump(in key_id int) update ledger set n = n + 1 where id = key_id;
    insert into ledger values ${values.join(', ')}`);
  const rows: Target['rows'] = (sql, values) =>
    patiently(async () => (await pool.query(sql, values))[0] as Record<string, unknown>[]);
  const held = `select count(*) as n from (${openTransactions}) as open`;
  return {
    // The account has rights in its own database only.
    name: 'store',
    markers: 'svc_execution_marker',
    kinds: mysqlKinds,
    rows,
    close: () => pool.end(),
    // InnoDB tells the same transactions again to whoever asks more often than every 100 ms.
    held: () => sleep(150).then(async () => Number((await rows(held))[0]?.n)),
  };
}

/** Asks again while the server is away. */
export async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (let left = 200; ; left -= 1) {
    try {
      return await ask();
    } catch (error) {
      if (left === 0) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
