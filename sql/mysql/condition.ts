import { allOf, anyOf, type Comparison, type Condition, compare, constant, notOf, other } from '../condition.js';
import { readCase, readCast } from './condition-case.js';
import { readQuery } from './condition-query.js';
import { columnAt, columnsIn, constantOf, levelOf, type MysqlScope, type Range } from './condition-scope.js';
import { hasWords, upperAt } from './statement.js';

/** Reads a MySQL expression as a condition on the tables that the scope names. Unknown parts are reduced to their columns. */
export function readMysqlCondition(range: Range, scope: MysqlScope): Condition {
  if (range.from >= range.to) return other('', []);
  const { work } = scope;
  work.tokens -= range.to - range.from;
  if (work.tokens < 0) return other('', []);
  if (work.depth >= maxDepth) return unknown(range, scope);
  work.depth += 1;
  const condition = readJunction(range, scope);
  work.depth -= 1;
  return condition;
}

const maxDepth = 150;

function readJunction(range: Range, scope: MysqlScope): Condition {
  const { from, to } = range;
  for (const [words, join] of junctions) {
    const parts = split(range, scope, words);
    if (parts.length > 1) return join(parts.map((part) => readMysqlCondition(part, scope)));
  }
  if (upperAt(scope.statement, from) === 'NOT' || upperAt(scope.statement, from) === '!')
    return notOf(readMysqlCondition({ from: from + 1, to }, scope));
  return readPredicate(range, scope);
}

/** From loosest to tightest. `||` is OR under the `sql_mode` that the agent sets. */
const junctions: readonly [ReadonlySet<string>, (parts: Condition[]) => Condition][] = [
  [new Set(['OR', '|']), anyOf],
  [new Set(['XOR']), (parts) => other('xor', parts)],
  [new Set(['AND', '&']), allOf],
];

/** The parts between these words, ignoring those inside CASE and the AND of a BETWEEN. A sign counts only when doubled. */
function split({ from, to }: Range, scope: MysqlScope, words: ReadonlySet<string>): Range[] {
  const parts: Range[] = [];
  let first = from;
  let betweens = 0;
  for (const at of levelOf({ from, to }, scope)) {
    const word = upperAt(scope.statement, at);
    const isSign = word === '|' || word === '&';
    if (word === 'BETWEEN') betweens += 1;
    else if (word === 'AND' && betweens > 0) betweens -= 1;
    else if (words.has(word) && (!isSign || upperAt(scope.statement, at + 1) === word) && at >= first) {
      parts.push({ from: first, to: at });
      first = isSign ? at + 2 : at + 1;
    }
  }
  return [...parts, { from: first, to }];
}

function readPredicate(range: Range, scope: MysqlScope): Condition {
  const level = levelOf(range, scope);
  const word = (at: number) => upperAt(scope.statement, at);
  const findLast = (words: ReadonlySet<string>) => level.findLast((at) => at > range.from && words.has(word(at)));
  const is = findLast(new Set(['IS']));
  if (is !== undefined) return readTest(range, is, scope);
  const named = findLast(new Set(['IN', 'LIKE', 'BETWEEN', 'REGEXP', 'RLIKE']));
  const signs = named === undefined ? level.filter((at) => at > range.from && comparing.has(word(at))) : [];
  if (named !== undefined) return readNamed(range, named, scope);
  const last = signs.at(-1);
  return last === undefined ? readSum(range, level, scope) : readComparison(range, last, scope);
}

function readTest({ from, to }: Range, is: number, scope: MysqlScope): Condition {
  const isNot = hasWords(scope.statement, is + 1, 'NOT');
  const word = upperAt(scope.statement, isNot ? is + 2 : is + 1);
  const value = word === 'TRUE' ? true : word === 'FALSE' ? false : null;
  if (to !== is + (isNot ? 3 : 2) || !tested.has(word)) return other('is', columnsIn({ from, to }, scope));
  const test: Condition = { kind: 'is', value, part: readMysqlCondition({ from, to: is }, scope) };
  return isNot ? notOf(test) : test;
}

/** IN, LIKE, BETWEEN and similar operators, with an optional NOT before them. */
function readNamed({ from, to }: Range, at: number, scope: MysqlScope): Condition {
  const isNot = hasWords(scope.statement, at - 1, 'NOT');
  const left = readMysqlCondition({ from, to: isNot ? at - 1 : at }, scope);
  const right = { from: at + 1, to };
  const found = readMember(upperAt(scope.statement, at), left, right, scope);
  return isNot ? notOf(found) : found;
}

