/**
 * The candidate that a text most likely misspells; null if none is near. Of several with as few edits, the first. Near means at most one edit in
 * three characters, three at most: a wilder guess only misleads.
 */
export function nearest(text: string, candidates: readonly string[]): string | null {
  const plain = text.slice(0, 64).toLowerCase().replaceAll('-', '_');
  let best: string | null = null;
  let fewest = Math.min(3, Math.max(1, Math.floor(plain.length / 3))) + 1;
  for (const candidate of candidates) {
    const edits = distance(plain, candidate.toLowerCase());
    if (edits < fewest) [best, fewest] = [candidate, edits];
  }
  return best;
}

/** Edits between two texts; two neighbours that changed places are one edit. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (before[j - 2] ?? 0) + 1 : replaced;
      current.push(Math.min(replaced, swapped, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    [before, previous] = [previous, current];
  }
  return previous[b.length] ?? 0;
}
