import { listOf, nodeOf, type TreeNode, textOf } from '../tree.js';
import { isVolatile } from './built-ins.js';
import { usesOf } from './uses.js';

/**
 * Whether a part of ALTER TABLE adds a column without reading the table's rows (SQ-82). All else happens while nobody else can even read the table, for
 * as long as its rows take: it rewrites them, checks them or builds an index.
 */
export function addsQuietly({ subtype, def }: TreeNode): boolean {
  const column = nodeOf(nodeOf(def).ColumnDef);
  const constraints = listOf(column.constraints).map((each) => nodeOf(nodeOf(each).Constraint));
  const hasDefault = constraints.some(({ contype }) => contype === 'CONSTR_DEFAULT');
  return subtype === 'AT_AddColumn' && !isSerial(column) && constraints.every((each) => isQuiet(each, hasDefault));
}

export function isSerial({ typeName }: TreeNode): boolean {
  return /^((big|small)?serial|serial[248])$/.test(textOf(nodeOf(nodeOf(listOf(nodeOf(typeName).names).at(-1)).String).sval));
}

/** A reference is not checked where the new column is empty. What a virtual column computes can fail in every read of the whole table, for everybody. */
function isQuiet(constraint: TreeNode, hasDefault: boolean): boolean {
  const { contype, raw_expr: expression } = constraint;
  if (contype === 'CONSTR_DEFAULT') return !callsVolatile(nodeOf(expression));
  if (contype === 'CONSTR_FOREIGN') return !hasDefault && !hasActions(constraint);
  return /^CONSTR_(NULL|NOTNULL|ATTR_.*)$/.test(textOf(contype));
}

/** With CASCADE, SET NULL or SET DEFAULT a delete or update of the other table, which may be approved already, writes this one too. */
const hasActions = ({ fk_del_action: onDelete, fk_upd_action: onUpdate }: TreeNode): boolean =>
  [onDelete, onUpdate].some((action) => /^[cnd]$/.test(textOf(action)));

/** The server takes one value for all rows unless it could differ from row to row. */
const callsVolatile = (expression: TreeNode): boolean => usesOf('', expression).functions.some(({ name }) => isVolatile(name));
