type Members = Record<string, unknown>;

/**
 * How many rows all changes in a plan touch, those in WITH too, as PostgreSQL expects it at the node below each `ModifyTable`. Rows are null if one of them
 * does not say; all is null for a plan without a change, such as any of MySQL.
 */
export function changesIn(plan: unknown): { rows: number | null } | null {
  const found: (number | null)[] = [];
  const open: unknown[] = [plan];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    const node = value as Members;
    if (node['Node Type'] === 'ModifyTable') found.push(rowsBelow(node));
    for (const member of Object.values(node)) open.push(member);
  }
  if (found.length === 0) return null;
  return { rows: found.reduce((sum, rows) => (sum === null || rows === null ? null : sum + rows), 0) };
}

/** Beside the node whose rows are changed there may be those of WITH and of subqueries. 0 is no estimate. */
function rowsBelow({ Plans: plans }: Members): number | null {
  const nodes = (Array.isArray(plans) ? plans : []) as (Members | null)[];
  const below = nodes.find((node) => !['InitPlan', 'SubPlan'].includes(String(node?.['Parent Relationship'])));
  const rows = below?.['Plan Rows'];
  return typeof rows === 'number' && rows > 0 ? rows : null;
}
