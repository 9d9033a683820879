import type { ExplainRun } from './driver.js';
import { errorText } from './postgres-errors.js';
import type { PostgresSession } from './postgres-session.js';

/** The plan as the server wrote it, without its line breaks, or the text of section 11; `error` is what went wrong, if anything did. */
export type ExplainReport = { plan: string; error: null } | { text: string; error: object };

/** Plans a statement without running it, in a read-only transaction that is rolled back (AP-60). */
export async function runExplain(session: PostgresSession, run: ExplainRun, graceMs: number): Promise<ExplainReport> {
  const destroy = () => session.destroy();
  const timer = setTimeout(destroy, run.timeoutMs + graceMs);
  run.signal.addEventListener('abort', destroy, { once: true });
  try {
    const results = await session.exchange([
      { kind: 'run', text: 'begin read only' },
      { kind: 'run', text: "select pg_catalog.set_config('statement_timeout', $1, true)", values: [String(run.timeoutMs)] },
      { kind: 'run', text: `explain (format json) ${run.sql}` },
      { kind: 'run', text: 'rollback' },
    ]);
    // A raw line break can only stand between tokens: in strings it is escaped.
    return { plan: (results[2]?.rows[0]?.[0] ?? 'null').replace(/\n\s*/g, ''), error: null };
  } catch (error) {
    return { text: errorText(error), error: error as Error };
  } finally {
    clearTimeout(timer);
    run.signal.removeEventListener('abort', destroy);
  }
}
