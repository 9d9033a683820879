import { problemInPlan } from '../read-plan.js';

/**
 * Why the plan of a read would write, or null (AP-28): a node that modifies or locks rows, or a foreign scan that does more than
 * select. `plan` is the text of `EXPLAIN (FORMAT JSON)`.
 */
export function planProblem(plan: string): string | null {
  return problemInPlan(plan, ({ 'Node Type': type, Operation: operation }) => {
    if (type === 'ModifyTable' || type === 'LockRows') return `the plan has a ${type} node`;
    return operation !== undefined && operation !== 'Select' ? `the plan has the operation ${String(operation)}` : null;
  });
}
