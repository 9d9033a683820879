import fc from 'fast-check';
import { expect } from 'vitest';
import type { GatewayError } from '../../../domain/errors.js';

/** One check that can fail: how to make it fail, and the answer when nothing else fails. */
export interface Check<Situation> {
  rule: string;
  fails: (situation: Situation) => Situation;
  code: string;
  /** Part of message or hint, where the rule names it. */
  text?: string;
  /** Rules that cannot fail together with this one. */
  never?: string[];
}

/** Each check alone gives its own answer; if several fail, the first in the list answers, in whatever order they were made to fail. */
export function expectOrder<Situation>(
  base: Situation,
  checks: readonly Check<Situation>[],
  refusalOf: (situation: Situation) => GatewayError | null,
): void {
  expect(refusalOf(base)).toBeNull();
  const alone = new Map(checks.map((check) => [check.rule, refusalOf(check.fails(base))]));
  for (const { rule, code, text } of checks) {
    const answer = alone.get(rule)!;
    expect([rule, answer?.code]).toEqual([rule, code]);
    if (text !== undefined) expect(`${answer!.message} ${answer!.hint}`).toContain(text);
  }
  const together = fc
    .subarray([...checks], { minLength: 2 })
    .filter((some) => some.every(({ never }) => !some.some(({ rule }) => never?.includes(rule))));
  fc.assert(
    fc.property(together, (failing) => {
      const situation = failing.reduceRight((sum, check) => check.fails(sum), base);
      expect(refusalOf(situation)).toEqual(alone.get(failing[0]!.rule));
    }),
  );
}
