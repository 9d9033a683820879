import { expect } from 'vitest';
import { followPath } from '../../../domain/evidence/path.js';
import type { Move } from '../../../domain/request/moves.js';
import type { Outcome, Status } from '../../../domain/request/types.js';
import type { Verdict } from '../../../domain/request/verdict.js';
import type { PolicySnapshot } from '../../../domain/workflow-policy.js';
import { endOfPath, transitions } from './transitions.js';
import { asSealed, make, typesOf, type World } from './world.js';

/** An approval as it was accepted, and whether its giver matched its selector at that moment. */
export interface Given {
  step: number;
  userId: string;
  selector: string;
  matched: boolean;
}

export interface Step {
  before: World;
  after: World;
  move: Move;
  verdict: Verdict;
  at: number;
  /** All approvals accepted so far, this one included. */
  given: Given[];
  maxExecutions: number;
}

/** The tests' own reading of AV-10: different users per entry; all entries or one of them. */
function satisfied(workflow: PolicySnapshot, given: Given[], index: number): boolean {
  const { mode, approvers } = workflow.steps[index]!;
  const here = given.filter((one) => one.step === index && one.matched);
  const enough = approvers.map(
    ({ selector, min }) => new Set(here.filter((one) => one.selector === selector).map((one) => one.userId)).size >= min,
  );
  return mode === 'all' ? !enough.includes(false) : enough.includes(true);
}

const isSuccess = (outcome: Outcome | null) => outcome === 'committed' || outcome === 'already_applied';
const lastCompleted = ({ executions }: World) => executions.findLast(({ status }) => status === 'completed');
const overdue = (instant: number | null, at: number) => instant !== null && instant <= at;
const first = (workflow: PolicySnapshot, given: Given[]) =>
  workflow.steps.findIndex((_, index) => !satisfied(workflow, given, index));

