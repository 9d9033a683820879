import type { Parser } from '../../sql/postgres/parser.js';
import { listOf, nodeOf, type Tree, type TreeNode, taggedOf, textOf } from '../../sql/tree.js';

/** The parts of a migration with which code of the previous version may not work: all that do more than add, or lift a restriction. */
export function breakingParts(parser: Parser, sql: string): string[] {
  const parsed = parser.parse(sql);
  if (!parsed.ok) throw new Error(parsed.message);
  const statements = parsed.statements.map(({ tree }) => taggedOf(tree));
  const made = new Set(statements.flatMap(({ tag, body }) => (tag === 'CreateStmt' ? [tableOf(body.relation)] : [])));
  return statements.flatMap(({ tag, body }) => (made.has(tableOf(body.relation)) ? [] : partsOf(tag, body)));
}

/** New things, and work on rows. A new trigger is not among them: it would fire for the older code too. */
const adding = new Set(['CreateStmt', 'CreateFunctionStmt', 'CommentStmt', 'InsertStmt', 'UpdateStmt', 'SelectStmt', 'DoStmt']);

function partsOf(tag: string, body: TreeNode): string[] {
  if (adding.has(tag)) return [];
  if (tag === 'IndexStmt') return body.unique === true ? ['a unique index'] : [];
  if (tag === 'DropStmt' && body.removeType === 'OBJECT_INDEX') return [];
  if (tag !== 'AlterTableStmt' || body.objtype !== 'OBJECT_TABLE') return [tag];
  return listOf(body.cmds).flatMap((command) => partOfTable(nodeOf(nodeOf(command).AlterTableCmd)));
}

const loosening = new Set(['AT_SetStorage', 'AT_SetRelOptions', 'AT_ResetRelOptions', 'AT_DropNotNull', 'AT_DropConstraint']);

function partOfTable({ subtype, def }: TreeNode): string[] {
  const part = textOf(subtype);
  if (loosening.has(part)) return [];
  if (part !== 'AT_AddColumn') return [part];
  const kinds = listOf(nodeOf(nodeOf(def).ColumnDef).constraints).map((each) => textOf(nodeOf(nodeOf(each).Constraint).contype));
  const isFilled = kinds.some((kind) => ['CONSTR_DEFAULT', 'CONSTR_IDENTITY', 'CONSTR_GENERATED'].includes(kind));
  return kinds.includes('CONSTR_NOTNULL') && !isFilled ? ['a column that needs a value'] : [];
}

const tableOf = (relation: Tree | undefined): string => textOf(nodeOf(nodeOf(relation).RangeVar ?? relation).relname);
