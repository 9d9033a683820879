import type { Uses } from '../../domain/statement.js';
import { forEachNode, listOf, nodeOf, type TreeNode, textOf } from '../tree.js';
import { distinctUses, noUses } from '../uses.js';
import { columnsOf } from './columns.js';
import { calledFields, noFields, noteFields } from './field-calls.js';
import { lastParts } from './walk-names.js';

/** The functions, operators and types of one PostgreSQL statement, whatever field holds them (SQ-5). */
export function usesOf(tag: string, body: TreeNode): Uses {
  const uses = noUses();
  const fields = noFields();
  forEachNode(tag, body, (field, node) => {
    noteFields(fields, field, node);
    note(uses, field, node);
  });
  uses.columns = columnsOf(tag, body);
  for (const name of calledFields(fields)) uses.functions.push({ schema: null, name });
  return distinctUses(uses);
}

function note(uses: Uses, field: string, node: TreeNode): void {
  if (Array.isArray(node.funcname)) uses.functions.push(lastParts(node.funcname));
  if (Array.isArray(node.names) && node.typemod !== undefined) addType(uses, node);
  if (Array.isArray(node.useOp)) uses.operators.push(lastParts(node.useOp));
  if (Array.isArray(node.operName)) uses.operators.push(lastParts(node.operName));
  const add = Object.hasOwn(notes, field) ? notes[field] : undefined;
  add?.(uses, node);
}

const notes: Readonly<Record<string, (uses: Uses, node: TreeNode) => void>> = {
  A_Expr: (uses, { kind, name }) => {
    const implied = textOf(kind).startsWith('AEXPR_BETWEEN') || textOf(kind).startsWith('AEXPR_NOT_BETWEEN');
    if (implied) addOperators(uses, '<', '<=', '>', '>=');
    else uses.operators.push(lastParts(listOf(name)));
  },
  // `x IN (SELECT …)` names no operator.
  SubLink: (uses, { testexpr, operName }) => {
    if (testexpr !== undefined && operName === undefined) addOperators(uses, '=');
  },
  CaseExpr: (uses, { arg }) => {
    if (arg !== undefined) addOperators(uses, '=');
  },
  JoinExpr: (uses, { usingClause, isNatural }) => {
    if (usingClause !== undefined || isNatural === true) addOperators(uses, '=');
  },
  MinMaxExpr: (uses) => addOperators(uses, '<', '>'),
  A_Indirection: (uses, { indirection }) => {
    for (const part of listOf(indirection)) {
      const name = textOf(nodeOf(nodeOf(part).String).sval);
      if (name !== '') uses.functions.push({ schema: null, name });
    }
  },
  ColumnRef: (uses, { fields }) => {
    const name = textOf(nodeOf(nodeOf(listOf(fields).slice(1).at(-1)).String).sval);
    if (name !== '') uses.fields.push(name);
  },
  RangeTableSample: (uses, { method }) => {
    uses.functions.push(lastParts(listOf(method)));
  },
  SQLValueFunction: (uses, { op }) => {
    const name = textOf(op)
      .replace(/^SVFOP_|_N$/g, '')
      .toLowerCase();
    uses.functions.push({ schema: 'pg_catalog', name: valueFunctions[name] ?? 'now' });
  },
  XmlExpr: (uses) => addXml(uses),
  XmlSerialize: (uses) => addXml(uses),
  RangeTableFunc: (uses) => addXml(uses),
};

/** The functions behind keywords without parentheses; all other such keywords read the clock. */
const valueFunctions: Readonly<Record<string, string>> = {
  current_role: 'current_user',
  current_user: 'current_user',
  user: 'current_user',
  session_user: 'session_user',
  current_catalog: 'current_database',
  current_schema: 'current_schema',
};

/** `int[]` is an array of `int4`, and both count; `t.c%TYPE` may be any type. */
function addType(uses: Uses, node: TreeNode): void {
  const type = lastParts(listOf(node.names));
  uses.types.push(node.pct_type === true ? { schema: type.schema ?? '', name: `${type.name}%type` } : type);
  if (listOf(node.arrayBounds).length > 0) uses.types.push({ ...type, name: `${type.name}[]` });
}

const addXml = (uses: Uses) => void uses.types.push({ schema: 'pg_catalog', name: 'xml' });

function addOperators(uses: Uses, ...names: readonly string[]): void {
  for (const name of names) uses.operators.push({ schema: null, name });
}
