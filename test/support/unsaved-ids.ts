import pg from 'pg';
import type { OwnPostgres } from './own-postgres.js';
import { eventually } from './processes.js';

/** Nothing uncommitted gets to disk early, so a crash undoes it, transaction ids included. */
export async function saveNothingEarly({ url }: OwnPostgres): Promise<void> {
  for (const setting of ['autovacuum = off', "wal_writer_delay = '10s'"]) await askOwn(url, `alter system set ${setting}`);
  await askOwn(url, 'select pg_reload_conf()');
}

/**
 * Kills the server while one transaction that has written is open, starts it again, and gives the id of that transaction to
 * another one, which commits.
 */
export async function reuseOpenId({ url, kill, start }: OwnPostgres): Promise<void> {
  const taken = await openId(url);
  await kill();
  await start();
  await takeId(url, taken);
}

/** The id of the one transaction that has written and is open. Asks without writing, because a write would save the id. */
export async function openId(url: OwnPostgres['url']): Promise<bigint> {
  // A session whose client is gone keeps its transaction until it has seen that.
  return eventually(async () => {
    const open = await askOwn(
      url,
      "select backend_xid::text as id from pg_stat_activity where backend_type = 'client backend' and backend_xid is not null",
    );
    return open.length === 1 && BigInt(open[0]!.id as string);
  });
}

/** Commits a transaction with this id on a server that has never heard of it. */
export async function takeId(url: OwnPostgres['url'], taken: bigint): Promise<void> {
  if ((await nextId(url)) > taken) throw new Error(`transaction id ${taken} was not given up`);
  while ((await nextId(url)) <= taken)
    await askOwn(url, 'create table if not exists taker (id int); insert into taker values (1)');
}

async function nextId(url: OwnPostgres['url']): Promise<bigint> {
  const [row] = await askOwn(url, 'select pg_snapshot_xmax(pg_current_snapshot())::text as id');
  return BigInt(row!.id as string);
}

/** Runs a text as the superuser on a connection of its own; returns the rows of a single statement. */
export async function askOwn(url: OwnPostgres['url'], sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url('postgres') });
  client.on('error', () => {});
  await client.connect();
  try {
    const answers: unknown = await client.query(sql);
    return Array.isArray(answers) ? [] : (answers as pg.QueryResult).rows;
  } finally {
    await client.end();
  }
}
