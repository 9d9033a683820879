import { recordsIn } from './record.js';

type Members = Record<string, unknown>;

/**
 * How many rows all changes in a plan touch, those in WITH too, as PostgreSQL expects it at the node below each `ModifyTable`. Rows are null if one of them
 * does not say; all is null for a plan without a change, such as any of MySQL.
 */
export function changesIn(plan: unknown): { rows: number | null } | null {
  const changes = [...recordsIn(plan)].filter((node) => node['Node Type'] === 'ModifyTable').map(rowsBelow);
  if (changes.length === 0) return null;
  return { rows: changes.reduce((sum, rows) => (sum === null || rows === null ? null : sum + rows), 0) };
}

/** Beside the node whose rows are changed there may be those of WITH and of subqueries. 0 is no estimate. */
function rowsBelow({ Plans: plans }: Members): number | null {
  const nodes = (Array.isArray(plans) ? plans : []) as (Members | null)[];
  const below = nodes.find((node) => !['InitPlan', 'SubPlan'].includes(String(node?.['Parent Relationship'])));
  const rows = below?.['Plan Rows'];
  return typeof rows === 'number' && rows > 0 ? rows : null;
}
