/** The first problem that `problemOf` finds in a plan's objects, or null; `plan` is the JSON text of an EXPLAIN. */
export function problemInPlan(plan: string, problemOf: (node: Record<string, unknown>) => string | null): string | null {
  let tree: unknown;
  try {
    tree = JSON.parse(plan);
  } catch {
    return 'the plan is not readable';
  }
  const open: unknown[] = [tree];
  while (open.length > 0) {
    const node = open.pop();
    if (Array.isArray(node)) for (const item of node) open.push(item);
    else if (typeof node === 'object' && node !== null) {
      const problem = problemOf(node as Record<string, unknown>);
      if (problem !== null) return problem;
      for (const value of Object.values(node)) open.push(value);
    }
  }
  return null;
}
