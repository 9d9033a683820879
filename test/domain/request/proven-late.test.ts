import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { followPath } from '../../../domain/evidence/path.js';
import { judge } from '../../../domain/request/judge.js';
import type { Move } from '../../../domain/request/moves.js';
import type { Outcome } from '../../../domain/request/types.js';
import { user } from '../../support/callers.js';
import { now, storedRequest, workflowSnapshot } from '../../support/stored-request.js';
import { attempts, instantOf, moveOf } from './generated.js';
import { approve, cancel, claim, ownerGone, result, resume } from './moves.js';
import { rules } from './rules.js';
import { asSealed, make, store, typesOf, type World } from './world.js';

const owner = user('alice');
const policy = workflowSnapshot({ steps: [{ mode: 'all', approvers: [{ selector: 'user:bob', min: 1 }] }] });

const reported = (fence: number, outcome: Outcome) => (world: World) => result(world.executions[fence - 1]!, outcome);
const steps: Record<string, (world: World) => Move> = {
  resume: () => resume(owner, { policy: { maxExecutions: 1, retryOnFailure: false } }),
  claim: ({ executions }) => {
    const number = executions.length + 1;
    const move = claim();
    return {
      ...move,
      actor: { ...move.actor, id: `agent-${number}` },
      agent: { ...move.agent, id: `agent-${number}` },
      execution: { ...move.execution, id: `execution-${number}` },
    };
  },
  'lease-ends': () => ({ kind: 'clock', clock: 'lease' }),
  'dispatch-ends': () => ({ kind: 'clock', clock: 'dispatch' }),
  'window-ends': () => ({ kind: 'clock', clock: 'approved' }),
  cancel: () => cancel(owner),
  suspend: () => ownerGone(),
  '1-committed': reported(1, 'committed'),
  '1-applied': reported(1, 'already_applied'),
  '2-committed': reported(2, 'committed'),
  '2-applied-1': ({ executions }) => result(executions[1]!, 'already_applied', { appliedFence: 1 }),
  '2-not-started': reported(2, 'not_started'),
  '2-rolled-back': reported(2, 'rolled_back'),
};

/** A write that was approved and whose first `lost` attempts were lost. */
function lostWrite(lost: number): { world: World; at: number } {
  const start = { request: storedRequest({ operation: 'execute_dml', policy }), executions: [], events: [] };
  return played(
    { world: make(start, approve(user('bob')), now).world, at: now },
    Array(lost).fill('resume claim lease-ends').join(' '),
  );
}

function played(from: { world: World; at: number }, path: string): { world: World; at: number } {
  let { world, at } = from;
  for (const name of path.split(' ').filter((one) => one !== '')) {
    if (name.endsWith('-ends')) at += name === 'window-ends' ? 86_400_000 : 300_000;
    world = make(world, steps[name]!(world), at).world;
  }
  return { world, at };
}

const path = `
cancel 1-committed                              | executed  | execution.completed
cancel 1-applied                                | executed  | execution.completed
1-committed cancel                              | executed  | execution.completed
1-committed suspend                             | executed  | execution.completed
resume cancel 1-committed                       | executed  | execution.completed
resume cancel 2-committed                       | executed  | execution.completed
resume 1-committed cancel                       | executed  | execution.completed
resume 1-committed suspend                      | executed  | execution.completed
resume dispatch-ends 1-committed cancel         | executed  | execution.completed
resume dispatch-ends cancel 1-committed         | executed  | execution.completed
resume dispatch-ends 1-committed window-ends    | executed  | execution.completed
resume 1-committed window-ends dispatch-ends    | executed  | execution.completed
resume 1-committed dispatch-ends                | approved  | request.dispatch_timeout
resume dispatch-ends window-ends                | expired   | request.expired
2-rolled-back                                   | failed    | execution.failed
cancel 2-rolled-back 1-committed                | cancelled | execution.late_result
resume 1-committed                              | dispatched | execution.late_result
1-committed                                     | execution_lost | execution.late_result`;

