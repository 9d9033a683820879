import { allOf, anyOf, type Comparison, type Condition, compare, constant, isSame, notOf, other } from '../condition.js';
import { listOf, nodeOf, type Tree, type TreeNode, taggedOf, textOf } from '../tree.js';
import { isOwnSchema } from './namesakes.js';
import { covers, enter, isCopy, mayLook, type Scope } from './scope.js';

/** Reads an expression of PostgreSQL's tree as a condition on the table that the scope names. */
export function readCondition(value: Tree | undefined, scope: Scope): Condition {
  const { tag, body } = taggedOf(value);
  const read = Object.hasOwn(readers, tag) ? readers[tag] : undefined;
  return read === undefined ? other(tag, readInside(body, scope)) : read(body, scope);
}

type Reader = (body: TreeNode, scope: Scope) => Condition;

const readers: Readonly<Record<string, Reader>> = {
  A_Const: readConstant,
  ColumnRef: readColumn,
  A_Expr: readOperator,
  SubLink: readSubquery,
  BoolExpr: ({ boolop, args }, scope) => {
    const parts = listOf(args).map((part) => readCondition(part, scope));
    if (boolop === 'NOT_EXPR') return notOf(allOf(parts));
    return boolop === 'AND_EXPR' ? allOf(parts) : anyOf(parts);
  },
  NullTest: ({ arg, nulltesttype }, scope) => {
    const test: Condition = { kind: 'is', value: null, part: readCondition(arg, scope) };
    return nulltesttype === 'IS_NOT_NULL' ? notOf(test) : test;
  },
  BooleanTest: ({ arg, booltesttype }, scope) => {
    const [, negated, word = ''] = /^IS_(NOT_)?(.*)$/.exec(textOf(booltesttype)) ?? [];
    const value = word === 'UNKNOWN' ? null : word === 'TRUE';
    const test: Condition = { kind: 'is', value, part: readCondition(arg, scope) };
    return negated === undefined ? test : notOf(test);
  },
  TypeCast: ({ arg, typeName }, scope) => ({ kind: 'cast', type: typeOf(typeName), part: readCondition(arg, scope) }),
  CollateClause: ({ arg }, scope) => other('collate', [readCondition(arg, scope)]),
  CoalesceExpr: ({ args }, scope) => ({ kind: 'first', parts: listOf(args).map((part) => readCondition(part, scope)) }),
  CaseExpr: ({ arg, args, defresult }, scope) => ({
    kind: 'case',
    branches: listOf(args).map((each) => {
      const { expr, result } = nodeOf(nodeOf(each).CaseWhen);
      const when = readCondition(expr, scope);
      return {
        when: arg === undefined ? when : compare('=', readCondition(arg, scope), when),
        result: readCondition(result, scope),
      };
    }),
    otherwise: defresult === undefined ? constant(null) : readCondition(defresult, scope),
  }),
};

function readConstant({ isnull, ival, fval, boolval, sval }: TreeNode): Condition {
  if (isnull === true) return constant(null);
  if (ival !== undefined) return constant(Number(nodeOf(ival).ival ?? 0), 'integer');
  if (fval !== undefined) {
    const text = textOf(nodeOf(fval).fval);
    return constant(Number(text), /^-?\d+$/.test(text) ? 'integer' : 'number');
  }
  if (boolval !== undefined) return constant(nodeOf(boolval).boolval === true);
  return sval === undefined ? other('bits', []) : constant(textOf(nodeOf(sval).sval), 'text');
}

function readColumn({ fields }: TreeNode, scope: Scope): Condition {
  const names = listOf(fields).map((part) => textOf(nodeOf(nodeOf(part).String).sval));
  const [name = '', table = null, schema = null] = names.toReversed();
  // The same for all rows of a table.
  if (name === 'tableoid') return other('tableoid', []);
  const isTarget = table === null ? !scope.inner : table === scope.target && isOwnSchema(schema, scope);
  if (isTarget) return { kind: 'column', of: 'target', table: null, name };
  const isCopy = scope.joined && (table === null ? scope.copies.size > 0 : scope.copies.has(table));
  return {
    kind: 'column',
    of: isCopy ? 'target' : table === null ? 'unsure' : 'other',
    table: table ?? (isCopy ? '' : null),
    name,
  };
}

function readOperator(body: TreeNode, scope: Scope): Condition {
  const { kind, name, lexpr, rexpr } = body;
  const operator = textOf(nodeOf(nodeOf(listOf(name).at(-1)).String).sval);
  if (kind === 'AEXPR_OP') return readComparison(operator, lexpr, rexpr, scope);
  if (kind === 'AEXPR_OP_ANY') return readAny(operator, lexpr, rexpr, scope);
  const left = readCondition(lexpr, scope);
  const items = () => listOf(nodeOf(nodeOf(rexpr).List).items).map((item) => readCondition(item, scope));
  switch (kind) {
    case 'AEXPR_NOT_DISTINCT':
      return compare('same', left, readCondition(rexpr, scope));
    case 'AEXPR_DISTINCT':
      return compare('distinct', left, readCondition(rexpr, scope));
    case 'AEXPR_IN': {
      const found = anyOf(items().map((item) => compare('=', left, item)));
      return operator === '<>' ? notOf(found) : found;
    }
    case 'AEXPR_BETWEEN':
    case 'AEXPR_NOT_BETWEEN': {
      const [low = constant(null), high = constant(null)] = items();
      const found = allOf([compare('>=', left, low), compare('<=', left, high)]);
      return kind === 'AEXPR_BETWEEN' ? found : notOf(found);
    }
    case 'AEXPR_LIKE':
    case 'AEXPR_ILIKE': {
      const found = other('like', [left, readCondition(rexpr, scope)]);
      return operator.startsWith('!') ? notOf(found) : found;
    }
    default:
      return other(operator, readInside(body, scope));
  }
}

