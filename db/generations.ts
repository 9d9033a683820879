import type { SharedConfig } from '../config/types.js';
import type { Queryable, Transaction } from './client.js';

export interface StoredGeneration {
  number: number;
  digest: string;
  content: SharedConfig;
  /** Milliseconds since the epoch. */
  createdAt: number;
}

const columns = 'number, digest, content, created_at as "createdAt"';

/** The generation in force; undefined before the first start. */
export async function latestGeneration(db: Queryable): Promise<StoredGeneration | undefined> {
  const [row] = await db.query<StoredGeneration>(`select ${columns} from config_generations order by number desc limit 1`);
  return row;
}

/** What `latestGeneration` would answer, without its content. */
export async function latestGenerationNumber(db: Queryable): Promise<number> {
  const [row] = await db.query<{ number: number | null }>('select max(number) as number from config_generations');
  return row?.number ?? 0;
}

/** When the entries of a list first had their ids, and when they were last changed, added again included (CF-71), up to generation `number`. */
export async function listItemTimes(
  db: Queryable,
  list: keyof SharedConfig,
  number: number,
): Promise<{ id: string; created_at: number; updated_at: number }[]> {
  return db.query(
    `with generations as (
       select created_at, content, row_number() over (order by number) as place from config_generations where number <= $2
     ), items as (
       select place, created_at, item ->> 'id' as id, md5(item::text) as item
       from generations, jsonb_array_elements(content -> $1) as item
     ), versions as (
       select *, lag(item) over versions as previous, lag(place) over versions as previous_place
       from items window versions as (partition by id order by place)
     )
     select id, min(created_at) as created_at,
       max(created_at) filter (where previous is distinct from item or previous_place is distinct from place - 1) as updated_at
     from versions group by id`,
    [list, number],
  );
}

/** Holds back other processes that sync until the transaction ends (CF-30). */
export async function lockGenerations(tx: Transaction): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('config_generations', 0))`);
}

/** Keeps the generation in force as it is until the transaction ends; any number of transactions may. After a user's row in the lock order. */
export async function keepGeneration(tx: Transaction): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock_shared(hashtextextended('config_generations', 0))`);
}

export async function insertGeneration(tx: Transaction, digest: string, content: SharedConfig): Promise<StoredGeneration> {
  const [row] = await tx.query<StoredGeneration>(
    `insert into config_generations (digest, content) values ($1, $2) returning ${columns}`,
    [digest, JSON.stringify(content)],
  );
  if (row === undefined) throw new Error('insert without a row');
  return row;
}
