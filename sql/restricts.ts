import { allOf, type Branch, bare, type Comparison, type Condition, compare, keyOf, notOf, partsOf } from './condition.js';
import { constantOf, truthOf } from './constant-of.js';

/**
 * Whether a condition selects among the rows of the written table (HD-22): it names a column of that table, and no alternative lets every row pass.
 * What depends on the data, such as `id > -1`, counts as a restriction.
 */
export function restricts(condition: Condition, negated = false): boolean {
  const choices = choicesOf(condition, negated);
  if (choices.length > 1) return restrictsEach(choices);
  const [only] = choices;
  if (only === undefined) return false;
  const { part, negated: isNegated } = only;
  if (part.kind === 'and' || part.kind === 'or') return part.parts.some((each) => restricts(each, isNegated));
  return truthOf(constantOf(part)) === undefined && restrictsAlone(part, isNegated);
}

interface Choice {
  readonly part: Condition;
  readonly negated: boolean;
}

/** The alternatives of a condition: the parts of OR, or of AND under NOT. */
function choicesOf(condition: Condition, negated: boolean): Choice[] {
  if (condition.kind === 'not') return choicesOf(condition.part, !negated);
  if (condition.kind === (negated ? 'and' : 'or') && 'parts' in condition)
    return condition.parts.flatMap((part) => choicesOf(part, negated));
  return [{ part: condition, negated }];
}

/** Every alternative that may hold must restrict, and no two may be opposites. */
function restrictsEach(choices: readonly Choice[]): boolean {
  const live = choices.filter(({ part, negated }) => {
    const truth = truthOf(constantOf(part));
    return truth === undefined || truth === !negated;
  });
  if (live.length === 0 || !live.every(({ part, negated }) => restricts(part, negated))) return false;
  const keys = new Set(live.map((each) => keyOf(plain(each))));
  return live.every(({ part, negated }) => {
    const opposite = keyOf(plain({ part, negated: !negated }));
    return opposite === null || !keys.has(opposite);
  });
}

/** `NOT a = b` is `a <> b`. */
function plain({ part, negated }: Choice): Condition {
  if (!negated) return part;
  return part.kind === 'compare' ? compare(opposites[part.operator], part.left, part.right) : notOf(part);
}

const opposites: Readonly<Record<Comparison, Comparison>> = {
  '=': '<>',
  '<>': '=',
  '<': '>=',
  '>=': '<',
  '>': '<=',
  '<=': '>',
  same: 'distinct',
  distinct: 'same',
};

function restrictsAlone(condition: Condition, negated: boolean): boolean {
  switch (condition.kind) {
    case 'exists':
      return restricts(condition.where);
    case 'cast':
      return restricts(condition.part, negated);
    case 'case':
      return restrictsCase(condition.branches, condition.otherwise, negated);
    case 'is':
      return restrictsTest(condition, negated);
    default:
      return touches(condition);
  }
}

/** `(a = 1) IS NOT NULL` holds wherever a is not null. */
function restrictsTest({ value, part }: Extract<Condition, { kind: 'is' }>, negated: boolean): boolean {
  if (value !== null) return restricts(part, negated === value);
  return touches(part) && !(negated && truths.has(part.kind));
}

/** A branch is taken where its condition holds; the last one is taken where none does. */
function restrictsCase(branches: readonly Branch[], otherwise: Condition, negated: boolean): boolean {
  const fails = (result: Condition) => [negated, null].includes(truthOf(constantOf(result)) as boolean | null);
  const refuses = branches.some(({ when, result }) => fails(result) && restricts(when, true));
  return (
    branches.every(({ when, result }) => fails(result) || restricts(allOf([when, negated ? notOf(result) : result]))) &&
    (fails(otherwise) || refuses || restricts(otherwise, negated))
  );
}

/** Whether a column of the written table occurs anywhere inside. */
function touches(condition: Condition): boolean {
  if (condition.kind === 'column') return condition.of === 'target';
  if (condition.kind === 'compare' && joins(condition.left, condition.right)) return true;
  return partsOf(condition).some(touches);
}

/** Two columns, one of them a bare name in a subquery: that one may belong to the outer table. */
function joins(left: Condition, right: Condition): boolean {
  const [one, another] = [bare(left), bare(right)];
  const both = one.kind === 'column' && another.kind === 'column';
  return both && (one.of === 'unsure' || another.of === 'unsure') && keyOf(one) !== keyOf(another);
}

const truths: ReadonlySet<Condition['kind']> = new Set<Condition['kind']>(['and', 'or', 'not', 'compare', 'is', 'exists']);
