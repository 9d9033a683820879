import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import type { Call } from './calls.js';
import { predict } from './predict.js';
import { clock } from './predict-runs.js';
import type { Expected, Request, World } from './world.js';

/** A state that the gateway may be in, and what a call must then have been answered with. */
export interface Possible {
  world: World;
  expected: Expected | null;
}

/** What a call makes of each world. */
export function afterCall(worlds: readonly World[], call: Call): Possible[] {
  return worlds.map((before) => {
    const world = structuredClone(before);
    return { expected: predict(world, call), world };
  });
}

/** The worlds, and what they become when workers carry out clocks that are over, each of them or not. */
export function withTimers(worlds: readonly World[]): World[] {
  const found = [...worlds];
  for (const world of found)
    for (const [index, request] of world.requests.entries()) {
      const which = overClock(request);
      if (which === null) continue;
      const fired = structuredClone(world);
      clock(fired.requests[index]!, { call: 'clock', clock: which, request: 0, fires: true });
      found.push(fired);
    }
  return distinct(found);
}

/** The clock of the request's status whose instant is reached. */
function overClock({ status, reached }: Request) {
  if (status === 'pending' && reached.pending) return 'pending';
  if (status === 'approved' && reached.window) return 'approved';
  if (status === 'dispatched' && reached.dispatch) return 'dispatch';
  return status === 'running' && reached.lease ? 'lease' : null;
}

export const distinct = (worlds: readonly World[]): World[] =>
  worlds.filter((world, index) => worlds.findIndex((other) => isDeepStrictEqual(other, world)) === index);

/** The names of all requests and runs of a world. */
export const namesOf = ({ requests }: World): string[] =>
  requests.flatMap(({ name, runs }) => [name, ...runs.map((run) => run.name)]);

/** Whether what was found has at least what is wanted. */
export function fits(found: unknown, wanted: object): boolean {
  try {
    expect(found).toMatchObject(wanted);
    return true;
  } catch {
    return false;
  }
}
