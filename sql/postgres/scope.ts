import type { TableName } from '../../domain/statement.js';
import { allOf, anyOf, bare, type Condition, constant, isSame } from '../condition.js';
import { constantOf, truthOf } from '../constant-of.js';
import { restricts } from '../restricts.js';
import { listOf, nodeOf, type Tree, type TreeNode, taggedOf, textOf } from '../tree.js';
import { namesakesIn } from './namesakes.js';
import { tableOf } from './walk-names.js';

/** How names resolve where a condition stands. */
export interface Scope {
  readonly table: TableName;
  /** The schemas of other tables with its name, which are told apart from it by their schema alone. */
  readonly namesakes: readonly string[];
  /** The name that qualifies columns of the written table; null where a subquery's own table has that name. */
  readonly target: string | null;
  /** Inside a subquery, where a bare name may belong to the subquery. */
  readonly inner: boolean;
  /** By alias, the sources that hold every row of the written table. Each tells whether it returns an expression of that table unchanged. */
  readonly copies: ReadonlyMap<string, (part: Condition) => boolean>;
  /** The condition joins a copy to the table row by row, so a column of the copy counts as one of the table. */
  readonly joined: boolean;
  readonly queries: ReadonlyMap<string, TreeNode>;
  readonly read: (value: Tree | undefined, scope: Scope) => Condition;
  /** `isCopy` sets this when it finds such a join. */
  readonly met: { copy: boolean };
  /** Remaining visits to subqueries: a nested one is visited several times. */
  readonly looks: { left: number };
}

const maxLooks = 300;

/** What a statement writes, what else it reads, and the queries that its WITH names. */
export interface Written {
  readonly relation: Tree | undefined;
  readonly sources: readonly Tree[];
  readonly queries: ReadonlyMap<string, TreeNode>;
}

/** The condition on the rows that a statement writes. */
export function conditionOf(written: Written, where: Tree | undefined, read: Scope['read']): Condition {
  const table = tableOf(written.relation) ?? { schema: null, name: '' };
  const plain: Scope = {
    table,
    namesakes: namesakesIn(written.sources, table),
    read,
    met: { copy: false },
    looks: { left: maxLooks },
    queries: written.queries,
    target: aliasOf(nodeOf(written.relation)),
    inner: false,
    joined: false,
    copies: new Map(),
  };
  const scope = { ...plain, copies: copiesIn(written.sources, plain) };
  return readAll([where], scope).conditions[0]!;
}

/** Reads the conditions again with `joined` set if one of them joins a copy. */
function readAll(values: readonly (Tree | undefined)[], scope: Scope): { conditions: Condition[]; scope: Scope } {
  const first = { ...scope, joined: false, met: { copy: false } };
  const conditions = values.map((value) => scope.read(value, first));
  if (!first.met.copy) return { conditions, scope: first };
  const again = { ...first, joined: true };
  return { conditions: values.map((value) => scope.read(value, again)), scope: again };
}

/** Whether `left = right` joins a copy of the written table on the same column, which is true for every row. */
export function isCopy(left: Condition, right: Condition, scope: Scope): boolean {
  const [one, another] = [bare(left), bare(right)];
  const found = isCopyOf(one, another, scope) || isCopyOf(another, one, scope);
  if (found) scope.met.copy = true;
  return found;
}

function isCopyOf(own: Condition, copied: Condition, { copies, inner }: Scope): boolean {
  if (own.kind !== 'column' || own.of !== 'target' || own.table !== null) return false;
  if (copied.kind !== 'column' || copied.name !== own.name) return false;
  if (copied.table !== null && copied.table !== '') return copies.get(copied.table)?.(own) === true;
  const isBare = copied.of === 'unsure' || copied.table === '';
  return inner && isBare && [...copies.values()].some((gives) => gives(own));
}

/** A subquery seen from outside: its condition, its results, and how names resolve inside it. */
export function enter(select: TreeNode, outer: Scope): { where: Condition; values: readonly Tree[]; inner: Scope } {
  const names = new Set(listOf(select.fromClause).flatMap(namesIn));
  const hidden = [...outer.copies].filter(([name]) => !names.has(name));
  const plain = { ...outer, inner: true, target: outer.target !== null && names.has(outer.target) ? null : outer.target };
  const inner = { ...plain, copies: new Map([...hidden, ...copiesIn(listOf(select.fromClause), plain)]) };
  const arms = [select.larg, select.rarg].filter((arm) => arm !== undefined).map((arm) => enter(nodeOf(arm), outer).where);
  const own = [select.whereClause, select.havingClause, ...listOf(select.fromClause).flatMap(qualsIn)];
  const { conditions, scope } = readAll(
    own.filter((each) => each !== undefined),
    inner,
  );
  const below = listOf(select.fromClause).map((each) => nodeOf(nodeOf(nodeOf(each).RangeSubselect).subquery).SelectStmt);
  const nested = below.filter((each) => each !== undefined).map((each) => enter(nodeOf(each), outer).where);
  const all = [...conditions, ...nested, ...(arms.length > 0 ? [anyOf(arms)] : [])];
  return {
    where: all.length === 0 ? constant(true) : allOf(all),
    values: listOf(select.targetList).map((each) => nodeOf(nodeOf(each).ResTarget).val ?? null),
    inner: scope,
  };
}

