import type { TableName } from '../../domain/statement.js';
import { listOf, nodeOf, type Tree, type TreeNode, textOf } from '../tree.js';

/** The parts of one WITH that are visible: those before a position. */
interface Scope {
  readonly positions: ReadonlyMap<string, number>;
  readonly before: number;
  readonly outer: Scope | null;
}

/** Visits every node with its field or tag, and tells whether a WITH hides a name there. The statement's own tag comes first. */
export function walk(
  tag: string,
  body: TreeNode,
  visit: (field: string, node: TreeNode, hides: (name: string) => boolean) => void,
): void {
  const open: Open[] = [{ field: tag, value: body, scope: null }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { field, value, scope } = next;
    if (typeof value !== 'object' || value === null) continue;
    if (Array.isArray(value)) {
      for (const element of value) open.push({ field, value: element, scope });
      continue;
    }
    const node = nodeOf(value);
    visit(field, node, (name) => isHidden(name, scope));
    const inside = openWith(nodeOf(node.withClause), scope, open);
    for (const [name, child] of Object.entries(node))
      if (name !== 'withClause') open.push({ field: name, value: child, scope: inside });
  }
}

interface Open {
  readonly field: string;
  readonly value: Tree;
  readonly scope: Scope | null;
}

function isHidden(name: string, scope: Scope | null): boolean {
  for (let next = scope; next !== null; next = next.outer)
    if ((next.positions.get(name) ?? next.before) < next.before) return true;
  return false;
}

/** Each part of a WITH sees the parts before it, with RECURSIVE all of them. Returns the scope of the statement itself. */
function openWith(clause: TreeNode, outer: Scope | null, open: Open[]): Scope | null {
  const parts = listOf(clause.ctes).map((part) => nodeOf(nodeOf(part).CommonTableExpr));
  if (parts.length === 0) return outer;
  const positions = new Map(parts.map((part, index) => [textOf(part.ctename), index]));
  const seeing = (before: number): Scope => ({ positions, before, outer });
  for (const [index, part] of parts.entries())
    open.push({ field: 'CommonTableExpr', value: part, scope: seeing(clause.recursive === true ? parts.length : index) });
  return seeing(parts.length);
}

/** The table of a RangeVar, tagged or not; null for other nodes. */
export function tableOf(node: Tree | undefined): TableName | null {
  const { relname, schemaname } = nodeOf(node);
  return relname === undefined ? null : { schema: textOf(schemaname) || null, name: textOf(relname) };
}

/** The last two parts of a dotted name, as in DROP and COMMENT; a database before them can only be the connection's own. */
export function lastParts(parts: readonly Tree[]): TableName {
  const names = parts.map((part) => textOf(nodeOf(nodeOf(part).String).sval));
  return { schema: names.at(-2) ?? null, name: names.at(-1) ?? '' };
}