const comparisons = new Set<string>(['=', '<>', '<', '>', '<=', '>=']);
const isComparison = (name: string): name is Comparison => comparisons.has(name);

function readComparison(operator: string, lexpr: Tree | undefined, rexpr: Tree | undefined, scope: Scope): Condition {
  const rows = [lexpr, rexpr].map((side) => listOf(nodeOf(nodeOf(side).RowExpr).args));
  if (operator === '=' && rows[0]!.length > 0 && rows[0]!.length === rows[1]!.length)
    return allOf(rows[0]!.map((part, index) => readComparison('=', part, rows[1]![index], scope)));
  const sides = [lexpr, rexpr].filter((side) => side !== undefined).map((side) => readCondition(side, scope));
  const [left, right] = sides;
  const name = operator === '!=' ? '<>' : operator;
  if (!isComparison(name) || left === undefined || right === undefined) return other(name, sides);
  return name === '=' && isCopy(left, right, scope) ? constant(true) : compare(name, left, right);
}

/** `a = ANY (ARRAY[…])`, or of an array that a query returns. */
function readAny(operator: string, lexpr: Tree | undefined, rexpr: Tree | undefined, scope: Scope): Condition {
  const { tag, body } = taggedOf(rexpr);
  if (tag === 'SubLink' && body.subLinkType === 'ARRAY_SUBLINK')
    return readSubquery({ ...body, subLinkType: 'ANY_SUBLINK', testexpr: lexpr ?? null, operName: [] }, scope);
  if (tag !== 'A_ArrayExpr')
    return other(
      `${operator} any`,
      [lexpr, rexpr].map((side) => readCondition(side, scope)),
    );
  return anyOf(listOf(body.elements).map((each) => readComparison(operator, lexpr, each, scope)));
}

function readSubquery(body: TreeNode, scope: Scope): Condition {
  const { subLinkType, testexpr, operName } = body;
  if (!mayLook(scope)) return other('query', []);
  const select = nodeOf(nodeOf(body.subselect).SelectStmt);
  const { where, values, inner } = enter(select, scope);
  if (subLinkType === 'EXISTS_SUBLINK') return aggregates(select) ? constant(true) : { kind: 'exists', where };
  const asked = testexpr === undefined ? [] : rowOf(testexpr).map((part) => readCondition(part, scope));
  const operator = textOf(nodeOf(nodeOf(listOf(operName).at(-1)).String).sval);
  const isMember = subLinkType === 'ANY_SUBLINK' && !/^(<>|<|>)$/.test(operator);
  if (isMember && covers(select, asked, scope)) return constant(true);
  const given = values.map((value) => readCondition(value, inner));
  // A query that returns the outer row's own columns.
  if (isMember && asked.length === given.length && asked.every((part, index) => isSame(part, given[index]!)))
    return { kind: 'exists', where };
  if (subLinkType === 'EXPR_SUBLINK' && select.fromClause === undefined && given.length === 1) return allOf([...given, where]);
  return other('query', [...asked, ...given, where]);
}

/** Whether it aggregates without GROUP BY and HAVING; such a query returns one row, whatever it finds. */
function aggregates({ targetList, groupClause, havingClause }: TreeNode): boolean {
  const calls = listOf(targetList).map((each) => nodeOf(nodeOf(nodeOf(nodeOf(each).ResTarget).val).FuncCall));
  const names = calls.map(({ funcname, over }) =>
    over === undefined ? textOf(nodeOf(nodeOf(listOf(funcname).at(-1)).String).sval) : '',
  );
  return groupClause === undefined && havingClause === undefined && names.some((name) => oneRow.has(name));
}

const oneRow = new Set(['count', 'sum', 'min', 'max', 'avg', 'bool_and', 'bool_or', 'array_agg', 'string_agg']);

const rowOf = (value: Tree): readonly Tree[] => {
  const { args } = nodeOf(nodeOf(value).RowExpr);
  return args === undefined ? [value] : listOf(args);
};

function typeOf(type: Tree | undefined): string {
  const { names, arrayBounds, typmods } = nodeOf(type);
  const name = listOf(names).map((part) => textOf(nodeOf(nodeOf(part).String).sval));
  const plain = name[0] === 'pg_catalog' ? name.slice(1) : name;
  return arrayBounds === undefined && typmods === undefined ? plain.join('.') : `${plain.join('.')} …`;
}

/** For unknown tags: the conditions of all nodes inside. */
function readInside(body: TreeNode, scope: Scope): Condition[] {
  return Object.values(body).flatMap((value) => readAll(value, scope));
}

function readAll(value: Tree, scope: Scope): Condition[] {
  const items = listOf(value);
  if (items.length > 0) return items.flatMap((item) => readAll(item, scope));
  return /^[A-Z]/.test(taggedOf(value).tag) ? [readCondition(value, scope)] : readInside(nodeOf(value), scope);
}
