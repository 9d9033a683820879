import { describe, expect, it } from 'vitest';
import type { Queryable } from '../../db/client.js';
import { memoryOfSets } from '../../db/known-sets.js';
import type { Branches } from '../../db/request-branch.js';

const database = (): Queryable => ({ query: () => Promise.reject(new Error('not asked')) });
const of =
  (value: number): Branches =>
  (p) => [{ where: `x = ${p.add(value)}` }];

describe('what is remembered of sets of requests', () => {
  it('is of one set of one database', () => {
    const memory = memoryOfSets<{ n: number }>();
    const [one, other] = [database(), database()];
    memory(one, of(1)).learn({ n: 1 });
    expect(memory(one, of(1)).get()).toEqual({ n: 1 });
    expect([memory(one, of(2)).get(), memory(other, of(1)).get(), memory(one, of(1), 'failed').get()]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    memory(one, of(1)).extend({ n: 2 });
    expect(memory(one, of(1)).get()).toEqual({ n: 2 });
    memory(one, of(1)).forget();
    expect(memory(one, of(1)).get()).toBeUndefined();
  });

  it.each([
    ['a hundred sets', {}, 101],
    ['what all together may hold', { maxSize: 10, sizeCalculation: () => 2 }, 6],
  ])('is bounded by %s: the least recently used goes first', (_what, size, one) => {
    const memory = memoryOfSets<{ n: number }>(size);
    const db = database();
    for (let n = 1; n < one; n += 1) memory(db, of(n)).learn({ n });
    memory(db, of(1)).get();
    memory(db, of(one)).learn({ n: one });
    expect([1, 2, 3, one].map((n) => memory(db, of(n)).get()?.n)).toEqual([1, undefined, 3, one]);
  });
});
