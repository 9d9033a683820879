import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createFairQueue } from '../../sql/fair-queue.js';

const step = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('add' as const), caller: fc.constantFrom('a', 'b', 'c') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('next' as const) }) },
);
interface Item {
  caller: string;
  number: number;
}

describe('a queue that takes its callers in turn', () => {
  it('gives each caller’s items in their order, keeps its bounds, and tells of everything that found no room', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const queue = createFairQueue<Item>({ total: 5, perCaller: 3 });
        let waiting: Item[] = [];
        const of = (caller: string) => waiting.filter((item) => item.caller === caller);
        for (const [number, one] of steps.entries()) {
          if (one.kind === 'add') {
            const item = { caller: one.caller, number };
            waiting.push(item);
            const out = queue.add(item.caller, item);
            expect(out === undefined).toBe(of(item.caller).length <= 3 && waiting.length <= 5);
            if (out !== undefined) expect(of(out.caller).at(-1)).toEqual(out);
            waiting = waiting.filter((each) => each !== out);
          } else {
            const item = queue.next();
            expect(item).toEqual(waiting.find(({ caller }) => caller === item?.caller));
            if (item === undefined) expect(waiting).toEqual([]);
            waiting = waiting.filter((each) => each !== item);
          }
        }
      }),
    );
  });

  it('serves a caller after at most one item of each other', () => {
    const queue = createFairQueue<string>({ total: 100, perCaller: 50 });
    for (let n = 0; n < 40; n += 1) queue.add('mallory', `mallory ${n}`);
    for (let n = 0; n < 2; n += 1) queue.add('alice', `alice ${n}`);
    expect(Array.from({ length: 4 }, () => queue.next())).toEqual(['mallory 0', 'alice 0', 'mallory 1', 'alice 1']);
  });

  it('takes the first item of a caller though others fill it, and turns away the last of the one with the most', () => {
    const queue = createFairQueue<string>({ total: 5, perCaller: 5 });
    for (const item of ['m1', 'm2', 'm3']) queue.add('mallory', item);
    for (const item of ['e1', 'e2']) queue.add('eve', item);
    expect(queue.add('alice', 'a1')).toBe('m3');
    expect(queue.add('mallory', 'm4')).toBe('m4');
    expect(Array.from({ length: 6 }, () => queue.next())).toEqual(['m1', 'e1', 'a1', 'm2', 'e2', undefined]);
  });
});
