/** Longer texts are compared by their start. */
const comparedLength = 20_000;

/** How alike two literal-free texts are: 1 if they are equal, less by the words that only one of them has. */
export function similarity(one: string, other: string): number {
  if (one === other) return 1;
  const [left, right] = [wordsOf(one), wordsOf(other)];
  const shared = [...left].filter((word) => right.has(word)).length;
  const dice = (2 * shared) / Math.max(1, left.size + right.size);
  return Math.min(0.99, Math.round(dice * 100) / 100);
}

const wordsOf = (text: string): Set<string> =>
  new Set(
    text
      .slice(0, comparedLength)
      .toLowerCase()
      .match(/[\p{L}\p{N}_$]+/gu) ?? [],
  );
