import { ConnectFailure } from '../driver.js';
import type { PostgresSession } from './session.js';

/**
 * Throws a ConnectFailure when the two sessions come from a pooler rather than the server: if each transaction may get another
 * session, a request lock excludes nobody.
 */
export async function refusePooler(one: PostgresSession, other: PostgresSession): Promise<void> {
  const [first] = await one.query(look);
  // While the other session is in a transaction, a pooler must give the first one a different session than before, or the same
  // session to both.
  await other.query('begin read only');
  const [second] = await other.query(look);
  const [again] = await one.query(look);
  await other.query('rollback');
  if (first?.[0] === second?.[0] || first?.[0] !== again?.[0])
    throw new ConnectFailure(
      'connection',
      'a pooler gives each transaction another session; use its session mode, or the server itself',
    );
}

const look = 'select pg_catalog.pg_backend_pid()::text';
