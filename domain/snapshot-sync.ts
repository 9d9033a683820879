/** The outcomes of a schema sync (AG-72, AG-73). */
export const SYNC_STATUSES = ['ready', 'failed', 'partial'] as const;
export type SyncStatus = (typeof SYNC_STATUSES)[number];

/** A table of a snapshot as lists show it (SC-3). */
export interface TableSummary {
  name: string;
  schema_name: string;
  estimated_rows: number;
  column_count: number;
  constraint_count: number;
  index_count: number;
}
