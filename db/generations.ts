import type { ApprovalMacs } from '../crypto/approval-macs.js';
import type { SharedConfig } from '../domain/policies.js';
import { generationText } from '../domain/vouched-text.js';
import type { Queryable, Transaction, Vouched } from './client.js';

export interface StoredGeneration {
  number: number;
  digest: string;
  content: SharedConfig;
  /** Milliseconds since the epoch. */
  createdAt: number;
}

/** A generation with its authentication code. Databases of older versions have no column for it (CF-I1). */
type CodedGeneration = StoredGeneration & { mac: string | null };

const columns = 'number, digest, content, created_at as "createdAt"';
const maxRejected = 100;

/** Whether a process with the secret key wrote the generation (HD-50). */
export const holdsUnder = (macs: ApprovalMacs) => (generation: CodedGeneration) =>
  macs.holds(generationText(generation), generation.mac);

/** The generation in force: the newest one that was written with the secret key. Undefined before the first start. */
export async function latestGeneration(db: Vouched): Promise<StoredGeneration | undefined> {
  return (await findInForce(db, holdsUnder(db.macs))).inForce;
}

/** The newest generation with a valid code, and the numbers of newer ones without. */
export async function findInForce(
  db: Queryable,
  holds: (generation: CodedGeneration) => boolean,
): Promise<{ inForce: StoredGeneration | undefined; rejected: number[] }> {
  const rejected: number[] = [];
  for (;;) {
    const [row] = await db.query<CodedGeneration>(
      `select ${columns}, to_jsonb(g) ->> 'mac' as mac from config_generations g where $1::bigint is null or number < $1 order by number desc limit 1`,
      [rejected.at(-1) ?? null],
    );
    if (row === undefined || rejected.length === maxRejected) return { inForce: undefined, rejected };
    const { mac: _, ...inForce } = row;
    if (holds(row)) return { inForce, rejected };
    rejected.push(row.number);
  }
}

/** The newest stored number, whether or not its code is valid. */
export async function latestGenerationNumber(db: Queryable): Promise<number> {
  const [row] = await db.query<{ number: number | null }>('select max(number) as number from config_generations');
  return row?.number ?? 0;
}

/** A stored generation that was written with the secret key; undefined if there is none of this number. */
export async function findGeneration(db: Vouched, number: number): Promise<StoredGeneration | undefined> {
  const [row] = await db.query<CodedGeneration>(`select ${columns}, mac from config_generations where number = $1`, [number]);
  return row !== undefined && holdsUnder(db.macs)(row) ? row : undefined;
}

/** When each entry of a list first appeared and last changed, and by which generation, up to generation `number`. Adding an entry again counts as a change (CF-71). */
export async function listItemTimes(
  db: Queryable,
  list: keyof SharedConfig,
  number: number,
): Promise<{ id: string; created_at: number; updated_at: number; changed_by: number }[]> {
  return db.query(
    `with generations as (
       select number, created_at, content, row_number() over (order by number) as place from config_generations where number <= $2
     ), items as (
       select place, number, created_at, item ->> 'id' as id, md5(item::text) as item
       from generations, jsonb_array_elements(content -> $1) as item
     ), versions as (
       select *, lag(item) over versions as previous, lag(place) over versions as previous_place
       from items window versions as (partition by id order by place)
     )
     select id, min(created_at) as created_at, max(created_at) filter (where changed) as updated_at, max(number) filter (where changed) as changed_by
     from (select *, previous is distinct from item or previous_place is distinct from place - 1 as changed from versions) v group by id`,
    [list, number],
  );
}

/** Blocks syncs of other processes until the transaction ends (CF-30). */
export async function lockGenerations(tx: Transaction): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('config_generations', 0))`);
}

/**
 * Keeps the generation in force until the transaction ends; any number of transactions may hold this. In the lock order, it follows the
 * user's row.
 */
export async function keepGeneration(tx: Transaction): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock_shared(hashtextextended('config_generations', 0))`);
}

export async function insertGeneration(tx: Transaction, digest: string, content: SharedConfig): Promise<StoredGeneration> {
  const [row] = await tx.query<StoredGeneration>(
    `insert into config_generations (digest, content) values ($1, $2) returning ${columns}`,
    [digest, JSON.stringify(content)],
  );
  if (row === undefined) throw new Error('insert without a row');
  await tx.query('update config_generations set mac = $2 where number = $1', [row.number, tx.macs.mac(generationText(row))]);
  return row;
}
