import { interruptible } from '../guard.js';
import { Uncounted } from '../row-bound.js';
import type { PostgresAttempt } from './engine.js';
import type { Step, StepResult } from './exchange.js';

/**
 * Rows that this session inserted, updated and deleted since it last reported its counters, which never happens inside a
 * transaction. Includes the rows of common table expressions, triggers, rules and cascades, which command tags omit. Also counts
 * changes of a rolled-back subtransaction.
 */
export const countChanges: Step = {
  kind: 'run',
  text: `select pg_catalog.current_setting('track_counts'), coalesce(sum(pg_catalog.pg_stat_get_xact_tuples_inserted(c.oid)
      + pg_catalog.pg_stat_get_xact_tuples_updated(c.oid) + pg_catalog.pg_stat_get_xact_tuples_deleted(c.oid)), 0)::text
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'm') and n.nspname not in ('pg_catalog', 'information_schema')`,
};

/** The count from a `countChanges` step. */
export function changesOf(result: StepResult | undefined): number {
  const [tracked, count] = result?.rows[0] ?? [];
  if (tracked !== 'on' || count == null)
    throw new Uncounted('changed rows cannot be counted: track_counts is off in the database');
  return Number(count);
}

/** Rows changed since `before` was counted; runs deferred constraint triggers now, so that their changes count. */
export async function changesSince(before: number, attempt: PostgresAttempt): Promise<number> {
  const steps: Step[] = [{ kind: 'run', text: 'set constraints all immediate' }, countChanges];
  const results = await interruptible(attempt, () => attempt.session.exchange(steps));
  return changesOf(results.at(-1)) - before;
}
