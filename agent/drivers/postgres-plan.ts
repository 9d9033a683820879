/**
 * Why the plan of a read would write, or null (AP-28): a node that modifies or locks rows, or a foreign scan that does not only select.
 * `plan` is the text of `EXPLAIN (FORMAT JSON)`.
 */
export function planProblem(plan: string): string | null {
  let tree: unknown;
  try {
    tree = JSON.parse(plan);
  } catch {
    return 'the plan is not readable';
  }
  const open: unknown[] = [tree];
  while (open.length > 0) {
    const node = open.pop();
    if (Array.isArray(node)) open.push(...node);
    else if (typeof node === 'object' && node !== null) {
      const { 'Node Type': type, Operation: operation } = node as Record<string, unknown>;
      if (type === 'ModifyTable' || type === 'LockRows') return `the plan has a ${type} node`;
      if (operation !== undefined && operation !== 'Select') return `the plan has the operation ${String(operation)}`;
      open.push(...Object.values(node));
    }
  }
  return null;
}