/** Every rule that must hold after every single move; each throws when it does not. */
export const rules: Record<string, (step: Step) => void> = {
  'RQ-I1: the events are a path of section 7 that ends in the stored status': ({ after }) =>
    expect(endOfPath(['request.created', ...typesOf(after.events)])).toBe(after.request.status),

  'AU-84: evidence takes the events as a path that ends in the stored status': ({ after }) =>
    expect(followPath(asSealed(after.events))).toEqual({ status: after.request.status, fault: null }),

  'RQ-I8, ST-21: no other transition': ({ before, after }) => {
    const [from, to] = [before.request.status, after.request.status];
    if (from !== to) expect(transitions[from] as readonly Status[]).toContain(to);
    if (from === 'cancelled' && to === 'executed')
      expect(before.request.cancelledWhileLost || before.request.unresolved.length > 0).toBe(true);
  },

  'ST-21: a request changes its status only with news, and a plain refusal changes nothing': ({ before, after, verdict }) => {
    if (before.request.status !== after.request.status)
      expect(after.request).toMatchObject({ version: before.request.version + 1 });
    if (verdict.change === null) expect(after).toBe(before);
  },

  'RQ-I2: dispatched and later only with every step satisfied by users who matched': ({ after: { request }, given }) => {
    if (request.fence > 0 || request.status === 'approved') expect(first(request.policy!, given)).toBe(-1);
  },

  'RQ-I4, AV-11: one approval per user and step': ({ given }) =>
    expect(new Set(given.map(({ step, userId }) => `${step} ${userId}`)).size).toBe(given.length),

  'AV-10: an approval counts for the first step that was unsatisfied, and only for a selector its giver matched': ({
    before,
    given,
    verdict,
  }) => {
    if (verdict.change?.decision?.action !== 'approve') return;
    expect(given.at(-1)).toMatchObject({ matched: true, step: first(before.request.policy!, given.slice(0, -1)) });
  },

  'AV-12, AV-13: neither the owner nor one person twice, unless the workflow allows it': ({ after: { request }, given }) => {
    const users = given.map(({ userId }) => userId);
    if (!request.policy!.allowSelfApprove) expect(users).not.toContain('alice');
    if (!request.policy!.allowSameApproverAcrossSteps) expect(new Set(users).size).toBe(users.length);
  },

  'RQ-I12: nothing overdue is approved, rejected, dispatched or claimed': ({ before: { request }, after, at }) => {
    const next = after.request.status;
    if (next === request.status) return;
    if (request.status === 'pending' && overdue(request.expiresAt, at)) expect(['expired', 'cancelled']).toContain(next);
    if (next === 'dispatched') expect(overdue(request.dispatchBy, at)).toBe(false);
    if (next === 'running') expect(overdue(request.dispatchDeadline, at)).toBe(false);
  },

  'TT-7: a dispatch and a claim leave dispatch_by as it is': ({ before, after }) => {
    if (['dispatched', 'running'].includes(after.request.status))
      expect(after.request.dispatchBy).toBe(before.request.dispatchBy);
  },

  'RQ-I9: no more finished executions than the policy allowed at the last dispatch, but for one proven after it': ({
    after,
    maxExecutions,
  }) => {
    const { status, execution, finishedExecutions } = after.request;
    const late = status === 'executed' && execution?.status !== 'completed' ? 1 : 0;
    expect(finishedExecutions).toBeLessThanOrEqual(maxExecutions + late);
  },

  'AG-I2, AG-56: each dispatch raises the fence by one, each fence has at most one execution': ({ before, after }) => {
    const entered = after.request.status === 'dispatched' && before.request.status !== 'dispatched';
    expect(after.request.fence).toBe(before.request.fence + (entered ? 1 : 0));
    const fences = after.executions.map(({ fence }) => fence);
    expect([...new Set(fences)].sort((a, b) => a - b)).toEqual(fences);
  },

  'AG-I4: executed has an accepted success, cancelled and failed have none of the newest fence': ({ after }) => {
    const { request, executions } = after;
    if (request.status === 'executed') {
      const proof = lastCompleted(after);
      expect(proof).toBeDefined();
      for (const newer of executions.filter(({ fence }) => fence > proof!.fence)) expect(newer.status).toBe('failed');
    }
    if (['cancelled', 'failed', 'execution_lost'].includes(request.status) && request.execution?.fence === request.fence)
      expect(request.execution.status).not.toBe('completed');
  },

  'RQ-73: nothing is cancelled of which an attempt has reported a success while its outcome was open': ({ before, after }) => {
    const { status, fence } = after.request;
    const proofs = after.executions.filter(({ unresolved, outcome }) => unresolved && isSuccess(outcome));
    if (status === 'cancelled') expect(proofs).toEqual([]);
    const proof = lastCompleted(after);
    if (status === 'executed' && before.request.status !== 'executed' && proof!.fence < fence)
      expect(before.executions.find(({ id }) => id === proof!.id)).toMatchObject({ mutating: true, unresolved: true });
  },

  'AG-I6: an accepted result may be sent again and changes nothing': ({ after, move, verdict, at }) => {
    if (move.kind !== 'result' || verdict.refusal !== null) return;
    const reported = after.executions.find(({ id }) => id === move.reported.id)!;
    expect(make(after, { ...move, reported }, at).verdict).toEqual({ change: null, refusal: null });
  },

  'AG-57: unresolved are only lost or unknown attempts of a mutating operation, and none after a proof': ({
    after: { request, executions },
  }) => {
    for (const execution of executions.filter(({ unresolved }) => unresolved))
      expect(execution).toMatchObject({ mutating: true, lost: true });
    if (request.status === 'executed') expect(request.unresolved).toEqual([]);
  },

  'AG-58: nothing is dispatched while an earlier attempt cannot be proven': ({ before, after }) => {
    if (after.request.fence > before.request.fence)
      expect(before.request.unresolved.filter(({ provable }) => !provable)).toEqual([]);
  },
};
