import { describe, it } from 'vitest';
import type { UserCaller } from '../../../domain/caller.js';
import { judge } from '../../../domain/request/judge.js';
import type { Move } from '../../../domain/request/moves.js';
import type { StoredRequest } from '../../../domain/request/types.js';
import { builtinRole, user } from '../../support/callers.js';
import { approval, now, requestIn, storedRequest, unresolvedAttempt, workflowSnapshot } from '../../support/stored-request.js';
import { approve, claim, type facts, result, resume, tampered } from './moves.js';
import { type Check, expectOrder } from './order.js';

type ByCaller = Extract<Move, { kind: 'approve' | 'resume' }>;
type Tried = 'approve' | 'resume' | 'claim' | 'result';

interface Situation<Kind extends Tried> {
  request: StoredRequest;
  move: Extract<Move, { kind: Kind }>;
}

const refusalOf = <Kind extends Tried>({ request, move }: Situation<Kind>) => judge(request, move, now).refusal;

/** Changes parts of a situation: fields of the request, of the move, and of the move's caller. */
const change =
  <Kind extends Tried>(request: Partial<StoredRequest>, move: Partial<Extract<Move, { kind: Kind }>> = {}) =>
  (before: Situation<Kind>): Situation<Kind> => ({
    request: { ...before.request, ...request },
    move: { ...before.move, ...move },
  });

const callerIs =
  <Kind extends 'approve' | 'resume'>(over: Partial<UserCaller>) =>
  (before: Situation<Kind>): Situation<Kind> => ({
    ...before,
    move: { ...before.move, caller: { ...(before.move as ByCaller).caller, ...over } as UserCaller },
  });

const decided =
  (step: number, selector: string, by?: string) =>
  ({ request, move }: Situation<'approve'>): Situation<'approve'> => ({
    request: { ...request, decisions: [...request.decisions, approval(step, by ?? move.caller.id, selector)] },
    move,
  });

const dispatched = { status: 'dispatched', fence: 1 } as const;

