import type pg from 'pg';
import { databaseWithin } from './call-limit.js';
import { unavailableIf } from './errors.js';
import { giveBack, takeConnection } from './pool.js';

/** How long a connection may be waited for (OP-70). */
const connectMs = 3000;
/** The server ends a statement in time; one whose answer is still missing so long after that is lost. */
const graceMs = 3000;

/** What a snapshot takes of a query: statements of a client that nobody prepares. */
export interface Snapshot {
  rows<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/**
 * Runs `work` on one snapshot of the database, in a transaction that reads only and blocks no writer. It takes as long as it needs;
 * `statementMs` limits each statement and each pause between two. An unreachable server is 503.
 */
export async function inSnapshot<T>(pool: pg.Pool, statementMs: number, work: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  let client: pg.PoolClient | undefined;
  try {
    const taken = await takeConnection(pool, connectMs);
    client = taken;
    const rows = async <Row extends object>(text: string, values: readonly unknown[] = []) =>
      (await databaseWithin(taken.query<Row>(text, [...values]), statementMs + graceMs)).rows;
    await rows('begin isolation level repeatable read read only');
    await rows(`select set_config('statement_timeout', $1, true), set_config('idle_in_transaction_session_timeout', $1, true)`, [
      String(statementMs),
    ]);
    const result = await work({ rows });
    await rows('rollback');
    taken.release();
    return result;
  } catch (error) {
    // Whatever failed, this connection goes to nobody else: statements may still be on their way.
    if (client) giveBack(client, true);
    throw unavailableIf(error);
  }
}
