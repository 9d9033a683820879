import { expect, it } from 'vitest';
import { createRemovals } from '../../worker/removals.js';

it.each<[string, number[], number]>([
  ['goes on behind single failures', [0, 1, 2, 3, 5, 6], 12],
  ['stops when five in a row fail, at the beginning', [0, 1, 2, 3, 4], 5],
  ['stops when five in a row fail, also behind one that did not', [3, 4, 5, 6, 7, 8, 9], 8],
])('a part of removals %s (OP-80)', async (_what, bad, tried) => {
  const removals = createRemovals();
  const seen: number[] = [];
  const part = removals.each(
    Array.from({ length: 12 }, (_, n) => n),
    String,
    async (n) => {
      seen.push(n);
      if (bad.includes(n)) throw new Error(`cannot remove ${n}`);
    },
  );
  await expect(part).rejects.toThrow(`cannot remove ${bad[0]}`);
  expect(seen).toHaveLength(tried);
  expect(removals.failed()).toEqual(bad.filter((n) => n < tried).map(String));
  removals.endRound();
  expect(removals.failed()).toEqual([]);
});
