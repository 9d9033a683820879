import { endAfter } from '../../snapshot/end-after.js';
import type { SessionPool } from '../session.js';
import type { PostgresSession } from './session.js';

/**
 * The schemas in which the session looks for unqualified names, as a JSON expression; `$user` is replaced by its schema, and
 * missing schemas are left out.
 */
export const SEARCHED = 'pg_catalog.to_json(pg_catalog.current_schemas(false))::text';

/** The same, asked on a separate session so that no running job must finish first; throws as a snapshot does. */
export async function askSearchPath(
  pool: SessionPool<PostgresSession>,
  limits: { timeoutMs: number; signal: AbortSignal },
): Promise<string> {
  const session = await pool.open();
  try {
    const [row] = await endAfter(session, limits, () => session.query(`select ${SEARCHED}`));
    return row?.[0] ?? '[]';
  } finally {
    await session.release();
  }
}
