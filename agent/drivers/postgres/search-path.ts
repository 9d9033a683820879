import { endAfter } from '../../snapshot/end-after.js';
import type { SessionPool } from '../session.js';
import type { PostgresSession } from './session.js';
import { DEFAULT_SEARCH_PATH } from './settings.js';

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

/** Says that the role or the database has its own search path, which texts ignore (HD-30); null if neither has. */
export async function ownPathProblem(session: PostgresSession): Promise<string | null> {
  const own = (await session.query(OWN_PATHS)).map(([setting]) => (setting ?? '').replace(/^search_path=/i, ''));
  const other = own.find((path) => path !== DEFAULT_SEARCH_PATH);
  if (other === undefined) return null;
  return `role or database have the search_path ${other}, which has no effect; if it is meant, set search_path of the pair`;
}

/** Settings of the role come before those of the database. */
const OWN_PATHS = `select setting from pg_catalog.pg_db_role_setting s, pg_catalog.unnest(s.setconfig) as setting
  where s.setdatabase in (0, (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database()))
    and s.setrole in (0, (select r.oid from pg_catalog.pg_roles r where r.rolname = session_user)) and setting ilike 'search_path=%'
  order by s.setrole desc, s.setdatabase desc`;
