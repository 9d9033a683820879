import type { CollectedContext, DryRun } from '../domain/request/context.js';

/** Part of a creation's one statement: what is known at that time of the request in its part `allowed`. The parameter holds JSON text. */
export function contextInsert(parameter: string): string {
  return `contexted as (insert into request_contexts (request_id, tables, sql_review, risk, schema_snapshot_collected_at)
    select id, tables, sql_review, risk, schema_snapshot_collected_at
    from allowed, jsonb_to_record(${parameter}::jsonb) as c(tables jsonb, sql_review jsonb, risk jsonb, schema_snapshot_collected_at timestamptz))`;
}

/** The value of `contextInsert`'s parameter. */
export const contextValue = (context: CollectedContext): string =>
  JSON.stringify({
    tables: context.tables,
    sql_review: context.sqlReview,
    risk: context.risk,
    schema_snapshot_collected_at: context.schemaSnapshotCollectedAt,
  });

/** What `contextColumns` adds to a row of `requests r`. */
export interface ContextColumns {
  /** Null for a request that was created without one. */
  collected: CollectedContext | null;
  /** In statement order. */
  dryRuns: DryRun[];
}

export const contextColumns = `(select jsonb_build_object('tables', c.tables, 'sqlReview', c.sql_review, 'risk', c.risk,
    'schemaSnapshotCollectedAt', to_char(c.schema_snapshot_collected_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
   from request_contexts c where c.request_id = r.id) as collected,
  coalesce((select jsonb_agg(jsonb_build_object('sql', j.sql, 'state', j.state, 'plan', j.plan, 'error', j.error) order by j.statement_index)
   from dry_run_jobs j where j.request_id = r.id), '[]') as "dryRuns"`;
