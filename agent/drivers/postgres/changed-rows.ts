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

/** How many permanent tables and indexes this transaction has locked as only TRUNCATE and changes of the schema do. */
const countWholes: Step = {
  kind: 'run',
  text: `select count(*)::text from pg_catalog.pg_locks l join pg_catalog.pg_class c on c.oid = l.relation
    where l.pid = pg_catalog.pg_backend_pid() and l.mode = 'AccessExclusiveLock' and c.relpersistence <> 't'`,
};

/**
 * Rows changed since `before` was counted; runs deferred constraint triggers now, so that their changes count. The server counts no rows of a TRUNCATE, so
 * one by a trigger or a function is refused, with changes of the schema unless the text itself is one.
 */
export async function changesSince(before: number, attempt: PostgresAttempt): Promise<number> {
  const steps: Step[] = [{ kind: 'run', text: 'set constraints all immediate' }, countWholes, countChanges];
  const results = await interruptible(attempt, () => attempt.session.exchange(steps));
  const isDefinition = attempt.run.statements.some(({ kind }) => kind === 'ddl' || kind === 'utility');
  if (!isDefinition && results.at(-2)?.rows[0]?.[0] !== '0')
    throw new Uncounted('changed rows cannot be counted: a trigger or function emptied a table or changed the schema');
  return changesOf(results.at(-1)) - before;
}
