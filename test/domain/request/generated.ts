import fc from 'fast-check';
import type { UserCaller } from '../../../domain/caller.js';
import type { Operation } from '../../../domain/policies.js';
import type { Move } from '../../../domain/request/moves.js';
import type { Outcome } from '../../../domain/request/types.js';
import { clockOf } from '../../../domain/request/view.js';
import type { PolicySnapshot } from '../../../domain/workflow-policy.js';
import { builtinRole, user } from '../../support/callers.js';
import { storedExecution, storedRequest, workflowSnapshot } from '../../support/stored-request.js';
import { approve, cancel, claim, facts, ownerGone, reject, result, resume, strangeMarker, tampered } from './moves.js';
import type { World } from './world.js';

const groups = ['a', 'b', 'c'];
const selectors = [...groups.map((name) => `group:${name}`), 'user:u1', 'user:u2'];
const names = ['alice', 'u1', 'u2', 'u3', 'u4', 'u5'];
const outcomes: Outcome[] = ['committed', 'already_applied', 'rolled_back', 'not_started', 'partial', 'unknown'];

const step = fc.record({
  mode: fc.constantFrom('all' as const, 'any' as const),
  approvers: fc.uniqueArray(fc.record({ selector: fc.constantFrom(...selectors), min: fc.integer({ min: 1, max: 2 }) }), {
    minLength: 1,
    maxLength: 2,
    selector: ({ selector }) => selector,
  }),
});

/** Workflow snapshots of one to three steps over three groups and two users. */
export const workflows: fc.Arbitrary<PolicySnapshot> = fc
  .record({
    steps: fc.array(step, { minLength: 1, maxLength: 3 }),
    allowSelfApprove: fc.boolean(),
    allowSameApproverAcrossSteps: fc.boolean(),
  })
  .map(workflowSnapshot);

/** A pending request of alice under such a workflow, reading or writing. */
export const requests = fc
  .record({ policy: workflows, operation: fc.constantFrom<Operation>('execute_select', 'execute_dml', 'migrate_up') })
  .map(storedRequest);

/** One attempt by somebody: what kind, by whom with which groups just now, after which wait, and what else it may say. */
export interface Attempt {
  /** Does what the request waits for, so that sequences get far. */
  fitting: boolean;
  kind: Move['kind'];
  who: string;
  groups: string[];
  wait: 'none' | 'a bit' | 'before the clock' | 'to the clock' | 'long';
  selector: number | null;
  /** Which execution is reported, counted back from the newest. */
  older: number;
  outcome: Outcome;
  /** A marker of nobody's attempt is reported with the result. */
  stranger: boolean;
  cancelled: boolean | null;
  intact: boolean;
  maxExecutions: number;
  fences: boolean;
}

const kinds = {
  approve: 8,
  reject: 1,
  cancel: 1,
  owner_gone: 1,
  resume: 4,
  claim: 4,
  result: 5,
  clock: 2,
  lease: 2,
} satisfies Record<Move['kind'], number>;
const waits = { none: 4, 'a bit': 12, 'before the clock': 1, 'to the clock': 2, long: 1 } satisfies Record<
  Attempt['wait'],
  number
>;
const weighted = <T extends string>(weights: Record<T, number>) =>
  fc.oneof(...(Object.entries(weights) as [T, number][]).map(([value, weight]) => ({ weight, arbitrary: fc.constant(value) })));

export const attempts: fc.Arbitrary<Attempt[]> = fc.array(
  fc.record({
    fitting: fc.nat(9).map((dice) => dice > 3),
    kind: weighted(kinds),
    who: fc.constantFrom(...names, 'root'),
    groups: fc.subarray(groups),
    wait: weighted(waits),
    selector: fc.option(fc.nat(3)),
    older: fc.constantFrom(0, 0, 1, 1, 2),
    outcome: fc.constantFrom(...outcomes),
    stranger: fc.boolean(),
    cancelled: fc.option(fc.boolean()),
    intact: fc.nat(15).map((dice) => dice > 0),
    maxExecutions: fc.integer({ min: 1, max: 3 }),
    fences: fc.boolean(),
  }),
  { minLength: 10, maxLength: 40, size: 'max' },
);

/** The attempt as it is made on this request: a fitting one turns into the next move that the request waits for, soon. */
export function madeOn({ request }: World, attempt: Attempt): Attempt {
  if (!attempt.fitting) return attempt;
  const soon = { ...attempt, wait: attempt.fences ? 'a bit' : 'none' } as const;
  if (request.status === 'running') return { ...soon, kind: 'result', older: 0 };
  if (request.status === 'dispatched') return { ...soon, kind: 'claim' };
  if (request.status !== 'pending') return { ...soon, kind: 'resume', who: 'alice' };
  const entries = request.policy?.steps[request.currentStep]?.approvers ?? [];
  const selector = (attempt.selector ?? 0) % Math.max(entries.length, 1);
  const [kind, name = ''] = (entries[selector]?.selector ?? '').split(':');
  return { ...soon, kind: 'approve', selector, ...(kind === 'user' ? { who: name } : { groups }) };
}

/** The instant of an attempt: by its wait, and never before the one before it. */
export function instantOf({ request }: World, { wait }: Attempt, since: number): number {
  const end = clockOf(request)?.at ?? since;
  const at = { none: since, 'a bit': since + 1000, 'before the clock': end - 1, 'to the clock': end, long: since + 86_400_000 };
  return Math.max(since, at[wait]);
}

export function callerOf({ who, groups: memberships }: Attempt): UserCaller {
  return who === 'root' ? user(who, { roles: [builtinRole('admin')] }) : user(who, { groups: memberships });
}

/** The move that an attempt means on this request now. */
export function moveOf({ request, executions }: World, attempt: Attempt): Move {
  const caller = callerOf(attempt);
  const checked = attempt.intact ? facts : { ...facts, ...tampered };
  const entries = request.policy?.steps[request.currentStep]?.approvers ?? [];
  const selector = attempt.selector === null ? null : (entries[attempt.selector]?.selector ?? 'group:nobody');
  const named = executions.at(-1 - attempt.older) ?? executions.at(-1) ?? storedExecution();
  const started = claim({
    facts: checked,
    agent: {
      id: 'agent-1',
      inScope: true,
      fences: attempt.fences,
      marker: attempt.fences,
      bounds: attempt.fences,
      markerForm: 2,
    },
  });
  const moves: Record<Move['kind'], Move> = {
    approve: approve(caller, { selector, digestIntact: checked.digestIntact, foundDigest: checked.foundDigest }),
    reject: reject(caller),
    cancel: cancel(caller),
    owner_gone: ownerGone(),
    resume: resume(caller, { facts: checked, policy: { maxExecutions: attempt.maxExecutions, retryOnFailure: true } }),
    claim: { ...started, execution: { ...started.execution, id: `execution-${executions.length + 1}` } },
    result: result(named, attempt.outcome, {
      cancelled: attempt.cancelled,
      markerMismatches: attempt.stranger ? [strangeMarker] : [],
    }),
    clock: { kind: 'clock', clock: clockOf(request)?.kind ?? 'lease' },
    lease: { kind: 'lease', executionId: named.id },
  };
  return moves[attempt.kind];
}