describe('of two checks that fail the earlier one answers', () => {
  it('when approving (section 6, RQ-50 to RQ-56)', () => {
    const workflow = workflowSnapshot({
      allowSameApproverAcrossSteps: true,
      steps: [
        { mode: 'all', approvers: [{ selector: 'group:first', min: 1 }] },
        {
          mode: 'all',
          approvers: [
            { selector: 'group:second', min: 3 },
            { selector: 'group:seniors', min: 1 },
          ],
        },
      ],
    });
    const request = storedRequest({ policy: workflow, currentStep: 1, decisions: [approval(0, 'dora', 'group:first')] });
    const checks: Check<Situation<'approve'>>[] = [
      { rule: 'relation', fails: callerIs({ groups: [] }), code: 'auth.forbidden', never: ['RQ-51', 'RQ-53'] },
      { rule: 'TT-6', fails: change({ expiresAt: now }), code: 'request.gone' },
      {
        rule: 'RQ-50',
        fails: change({ status: 'approved' }),
        code: 'request.conflict',
        text: 'already approved',
        never: ['TT-6', 'RQ-50 dispatched'],
      },
      {
        rule: 'RQ-50 dispatched',
        fails: change(dispatched),
        code: 'request.conflict',
        text: 'already dispatched',
        never: ['TT-6'],
      },
      { rule: 'RQ-51', fails: callerIs({ id: 'alice' }), code: 'auth.forbidden' },
      { rule: 'RQ-52', fails: decided(1, 'group:second'), code: 'request.conflict', text: 'already approved' },
      { rule: 'RQ-53', fails: callerIs({ groups: ['first'] }), code: 'auth.forbidden', never: ['RQ-55'] },
      {
        rule: 'RQ-54 not mine',
        fails: change({}, { selector: 'group:other' }),
        code: 'validation.failed',
        never: ['RQ-54 satisfied'],
      },
      {
        rule: 'RQ-54 satisfied',
        fails: (s) =>
          change<'approve'>(
            {},
            { selector: 'group:seniors' },
          )(decided(1, 'group:seniors', 'sue')(callerIs<'approve'>({ groups: ['second', 'seniors'] })(s))),
        code: 'request.conflict',
        text: 'group:seniors',
        never: ['relation', 'RQ-53', 'RQ-55'],
      },
      {
        rule: 'RQ-55',
        fails: callerIs({ groups: ['second', 'seniors'] }),
        code: 'validation.failed',
        text: 'ambiguous',
        never: ['relation', 'RQ-54 not mine'],
      },
      { rule: 'RQ-56', fails: change({}, tampered), code: 'request.conflict', text: 'approved content changed' },
    ];
    expectOrder({ request, move: approve(user('bob', { groups: ['second'] })) }, checks, refusalOf);
  });

  it('when resuming (section 6, RQ-80 to RQ-88)', () => {
    const failed = requestIn('failed', { operation: 'execute_dml', shareSelectors: ['user:alice'] });
    const facts1 = (over: Partial<typeof facts>) => (before: Situation<'resume'>) =>
      change<'resume'>({}, { facts: { ...before.move.facts, ...over } })(before);
    const policy1 = (over: object) => (before: Situation<'resume'>) =>
      change<'resume'>({}, { policy: { ...before.move.policy, ...over } })(before);
    const checks: Check<Situation<'resume'>>[] = [
      { rule: 'relation', fails: callerIs({ id: 'zoe' }), code: 'auth.forbidden' },
      { rule: 'expired', fails: change({ status: 'expired' }), code: 'request.gone', never: ['RQ-81', 'RQ-81 running'] },
      { rule: 'RQ-80', fails: callerIs({ roles: [builtinRole('approver')] }), code: 'auth.forbidden' },
      {
        rule: 'RQ-81',
        fails: change({ status: 'rejected' }),
        code: 'request.conflict',
        text: 'rejected',
        never: ['RQ-81 running'],
      },
      { rule: 'RQ-81 running', fails: change({ status: 'running' }), code: 'request.conflict', text: 'already dispatched' },
      { rule: 'RQ-88', fails: change<'resume'>({}, { expectedFence: 7 }), code: 'request.conflict', text: 'since it was shown' },
      { rule: 'RQ-82', fails: change({ dispatchBy: now }), code: 'request.gone' },
      { rule: 'RQ-83', fails: policy1({ maxExecutions: 1 }), code: 'request.conflict', text: 'has run once' },
      {
        rule: 'RQ-84 partial',
        fails: change({ attempts: [{ ...failed.execution!, outcome: 'partial' }] }),
        code: 'request.conflict',
        text: 'check the database',
      },
      { rule: 'RQ-84', fails: policy1({ retryOnFailure: false }), code: 'request.conflict', text: 'does not retry' },
      {
        rule: 'RQ-85',
        fails: change({ unresolved: [unresolvedAttempt(1, false)] }),
        code: 'request.conflict',
        text: 'check the database and create a new request',
      },
      { rule: 'RQ-86 owner', fails: facts1({ ownerActive: false }), code: 'request.conflict', text: 'not active' },
      { rule: 'RQ-86 pair', fails: facts1({ pairUnchanged: false }), code: 'request.conflict', text: 'registered' },
      { rule: 'RQ-86 digest', fails: facts1(tampered), code: 'request.conflict', text: 'approved content changed' },
    ];
    expectOrder({ request: failed, move: resume(user('alice')) }, checks, refusalOf);
  });

  it('when claiming (AG-30, AG-32, AG-33)', () => {
    const facts1 = (over: Partial<typeof facts>) => (before: Situation<'claim'>) =>
      change<'claim'>({}, { facts: { ...before.move.facts, ...over } })(before);
    const agent1 = (over: object) => (before: Situation<'claim'>) =>
      change<'claim'>({}, { agent: { ...before.move.agent, ...over } })(before);
    const base = {
      request: requestIn('dispatched', { operation: 'execute_dml', unresolved: [unresolvedAttempt(1, true)] }),
      move: claim(),
    };
    const checks: Check<Situation<'claim'>>[] = [
      { rule: 'AG-30', fails: agent1({ inScope: false }), code: 'auth.forbidden' },
      { rule: 'AG-32 owner', fails: facts1({ ownerActive: false }), code: 'request.conflict', text: 'not active' },
      { rule: 'AG-32 status', fails: change({ status: 'approved' }), code: 'request.conflict', text: 'approved' },
      { rule: 'AG-32 clock', fails: change({ dispatchDeadline: now }), code: 'request.conflict', text: 'timed out' },
      { rule: 'AG-32 pair', fails: facts1({ pairUnchanged: false }), code: 'request.conflict', text: 'registered' },
      { rule: 'AG-32 digest', fails: facts1(tampered), code: 'request.conflict', text: 'approved content changed' },
      { rule: 'AG-33', fails: agent1({ marker: false }), code: 'request.conflict', text: 'unresolved' },
    ];
    expectOrder(base, checks, refusalOf);
  });

  it('when an agent reports a result (AG-42)', () => {
    const running = requestIn('running');
    const reported = (over: object) => (before: Situation<'result'>) =>
      change<'result'>({}, { reported: { ...before.move.reported, ...over } })(before);
    const submission = (over: object) => (before: Situation<'result'>) =>
      change<'result'>({}, { submission: { ...before.move.submission, ...over } })(before);
    const checks: Check<Situation<'result'>>[] = [
      { rule: 'other agent', fails: change({}, { agentId: 'agent-2' }), code: 'auth.forbidden' },
      { rule: 'fence', fails: submission({ fence: 9 }), code: 'validation.failed', text: 'fence' },
      { rule: 'AG-44', fails: (s) => reported({ fence: 1 })(change<'result'>({ fence: 2 })(s)), code: 'execution.gone' },
      {
        rule: 'finished',
        fails: reported({ submission: 'another' }),
        code: 'execution.conflict',
      },
      { rule: 'AG-45', fails: change({ status: 'cancelled' }), code: 'execution.conflict' },
    ];
    expectOrder({ request: running, move: result(running.execution!, 'committed') }, checks, refusalOf);
  });
});
