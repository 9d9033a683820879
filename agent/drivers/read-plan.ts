import { recordsIn } from '../../lib/record.js';

/** The first problem that `problemOf` finds in a plan's objects, or null; `plan` is the JSON text of an EXPLAIN. */
export function problemInPlan(plan: string, problemOf: (node: Record<string, unknown>) => string | null): string | null {
  let tree: unknown;
  try {
    tree = JSON.parse(plan);
  } catch {
    return 'the plan is not readable';
  }
  for (const node of recordsIn(tree)) {
    const problem = problemOf(node);
    if (problem !== null) return problem;
  }
  return null;
}
