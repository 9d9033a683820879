import type { ReviewRule } from '../../domain/policies.js';
import type { StatementFacts, TableName } from '../../domain/statement.js';
import type { Condition } from '../condition.js';
import { fixedColumns } from '../fixed-columns.js';
import { restricts } from '../restricts.js';
import { listOf, nodeOf, type Tree, type TreeNode, textOf } from '../tree.js';
import { readCondition } from './condition.js';
import { conditionOf, type Written } from './scope.js';
import { walk } from './walk-names.js';

/** The queries that any WITH of a statement names. On a repeated name the first wins. */
export function queriesIn(tag: string, body: TreeNode): ReadonlyMap<string, TreeNode> {
  const queries = new Map<string, TreeNode>();
  walk(tag, body, (field, { ctename, ctequery }) => {
    const select = nodeOf(ctequery).SelectStmt;
    if (field !== 'CommonTableExpr' || select === undefined || queries.has(textOf(ctename))) return;
    queries.set(textOf(ctename), nodeOf(select));
  });
  return queries;
}

/** How a statement that changes rows identifies them: tables it only inserts into, and rows that its text lists one by one (HD-96). */
export function toldBy(field: string, node: TreeNode, table: TableName): Pick<StatementFacts, 'insertedInto' | 'fixed'> {
  if (field === 'InsertStmt') {
    const select = nodeOf(nodeOf(node.selectStmt).SelectStmt);
    const isTold = node.selectStmt === undefined || select.valuesLists !== undefined;
    const isPlain = nodeOf(node.onConflictClause).action !== 'ONCONFLICT_UPDATE';
    return { insertedInto: isPlain ? [table] : [], fixed: isTold ? [{ table, columns: null }] : [] };
  }
  const isAlone = listOf(node.fromClause).length === 0 && listOf(node.usingClause).length === 0;
  if (field === 'MergeStmt' || !isAlone || node.whereClause === undefined) return { insertedInto: [], fixed: [] };
  const condition = conditionIn({ relation: node.relation, sources: [], queries: new Map() }, node.whereClause);
  return { insertedInto: [], fixed: [{ table, columns: fixedColumns(condition, 'untyped') }] };
}

/** `no_where_update` and `no_where_delete` of an UPDATE, DELETE or MERGE (HD-22). */
export function unrestrictedBy(field: string, node: TreeNode, queries: ReadonlyMap<string, TreeNode>): ReviewRule[] {
  const written = (sources: readonly Tree[]): Written => ({ relation: node.relation, sources, queries });
  if (field === 'UpdateStmt') return isRestricted(written(listOf(node.fromClause)), node.whereClause) ? [] : ['no_where_update'];
  if (field === 'DeleteStmt') return isRestricted(written(listOf(node.usingClause)), node.whereClause) ? [] : ['no_where_delete'];
  return field === 'MergeStmt' ? unrestrictedMerge(node, written([node.sourceRelation ?? null])) : [];
}

/** ON restricts the rows that match. Only the clause's own condition restricts rows that no source row matches. */
function unrestrictedMerge(node: TreeNode, written: Written): ReviewRule[] {
  const isJoined = isRestricted(written, node.joinCondition);
  const clauses = listOf(node.mergeWhenClauses).map((clause) => nodeOf(nodeOf(clause).MergeWhenClause));
  const hits = clauses.flatMap(({ matchKind, commandType, condition }): ReviewRule[] => {
    const bySource = matchKind === 'MERGE_WHEN_NOT_MATCHED_BY_SOURCE';
    if (matchKind !== 'MERGE_WHEN_MATCHED' && !bySource) return [];
    if (bySource ? isRestricted(written, condition) : isJoined) return [];
    if (commandType === 'CMD_UPDATE') return ['no_where_update'];
    return commandType === 'CMD_DELETE' ? ['no_where_delete'] : [];
  });
  return [...new Set(hits)];
}

/** WHERE CURRENT OF names one row. */
function isRestricted(written: Written, where: Tree | undefined): boolean {
  if (where === undefined) return false;
  return nodeOf(where).CurrentOfExpr !== undefined || restricts(conditionIn(written, where));
}

const conditionIn = (written: Written, where: Tree): Condition => conditionOf(written, where, readCondition);
