import { describe, expect, it } from 'vitest';
import { followPath } from '../../../domain/evidence/path.js';
import type { Operation } from '../../../domain/policies.js';
import { judge } from '../../../domain/request/judge.js';
import type { Move } from '../../../domain/request/moves.js';
import { type Outcome, STATUSES, type Status, type StoredRequest } from '../../../domain/request/types.js';
import { clockOf } from '../../../domain/request/view.js';
import { agent, builtinRole, user } from '../../support/callers.js';
import {
  now,
  requestIn,
  steps,
  storedExecution,
  storedRequest,
  unresolvedAttempt,
  workflowSnapshot,
} from '../../support/stored-request.js';
import { approve, cancel, claim, facts, outcomeOf, ownerGone, reject, result, resume, strangeMarker, tampered } from './moves.js';
import { endOfPath, transitions } from './transitions.js';
import { asSealed, store, typesOf, type World } from './world.js';

const owner = user('alice');
const people = [
  owner,
  user('root', { roles: [builtinRole('admin')] }),
  user('bob', { groups: ['first'] }),
  user('dora', { groups: ['second'] }),
  user('zoe'),
];
const outcomes: Outcome[] = ['committed', 'already_applied', 'rolled_back', 'not_started', 'partial', 'unknown'];

/** Every move somebody could try on this request now: all people, agents, clocks, facts and reports. */
function movesOn({ executions }: World): Move[] {
  const anybody = [...people, agent('agent-1')];
  const claims = [true, false].map((fences) =>
    claim({ agent: { id: 'agent-1', inScope: true, fences, marker: fences, bounds: fences, markerForm: 2 } }),
  );
  const ids = claims.map((move) => ({ ...move, execution: { ...move.execution, id: `execution-${executions.length + 1}` } }));
  const reports = executions.flatMap((execution) =>
    outcomes.flatMap((outcome) => [
      ...[null, false].map((cancelled) => result(execution, outcome, { cancelled })),
      result(execution, outcome, { cancelled: true, markerMismatches: [strangeMarker] }),
    ]),
  );
  return [
    ...anybody.flatMap((who) => [
      approve(who),
      reject(who),
      cancel(who),
      resume(who),
      resume(who, { facts: { ...facts, ...tampered } }),
    ]),
    ...anybody.map((who) => approve(who, tampered)),
    ...ids,
    { ...ids[0]!, facts: { ...facts, ...tampered } },
    ...reports,
    ownerGone(),
    ...(['pending', 'approved', 'dispatch', 'lease'] as const).map((clock) => ({ kind: 'clock', clock }) as const),
    { kind: 'lease', executionId: `execution-${executions.length}` },
  ];
}

/** Instants at which something may change: this one and the ends of the clocks that are still to come. */
function instantsOf(request: StoredRequest, at: number): number[] {
  const clock = clockOf(request)?.at ?? at;
  const lease = request.status === 'running' ? (request.execution?.leaseExpiresAt ?? at) : at;
  return [...new Set([at, clock, lease, request.dispatchBy ?? at])].filter((instant) => instant >= at);
}

/** What matters of an outcome afterwards: that a part is applied, or that all is. */
const kindOf = (outcome: Outcome | null) =>
  outcome === 'committed' || outcome === 'already_applied' ? 'applied' : outcome === 'partial' && 'partial';

/** Two worlds with one key allow the same moves: instants count only as reached or not; ids, texts and who approved do not count. */
function keyOf({ request: r, executions }: World, at: number): string {
  const reached = [clockOf(r)?.at ?? null, r.dispatchBy].map((instant) => instant !== null && instant <= at);
  const runs = executions.map((e) => [e.status, e.lost, e.unresolved, kindOf(e.outcome), e.submission !== null, e.marker]);
  return JSON.stringify([
    r.status,
    r.currentStep,
    r.fence,
    reached,
    runs,
    r.cancelRequestedAt !== null,
    r.cancelCause,
    r.cancelledWhileLost,
  ]);
}

interface Walk {
  seen: Set<string>;
  edges: Set<string>;
  kept: string[];
}

/** Visits every state that can be reached within two dispatches, by every move at every instant that matters. */
function walk(operation: Operation): Walk {
  const found: Walk = { seen: new Set(), edges: new Set(), kept: [] };
  const start = storedRequest({ operation, policy: workflowSnapshot({ steps: steps('group:first', 'group:second') }) });
  const queue: { world: World; at: number }[] = [{ world: { request: start, executions: [], events: [] }, at: now }];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const { world, at: since } = next;
    for (const at of [since, ...instantsOf(world.request, since)]) {
      if (found.seen.has(keyOf(world, at))) continue;
      found.seen.add(keyOf(world, at));
      for (const move of movesOn(world)) {
        const verdict = judge(world.request, move, at);
        const after = store(world, verdict, at);
        if (after.request.status !== world.request.status) found.edges.add(`${world.request.status} ${after.request.status}`);
        const ends = [endOfPath(['request.created', ...typesOf(after.events)]), followPath(asSealed(after.events)).status];
        if (ends.some((end) => end !== after.request.status)) found.kept.push(typesOf(after.events).join());
        if (verdict.change !== null && after.request.fence <= 2 && !found.seen.has(keyOf(after, at)))
          queue.push({ world: after, at });
      }
    }
  }
  return found;
}

/** Of a read nothing that was lost is open, so that no proof can come in time for a cancel (ST-24). */
const onlyWrites: readonly string[] = ['approved executed', 'dispatched executed'];
const edges = Object.entries(transitions).flatMap(([from, next]) => next.map((to) => `${from} ${to}`));

describe('every move on every request that can be reached', () => {
  it.each(['execute_select', 'execute_dml'] as const)(
    'makes for %s all transitions of section 7 and no other, and its events tell the same path (ST-21, RQ-I1)',
    (operation) => {
      const { seen, edges: found, kept } = walk(operation);
      const possible = edges.filter((edge) => operation === 'execute_dml' || !onlyWrites.includes(edge));
      expect([...found].sort()).toEqual(possible.sort());
      expect(kept).toEqual([]);
      expect(seen.size).toBeGreaterThan(100);
    },
  );
});

describe('every move on every status, also on rows that no path leads to', () => {
  const strange: Partial<StoredRequest>[] = [
    {},
    { policy: null },
    { policy: workflowSnapshot({ steps: [] }) },
    { currentStep: 9 },
    { execution: null },
    { execution: storedExecution({ fence: 4 }), fence: 4 },
    { expiresAt: null, dispatchBy: null, dispatchDeadline: null },
    { cancelRequestedAt: now, cancelledBy: null },
    { unresolved: [unresolvedAttempt(1, false)] },
  ];

  it('is judged without an exception, either changes or refuses, and never leaves the transitions of section 7', () => {
    for (const status of STATUSES)
      for (const over of strange)
        for (const at of [0, now - 1, now, now + 10 ** 10]) {
          const request = requestIn(status, over);
          const executions = [
            request.execution ?? storedExecution(),
            storedExecution({ id: 'other', fence: 2, submission: 'x' }),
          ];
          for (const move of movesOn({ request, executions, events: [] })) {
            const verdict = judge(request, move, at);
            const next = (verdict.change?.state.status ?? status) as Status;
            expect(
              next === status || (transitions[status] as readonly Status[]).includes(next),
              `${status} ${move.kind} ${outcomeOf(request, verdict)}`,
            ).toBe(true);
            if (verdict.refusal !== null && verdict.change !== null)
              expect(['request.integrity_failed', 'execution.late_result']).toContain(verdict.change.events[0]?.type);
          }
        }
  });
});
