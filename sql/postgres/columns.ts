import { forEachNode, listOf, nodeOf, type Tree, type TreeNode, textOf } from '../tree.js';

interface Notes {
  columns: string[];
  /** Bare names that may be columns, and everything else that they could name. */
  alone: string[];
  tables: Set<string>;
  /** Columns are used without being written out. */
  unwritten: boolean;
  star: boolean;
  queries: number;
  /** Something uses the columns of a `*` beyond returning them. */
  counted: boolean;
}

/**
 * The names of the columns that a statement can compute with, or null when they are not all written out. Columns of a `*` that are only returned do
 * not count: nothing is computed from them.
 */
export function columnsOf(tag: string, body: TreeNode): string[] | null {
  const notes: Notes = { columns: [], alone: [], tables: new Set(), unwritten: false, star: false, queries: 0, counted: false };
  forEachNode(tag, body, (field, node) => note(notes, field, node));
  const wholeRow = notes.alone.some((name) => notes.tables.has(name));
  const starCounts = notes.star && (notes.queries > 1 || notes.counted);
  return notes.unwritten || wholeRow || starCounts ? null : notes.columns;
}

function note(notes: Notes, field: string, node: TreeNode): void {
  if (field === 'ColumnRef') addReference(notes, listOf(node.fields));
  else if (field === 'ResTarget' || field === 'IndexElem') notes.columns.push(textOf(node.name));
  else if (field === 'JoinExpr') {
    notes.columns.push(...listOf(node.usingClause).map(word));
    notes.unwritten ||= node.isNatural === true;
  } else if (field === 'SelectStmt') {
    notes.queries += 1;
    notes.counted ||= ['distinctClause', 'groupClause'].some((clause) => listOf(node[clause]).length > 0);
    notes.counted ||= node.op !== 'SETOP_NONE' && node.op !== undefined;
  } else if (field === 'SortBy') notes.counted ||= nodeOf(nodeOf(node.node).A_Const).ival !== undefined;
  else if (field === 'CommonTableExpr') {
    notes.tables.add(textOf(node.ctename));
    notes.counted = true;
    notes.unwritten ||= listOf(node.aliascolnames).length > 0;
  } else if (field === 'InsertStmt') notes.unwritten ||= listOf(node.cols).length === 0;
  else if (field === 'MergeWhenClause')
    notes.unwritten ||= node.commandType === 'CMD_INSERT' && listOf(node.targetList).length === 0;
  if (node.relname !== undefined) notes.tables.add(textOf(node.relname));
  if (node.aliasname !== undefined) {
    notes.tables.add(textOf(node.aliasname));
    notes.unwritten ||= listOf(node.colnames).length > 0;
  }
}

function addReference(notes: Notes, fields: readonly Tree[]): void {
  const last = fields.at(-1);
  if (nodeOf(last).A_Star !== undefined) notes.star = true;
  else notes.columns.push(word(last));
  // Part of a longer name could be a row too: `t.c.f` is not a column, and in `s.t.c` the table is noted under its own name.
  if (fields.length === 1) notes.alone.push(word(last));
}

const word = (part: Tree | undefined): string => textOf(nodeOf(nodeOf(part).String).sval);
