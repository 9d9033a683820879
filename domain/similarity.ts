/** Longer texts are compared by their start. */
export const comparedLength = 20_000;

/** How alike other literal-free texts are to one that they do not equal: less by the words that only one of them has. */
export function similarTo(wanted: string): (other: string) => number {
  const words = wordsOf(wanted);
  return (other) => {
    const others = wordsOf(other);
    const shared = [...words].filter((word) => others.has(word)).length;
    const dice = (2 * shared) / Math.max(1, words.size + others.size);
    return Math.min(0.99, Math.round(dice * 100) / 100);
  };
}

const wordsOf = (text: string): Set<string> =>
  new Set(
    text
      .slice(0, comparedLength)
      .toLowerCase()
      .match(/[\p{L}\p{N}_$]+/gu) ?? [],
  );
