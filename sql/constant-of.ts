import { type Comparison, type Condition, isSame, type Value } from './condition.js';

/**
 * The value of a condition when it is the same for every row, else undefined. A comparison of an expression with itself counts as true, although it
 * is null where the expression is null; such rows are the exception (HD-22).
 */
export function constantOf(condition: Condition): Value | undefined {
  const known = values.get(condition);
  if (known !== undefined) return known.value;
  const value = computeValue(condition);
  values.set(condition, { value });
  return value;
}

/** Conditions nest, and each level asks for the values below it. */
const values = new WeakMap<Condition, { readonly value: Value | undefined }>();

/** The truth of a value used as a condition: numbers and texts as MySQL takes them, and the texts that PostgreSQL reads as true. */
export function truthOf(value: Value | undefined): boolean | null | undefined {
  if (value === null || value === undefined || typeof value === 'boolean') return value;
  if (typeof value === 'number') return value !== 0;
  return yes.test(value) || (Number.parseFloat(value) || 0) !== 0;
}

function computeValue(condition: Condition): Value | undefined {
  switch (condition.kind) {
    case 'constant':
      return condition.value;
    case 'column':
    case 'exists':
      return undefined;
    case 'and':
      return foldParts(condition.parts, false);
    case 'or':
      return foldParts(condition.parts, true);
    case 'not':
      return negate(truthOf(constantOf(condition.part)));
    case 'compare':
      return compareValues(condition.operator, condition.left, condition.right);
    case 'is':
      return valueOfTest(condition.value, constantOf(condition.part));
    case 'cast':
      return isBoolean.test(condition.type) ? truthOf(constantOf(condition.part)) : constantOf(condition.part);
    case 'case':
      return valueOfCase(condition);
    case 'first':
      return constantOf(condition.parts.find((part) => constantOf(part) !== null) ?? condition.parts[0] ?? nothing);
    default:
      return valueOfCall(condition.name, condition.parts);
  }
}

/** OR when `decisive` is true, else AND. */
function foldParts(parts: readonly Condition[], decisive: boolean): boolean | null | undefined {
  const truths = parts.map((part) => truthOf(constantOf(part)));
  if (truths.includes(decisive)) return decisive;
  if (truths.includes(undefined)) return undefined;
  return truths.includes(null) ? null : !decisive;
}

const negate = (truth: boolean | null | undefined): boolean | null | undefined => (typeof truth === 'boolean' ? !truth : truth);

function valueOfTest(asked: boolean | null, value: Value | undefined): boolean | undefined {
  if (value === undefined) return undefined;
  return asked === null ? value === null : truthOf(value) === asked;
}

function compareValues(operator: Comparison, left: Condition, right: Condition): boolean | null | undefined {
  const [one, another] = [constantOf(left), constantOf(right)];
  if (one === undefined || another === undefined)
    return isSame(left, right) ? operator === '=' || operator === '<=' || operator === '>=' || operator === 'same' : undefined;
  if (operator === 'same') return one === another;
  if (operator === 'distinct') return one !== another;
  if (one === null || another === null) return null;
  return compareConstants(operator, one, another);
}

function compareConstants(operator: Comparison, one: boolean | number | string, another: boolean | number | string): boolean {
  const numeric = typeof one !== 'string' || typeof another !== 'string';
  const [a, b] = numeric ? [Number(one), Number(another)] : [one, another];
  switch (operator) {
    case '=':
      return a === b;
    case '<>':
      return a !== b;
    case '<':
      return a < b;
    case '>':
      return a > b;
    case '<=':
      return a <= b;
    default:
      return a >= b;
  }
}

/** Constant when all branches that may be taken give the same value. */
function valueOfCase({ branches, otherwise }: Extract<Condition, { kind: 'case' }>): Value | undefined {
  const taken: Condition[] = [];
  for (const { when, result } of branches) {
    const truth = truthOf(constantOf(when));
    if (truth === true || truth === undefined) taken.push(result);
    if (truth === true) break;
  }
  const isDecided = branches.some(({ when }) => truthOf(constantOf(when)) === true);
  const found = (isDecided ? taken : [...taken, otherwise]).map(constantOf);
  return found.every((value) => value === found[0]) ? found[0] : undefined;
}

function valueOfCall(name: string, parts: readonly Condition[]): Value | undefined {
  const [left, right] = parts;
  if (left === undefined || right === undefined || parts.length !== 2) return undefined;
  const [one, another] = [constantOf(left), constantOf(right)];
  if (name === 'like') return typeof another === 'string' && /^%+$/.test(another) ? true : undefined;
  if (name === '*' && (one === 0 || another === 0)) return 0;
  if (name === '-' && isSame(left, right)) return 0;
  if (name === '||' && one != null && another != null) return `${one}${another}`;
  if (typeof one !== 'number' || typeof another !== 'number') return undefined;
  const compute = Object.hasOwn(arithmetic, name) ? arithmetic[name] : undefined;
  return compute?.(one, another);
}

const arithmetic: Readonly<Record<string, (one: number, another: number) => number>> = {
  '+': (one, another) => one + another,
  '-': (one, another) => one - another,
  '*': (one, another) => one * another,
  '/': (one, another) => one / another,
  '%': (one, another) => one % another,
};
const yes = /^\s*(t|tr|tru|true|y|ye|yes|on)\s*$/i;
const isBoolean = /^bool(ean)?$/;
const nothing: Condition = { kind: 'constant', value: null, literal: 'other' };