function readMember(word: string, left: Condition, right: Range, scope: MysqlScope): Condition {
  const inside = insideOf(right, scope);
  if (word === 'IN' && inside !== null) {
    if (isQuery(inside, scope)) return readQuery('in', inside, [left], scope);
    return anyOf(listOf(inside, scope).map((item) => compare('=', left, readMysqlCondition(item, scope))));
  }
  if (word === 'BETWEEN') {
    const and = levelOf(right, scope).find((at) => upperAt(scope.statement, at) === 'AND') ?? right.to;
    const [low, high] = [
      readMysqlCondition({ ...right, to: and }, scope),
      readMysqlCondition({ ...right, from: and + 1 }, scope),
    ];
    return allOf([compare('>=', left, low), compare('<=', left, high)]);
  }
  return other(word.toLowerCase(), [left, readMysqlCondition(right, scope)]);
}

function readComparison({ from, to }: Range, last: number, scope: MysqlScope): Condition {
  let first = last;
  while (comparing.has(upperAt(scope.statement, first - 1)) && first - 1 > from) first -= 1;
  const sign = scope.statement.tokens
    .slice(first, last + 1)
    .map(({ upper }) => upper)
    .join('');
  const left = readMysqlCondition({ from, to: first }, scope);
  const right = readMysqlCondition({ from: last + 1, to }, scope);
  const operator = Object.hasOwn(comparisons, sign) ? comparisons[sign] : undefined;
  if (operator === undefined) return other(sign, [left, right]);
  return operator === '=' && scope.isCopy(left, right) ? constant(true) : compare(operator, left, right);
}

function readSum(range: Range, level: readonly number[], scope: MysqlScope): Condition {
  for (const signs of [new Set(['+', '-']), new Set(['*', '/', '%'])]) {
    const at = level.findLast((each) => each > range.from && signs.has(upperAt(scope.statement, each)));
    if (at === undefined || comparing.has(upperAt(scope.statement, at - 1))) continue;
    const sides = [
      { ...range, to: at },
      { ...range, from: at + 1 },
    ].map((side) => readMysqlCondition(side, scope));
    return other(upperAt(scope.statement, at), sides);
  }
  return readValue(range, scope);
}

function readValue(range: Range, scope: MysqlScope): Condition {
  const { from, to } = range;
  const token = scope.statement.tokens[from];
  if (token === undefined) return other('', []);
  if (token.upper === '-' && to === from + 2) return constantOf(scope.statement.tokens[from + 1]!, true) ?? unknown(range, scope);
  const literal = to === from + 1 ? constantOf(token, false) : null;
  const inside = insideOf(range, scope);
  if (literal !== null) return literal;
  if (inside !== null) return isQuery(inside, scope) ? readQuery('value', inside, [], scope) : readMysqlCondition(inside, scope);
  if (token.upper === 'CASE' && upperAt(scope.statement, to - 1) === 'END') return readCase(range, scope);
  const called = insideOf({ from: from + 1, to }, scope);
  if (called === null) return columnAt(range, scope) ?? unknown(range, scope);
  if (token.upper === 'EXISTS') return readQuery('exists', called, [], scope);
  if (isQuery(called, scope)) return unknown(range, scope);
  if (casting.has(token.upper)) return readCast(called, scope);
  return readCall(
    token.upper,
    listOf(called, scope).map((part) => readMysqlCondition(part, scope)),
  );
}

function readCall(name: string, parts: Condition[]): Condition {
  if (name === 'COALESCE' || name === 'IFNULL') return { kind: 'first', parts };
  const [when, result, otherwise] = parts;
  if (name !== 'IF' || when === undefined || result === undefined || otherwise === undefined) return other(name, parts);
  return { kind: 'case', branches: [{ when, result }], otherwise };
}

const unknown = (range: Range, scope: MysqlScope): Condition => other('', columnsIn(range, scope));

/** The range inside the parentheses that make up the whole range, or null. */
function insideOf({ from, to }: Range, { statement }: MysqlScope): Range | null {
  return upperAt(statement, from) === '(' && statement.closing.get(from) === to - 1 ? { from: from + 1, to: to - 1 } : null;
}

const isQuery = ({ from }: Range, { statement }: MysqlScope): boolean =>
  /^(SELECT|WITH|TABLE|VALUES)$/.test(upperAt(statement, from));

const listOf = (range: Range, scope: MysqlScope): Range[] => split(range, scope, new Set([',']));

const comparing = new Set(['=', '<', '>', '!']);
const comparisons: Readonly<Record<string, Comparison>> = {
  '=': '=',
  '<>': '<>',
  '!=': '<>',
  '<': '<',
  '>': '>',
  '<=': '<=',
  '>=': '>=',
  '<=>': 'same',
};
const tested = new Set(['TRUE', 'FALSE', 'NULL', 'UNKNOWN']);
const casting = new Set(['CAST', 'CONVERT']);
