import type { ExplainReport, ExplainRun } from '../driver.js';
import { asServerError } from './errors.js';
import { whyNotPlannable } from './plannable.js';
import type { PostgresSession } from './session.js';

/**
 * The plan as the server wrote it, without its line breaks, or why there is none. Names are looked up in the transaction that
 * plans; it is read-only and the connection's reset rolls it back (AP-60, HD-3).
 */
export async function planStatement(
  session: PostgresSession,
  run: ExplainRun,
  explainFunctions: readonly string[],
): Promise<ExplainReport['explained']> {
  await session.exchange([
    { kind: 'run', text: 'begin read only' },
    { kind: 'run', text: "select pg_catalog.set_config('statement_timeout', $1, true)", values: [String(run.timeoutMs)] },
  ]);
  const why = await whyNotPlannable(session, run.facts, explainFunctions);
  if (why !== null) return { error: why };
  const [row] = await session.query(prefix + run.sql).catch(countWithoutPrefix);
  // A raw line break can only stand between tokens: in strings it is escaped.
  return { plan: (row?.[0] ?? 'null').replace(/\n\s*/g, '') };
}

const prefix = 'explain (format json) ';

/** PostgreSQL counts the place of an error from the beginning of what it was sent. */
function countWithoutPrefix(error: unknown): never {
  const server = asServerError(error);
  const at = Number(server?.position);
  if (server !== null && at > prefix.length) server.position = String(at - prefix.length);
  throw error;
}
