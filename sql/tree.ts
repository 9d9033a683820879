/** The parser's tree: plain JSON. A node in a place that accepts any kind is tagged: `{ "SelectStmt": { … } }`. */
export type Tree = null | boolean | number | string | readonly Tree[] | TreeNode;
export interface TreeNode {
  readonly [field: string]: Tree;
}

/** The fields of a node; none when the value is not a node. */
export function nodeOf(value: Tree | undefined): TreeNode {
  return typeof value === 'object' && value !== null && !isList(value) ? value : {};
}

/** The elements of a list; none when the value is not a list. */
export function listOf(value: Tree | undefined): readonly Tree[] {
  return isList(value) ? value : [];
}

/** A string field; empty when the value is not a string (the parser leaves out empty strings). */
export function textOf(value: Tree | undefined): string {
  return typeof value === 'string' ? value : '';
}

export function taggedOf(value: Tree | undefined): { tag: string; body: TreeNode } {
  const [entry] = Object.entries(nodeOf(value));
  return entry === undefined ? { tag: '', body: {} } : { tag: entry[0], body: nodeOf(entry[1]) };
}

/** Visits every node with its field or tag, whatever field holds it. */
export function forEachNode(tag: string, body: TreeNode, visit: (field: string, node: TreeNode) => void): void {
  const open: [string, Tree][] = [[tag, body]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [field, value] = next;
    if (Array.isArray(value)) for (const element of value) open.push([field, element]);
    else if (typeof value === 'object' && value !== null) {
      const node = nodeOf(value);
      visit(field, node);
      for (const child of Object.entries(node)) open.push(child);
    }
  }
}

/** Array.isArray narrows readonly arrays badly. */
function isList(value: Tree | undefined): value is readonly Tree[] {
  return Array.isArray(value);
}
