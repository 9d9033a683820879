/** Numbers that a seed decides (mulberry32). */
export interface Random {
  /** At least 0, below 1. */
  next(): number;
  /** A whole number from `low` to `high`. */
  between(low: number, high: number): number;
  pick<T>(all: readonly T[]): T;
  shuffled<T>(all: readonly T[]): T[];
}

export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (low: number, high: number) => low + Math.floor(next() * (high - low + 1));
  return {
    next,
    between,
    pick: (all) => all[between(0, all.length - 1)]!,
    shuffled(all) {
      const rest = [...all];
      return all.map(() => rest.splice(between(0, rest.length - 1), 1)[0]!);
    },
  };
}
