/** How a constant is written, which decides what columns it can be compared with (HD-96). */
export type Literal = 'integer' | 'number' | 'text' | 'other';
export type Value = boolean | number | string | null;
export type Comparison = '=' | '<>' | '<' | '>' | '<=' | '>=' | 'same' | 'distinct';

/**
 * A condition as the readers of both dialects give it. A column belongs to the `target`, the table that is written (`table` is null, or names a copy
 * of it that is joined row by row); to any `other` table; or is `unsure`: a bare name inside a subquery.
 */
export type Condition =
  | { readonly kind: 'constant'; readonly value: Value; readonly literal: Literal }
  | { readonly kind: 'column'; readonly of: 'target' | 'unsure' | 'other'; readonly table: string | null; readonly name: string }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Condition[] }
  | { readonly kind: 'not'; readonly part: Condition }
  | { readonly kind: 'compare'; readonly operator: Comparison; readonly left: Condition; readonly right: Condition }
  /** IS TRUE, IS FALSE and IS NULL. */
  | { readonly kind: 'is'; readonly value: boolean | null; readonly part: Condition }
  | { readonly kind: 'case'; readonly branches: readonly Branch[]; readonly otherwise: Condition }
  /** COALESCE. */
  | { readonly kind: 'first'; readonly parts: readonly Condition[] }
  | { readonly kind: 'exists'; readonly where: Condition }
  | { readonly kind: 'cast'; readonly type: string; readonly part: Condition }
  /** An operator or call by its name, or anything the reader does not know. */
  | { readonly kind: 'other'; readonly name: string; readonly parts: readonly Condition[] };

export interface Branch {
  readonly when: Condition;
  readonly result: Condition;
}

export const constant = (value: Value, literal: Literal = 'other'): Condition => ({ kind: 'constant', value, literal });
export const allOf = (parts: readonly Condition[]): Condition => ({ kind: 'and', parts });
export const anyOf = (parts: readonly Condition[]): Condition => ({ kind: 'or', parts });
export const notOf = (part: Condition): Condition => ({ kind: 'not', part });
export const compare = (operator: Comparison, left: Condition, right: Condition): Condition => ({
  kind: 'compare',
  operator,
  left,
  right,
});
export const other = (name: string, parts: readonly Condition[]): Condition => ({ kind: 'other', name, parts });

/** The conditions directly inside. */
export function partsOf(condition: Condition): readonly Condition[] {
  switch (condition.kind) {
    case 'constant':
    case 'column':
      return [];
    case 'not':
    case 'is':
    case 'cast':
      return [condition.part];
    case 'compare':
      return [condition.left, condition.right];
    case 'case':
      return [...condition.branches.flatMap(({ when, result }) => [when, result]), condition.otherwise];
    case 'exists':
      return [condition.where];
    default:
      return condition.parts;
  }
}

/** Conditions with more nodes are not compared. */
const maxKeyNodes = 60;

/** Equal for equivalent conditions; null where one is too large to compare. */
export function keyOf(condition: Condition): string | null {
  let left = maxKeyNodes;
  const write = (one: Condition): string => {
    left -= 1;
    if (left < 0) return '';
    if (one.kind === 'constant') return JSON.stringify(one.value);
    if (one.kind === 'column') return JSON.stringify([one.of, one.table, one.name]);
    const name = one.kind === 'other' ? one.name : one.kind === 'compare' ? one.operator : '';
    const more = one.kind === 'is' ? one.value : one.kind === 'cast' ? one.type : '';
    return `${one.kind} ${name} ${more}(${partsOf(one).map(write).join(',')})`;
  };
  const key = write(condition);
  return left < 0 ? null : key;
}

/** Strips the casts around a condition. */
export const bare = (condition: Condition): Condition => (condition.kind === 'cast' ? bare(condition.part) : condition);

export function isSame(one: Condition, another: Condition): boolean {
  const key = keyOf(one);
  return key !== null && key === keyOf(another);
}
