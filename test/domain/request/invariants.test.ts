import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { STATUSES, type StoredRequest } from '../../../domain/request/types.js';
import { now as start } from '../../support/stored-request.js';
import { type Attempt, attempts, callerOf, instantOf, madeOn, moveOf, requests } from './generated.js';
import { type Given, rules, type Step } from './rules.js';
import { make, matches, type World } from './world.js';

/** Plays attempts and shows every move to a rule. */
function play(request: StoredRequest, list: Attempt[], see: (step: Step) => void): void {
  let world: World = { request, executions: [], events: [] };
  let at = start;
  let given: Given[] = [];
  let maxExecutions = 1;
  for (const tried of list) {
    const attempt = madeOn(world, tried);
    at = instantOf(world, attempt, at);
    const before = world;
    const move = moveOf(before, attempt);
    const { world: after, verdict } = make(before, move, at);
    const decision = verdict.change?.decision;
    if (decision?.action === 'approve')
      given = [...given, { ...decision, matched: matches(callerOf(attempt), decision.selector) }];
    if (after.request.fence > before.request.fence) maxExecutions = attempt.maxExecutions;
    see({ before, after, move, verdict, at, given, maxExecutions });
    world = after;
  }
}

describe('whatever is tried on a request, by anybody and in any order', () => {
  it.each(Object.entries(rules))('%s', (_, rule) => {
    fc.assert(
      fc.property(requests, attempts, (request, list) => play(request, list, rule)),
      { numRuns: 100 },
    );
  });

  it('is tried widely enough to meet every status and every kind of move', () => {
    const met = new Set<string>();
    fc.assert(
      fc.property(requests, attempts, (request, list) =>
        play(request, list, ({ after, move, verdict }) => {
          met.add(after.request.status);
          if (verdict.change !== null) met.add(move.kind);
        }),
      ),
      { numRuns: 300, seed: 7 },
    );
    expect([...met]).toEqual(
      expect.arrayContaining([...STATUSES, 'approve', 'reject', 'cancel', 'resume', 'claim', 'result', 'clock', 'lease']),
    );
  });
});