const maxNesting = 20;

/** False once the budget is used up; unknown conditions then count as unrestricted. */
export function mayLook({ looks }: Scope): boolean {
  looks.left -= 1;
  return looks.left >= 0;
}

/** Whether a query returns these expressions of the written table for every row: `SELECT id FROM t` without a restricting condition. */
export function covers(select: TreeNode, asked: readonly Condition[], scope: Scope, depth = 0): boolean {
  if (depth > maxNesting || !mayLook(scope)) return true;
  const arm = (side: Tree | undefined) => covers(nodeOf(side), asked, scope, depth + 1);
  if (select.op === 'SETOP_UNION') return arm(select.larg) || arm(select.rarg);
  if (select.op === 'SETOP_INTERSECT') return arm(select.larg) && arm(select.rarg);
  // `LIMIT ALL` and `LIMIT (SELECT …)` give no visible bound.
  const isLimited = nodeOf(nodeOf(select.limitCount).A_Const).ival !== undefined;
  if (select.op === 'SETOP_EXCEPT' || isLimited || select.havingClause !== undefined) return false;
  const plain: Scope = { ...scope, inner: false, joined: false, copies: new Map() };
  const results = listOf(select.targetList).map((each) => nodeOf(nodeOf(each).ResTarget).val ?? null);
  return [...copiesIn(listOf(select.fromClause), plain, depth + 1)].some(([alias, gives]) => {
    const local = { ...plain, target: alias };
    const isWhole = select.whereClause === undefined || !restricts(scope.read(select.whereClause, local));
    return isWhole && asked.every((part, at) => gives(part) && isResult(part, results, at, local));
  });
}

function isResult(part: Condition, results: readonly Tree[], at: number, local: Scope): boolean {
  const fields = listOf(nodeOf(nodeOf(results[0]).ColumnRef).fields);
  if (results.length === 1 && nodeOf(fields.at(-1)).A_Star !== undefined) return true;
  return at < results.length && isSame(part, local.read(results[at], local));
}

/** Sources that hold every row of the written table: the table itself, a query of all of it, or a join that loses no rows of it. */
function copiesIn(sources: readonly Tree[], scope: Scope, depth = 0): Map<string, (part: Condition) => boolean> {
  const found = new Map<string, (part: Condition) => boolean>();
  for (const source of sources) for (const [alias, gives] of copiesOf(source, scope, depth)) found.set(alias, gives);
  return found;
}

function copiesOf(source: Tree, scope: Scope, depth: number): Map<string, (part: Condition) => boolean> {
  const { tag, body } = taggedOf(source);
  if (tag === 'JoinExpr') return copiesIn(keptSides(body, scope), scope, depth);
  const alias = aliasOf(body);
  const query =
    tag === 'RangeSubselect'
      ? nodeOf(nodeOf(body.subquery).SelectStmt)
      : scope.queries.get(body.schemaname ? '' : relationOf(body));
  if (query !== undefined)
    return new Map([[alias, (part) => covers(query, [part], without(scope, relationOf(body)), depth + 1)]]);
  const isTable = tag === 'RangeVar' && isSameTable(tableOf(body), scope.table);
  return isTable ? new Map([[alias, () => true]]) : new Map();
}

/** Inside a WITH query, its own name means a table, not the query itself. */
const without = (scope: Scope, name: string): Scope => ({
  ...scope,
  queries: new Map([...scope.queries].filter(([each]) => each !== name)),
});

const relationOf = (body: TreeNode): string => textOf(body.relname);
const aliasOf = (body: TreeNode): string => textOf(nodeOf(body.alias).aliasname) || textOf(body.relname);

function isSameTable(one: TableName | null, another: TableName): boolean {
  if (one === null || one.name !== another.name) return false;
  return one.schema === null || another.schema === null || one.schema === another.schema;
}

function keptSides({ jointype, larg, rarg, quals, usingClause, isNatural }: TreeNode, scope: Scope): readonly Tree[] {
  const isFree =
    isNatural !== true &&
    usingClause === undefined &&
    (quals === undefined || truthOf(constantOf(scope.read(quals, scope))) === true);
  const left = jointype === 'JOIN_LEFT' || jointype === 'JOIN_FULL' || isFree;
  const right = jointype === 'JOIN_RIGHT' || jointype === 'JOIN_FULL' || isFree;
  return [...(left && larg !== undefined ? [larg] : []), ...(right && rarg !== undefined ? [rarg] : [])];
}

/** Names that can qualify the columns of a source. */
function namesIn(source: Tree): readonly string[] {
  const { tag, body } = taggedOf(source);
  const inside = tag === 'JoinExpr' ? [body.larg, body.rarg].flatMap((side) => (side === undefined ? [] : namesIn(side))) : [];
  return [...inside, aliasOf(body)];
}

/** The conditions of a source's joins. */
function qualsIn(source: Tree): readonly Tree[] {
  const { tag, body } = taggedOf(source);
  if (tag !== 'JoinExpr') return [];
  const sides = [body.larg, body.rarg].flatMap((side) => (side === undefined ? [] : qualsIn(side)));
  return body.quals === undefined ? sides : [...sides, body.quals];
}