describe('a write that was lost twice, whose first agent reports a success late (RQ-73)', () => {
  it.each(rowsOf(path))('%s: is %s', (moves, status, last) => {
    const { world } = played(lostWrite(2), moves);
    expect([world.request.status, world.events.at(-1)?.type]).toEqual([status, last]);
    expect(followPath(asSealed(world.events))).toEqual({ status, fault: null });
  });

  it.each(['cancel 1-committed', '1-committed cancel', 'resume 1-committed cancel'])(
    '%s: names the agent and the fence of the attempt that did it, and settles the others (ST-18, ST-24)',
    (moves) => {
      const { world } = played(lostWrite(2), moves);
      expect(world.events.at(-1)).toMatchObject({
        type: 'execution.completed',
        actor: { id: 'agent-1', type: 'agent' },
        resourceId: 'execution-1',
        metadata: { fence: 1, outcome: 'committed' },
      });
      expect(world.executions).toMatchObject([
        { status: 'completed', lost: false, unresolved: false, outcome: 'committed' },
        { status: 'failed', lost: true, unresolved: false, outcome: null },
      ]);
    },
  );

  it.each(['2-committed', '2-rolled-back', '2-applied-1'])(
    'cancel 1-committed %s: is 409, and its attempt says what its agent reported, once (AG-45)',
    (late) => {
      const before = played(lostWrite(2), 'cancel 1-committed');
      const { world, verdict } = make(before.world, steps[late]!(before.world), before.at);
      expect(verdict.refusal?.code).toBe('execution.conflict');
      expect(world.events.at(-1)).toMatchObject({
        type: 'execution.late_result',
        actor: { id: 'agent-2' },
        metadata: { fence: 2 },
      });
      expect(world.executions[1]).toMatchObject({ status: 'failed', unresolved: false, submission: expect.any(String) });
      expect(followPath(asSealed(world.events))).toEqual({ status: 'executed', fault: null });
      expect(make(world, steps['2-not-started']!(world), before.at).verdict).toMatchObject({ change: null });
    },
  );

  it('1-committed resume: the next claim still looks for what both attempts left (AG-59)', () => {
    const { world } = played(lostWrite(2), '1-committed resume');
    expect(world.request.unresolved.map(({ fence }) => fence)).toEqual([1, 2]);
  });
});

const whileRunning = `
cancel 2-not-started 1-committed | executed  | execution.completed
1-committed cancel 2-not-started | executed  | execution.cancelled,execution.completed
cancel 1-committed 2-not-started | executed  | execution.cancelled,execution.completed
cancel lease-ends 1-committed 2-not-started | executed | execution.cancelled,execution.completed
1-committed cancel 2-rolled-back | cancelled | execution.cancelled,request.cancelled
1-committed 2-not-started        | failed    | execution.failed`;

describe('a write whose second attempt runs while its first agent reports a success late (RQ-73)', () => {
  it.each(rowsOf(whileRunning))('%s: is %s', (moves, status, last) => {
    const { world } = played(lostWrite(1), `resume claim ${moves}`);
    const events = last.split(',');
    expect([world.request.status, typesOf(world.events).slice(-events.length)]).toEqual([status, events]);
    expect(followPath(asSealed(world.events))).toEqual({ status, fault: null });
  });

  it('ends both attempts: the newest as its agent says, the first with the success that was noted', () => {
    const { world } = played(lostWrite(1), 'resume claim 1-committed cancel 2-not-started');
    expect(world.executions).toMatchObject([
      { status: 'completed', lost: false, unresolved: false, outcome: 'committed' },
      { status: 'failed', lost: false, unresolved: false, outcome: 'not_started' },
    ]);
    expect(world.events.slice(-2)).toMatchObject([
      { actor: { id: 'agent-2' }, metadata: { fence: 2, outcome: 'not_started' } },
      { actor: { id: 'agent-1' }, metadata: { fence: 1, outcome: 'committed' } },
    ]);
  });
});

function rowsOf(table: string): [string, string, string][] {
  const cells = table
    .trim()
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()));
  return cells.map(([moves, status, events]) => [moves!, status!, events!]);
}

const held = Object.keys(rules).filter(
  (name) => !name.startsWith('RQ-I2') && !name.startsWith('RQ-I4') && !name.startsWith('AV-'),
);

it.each(held)('whatever is tried on a write that was lost up to three times: %s', (name) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3 }), attempts, (lost, list) => {
      let { world, at } = lostWrite(lost);
      let maxExecutions = 1;
      for (const attempt of list.slice(0, 12)) {
        at = instantOf(world, attempt, at);
        const before = world;
        const move = moveOf(before, attempt);
        const verdict = judge(before.request, move, at);
        world = store(before, verdict, at);
        if (world.request.fence > before.request.fence) maxExecutions = attempt.maxExecutions;
        rules[name]!({ before, after: world, move, verdict, at, given: [], maxExecutions });
      }
    }),
    { numRuns: 150 },
  );
});
