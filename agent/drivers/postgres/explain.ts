import type { ExplainRun } from '../driver.js';
import type { PostgresSession } from './session.js';

/** The plan as the server wrote it, without its line breaks, made in a read-only transaction that is rolled back (AP-60). */
export async function explainText(session: PostgresSession, run: ExplainRun): Promise<string> {
  const results = await session.exchange([
    { kind: 'run', text: 'begin read only' },
    { kind: 'run', text: "select pg_catalog.set_config('statement_timeout', $1, true)", values: [String(run.timeoutMs)] },
    { kind: 'run', text: `explain (format json) ${run.sql}` },
    { kind: 'run', text: 'rollback' },
  ]);
  // A raw line break can only stand between tokens: in strings it is escaped.
  return (results[2]?.rows[0]?.[0] ?? 'null').replace(/\n\s*/g, '');
}
