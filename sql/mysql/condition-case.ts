import { type Condition, compare, constant } from '../condition.js';
import { levelOf, type MysqlScope, type Range } from './condition-scope.js';
import { upperAt } from './statement.js';

/** CAST(value AS type), CONVERT(value, type) and CONVERT(value USING set). */
export function readCast({ from, to }: Range, scope: MysqlScope): Condition {
  const end = levelOf({ from, to }, scope).findLast((at) => castWords.has(upperAt(scope.statement, at))) ?? to;
  const words = scope.statement.tokens.slice(end, to).map(({ upper }) => upper);
  return { kind: 'cast', type: words.join(' '), part: scope.read({ from, to: end }, scope) };
}

export function readCase({ from, to }: Range, scope: MysqlScope): Condition {
  const marks = levelOf({ from: from + 1, to: to - 1 }, scope).filter((at) => caseWords.has(upperAt(scope.statement, at)));
  const part = (index: number) => scope.read({ from: marks[index]! + 1, to: marks[index + 1] ?? to - 1 }, scope);
  const subject = marks[0] === from + 1 || marks.length === 0 ? null : scope.read({ from: from + 1, to: marks[0]! }, scope);
  const branches = marks.flatMap((at, index) => {
    if (upperAt(scope.statement, at) !== 'WHEN') return [];
    const when = part(index);
    return [{ when: subject === null ? when : compare('=', subject, when), result: part(index + 1) }];
  });
  const last = marks.length - 1;
  const hasElse = upperAt(scope.statement, marks[last] ?? -1) === 'ELSE';
  return { kind: 'case', branches, otherwise: hasElse ? part(last) : constant(null) };
}

const castWords = new Set(['AS', 'USING', ',']);
const caseWords = new Set(['WHEN', 'THEN', 'ELSE']);
