import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestApi } from '../support/api.js';
import { type Agent, type AgentCalls, startAgentApi } from './agent-calls.js';

let api: TestApi;
let calls: AgentCalls;
let agents: Agent[];
beforeAll(async () => {
  ({ api, calls } = await startAgentApi({ times: { cancelWaitMs: 5 } }));
  agents = await Promise.all([1, 2, 3].map(() => calls.known()));
});
afterAll(() => api?.close());

const outcomes = ['committed', 'already_applied', 'rolled_back', 'not_started', 'unknown'] as const;
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('claim' as const), agent: fc.nat(2) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('submit' as const), outcome: fc.constantFrom(...outcomes), back: fc.nat(1) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('heartbeat' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('lose' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('resume' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

interface Claimed {
  executionId: string;
  agent: Agent;
}

it('whatever callers, agents and clocks do at once, the invariants of fences and results hold (AG-I1, AG-I2, AG-I4, AG-I6)', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 3, maxLength: 8 }), async (rounds) => {
      const id = await calls.dispatched('delete from t where id = 1');
      const claims: Claimed[] = [];
      const answers: number[] = [];
      const accepted = new Map<string, string>();
      for (const round of rounds) {
        const made = await Promise.all(round.map((one) => act(id, one, claims, accepted)));
        answers.push(...made.map(({ status }) => status));
        claims.push(...made.flatMap(({ claimed }) => claimed ?? []));
      }
      expect(answers.filter((status) => status >= 500)).toEqual([]);
      await checkInvariants(id, claims, accepted);
    }),
    { numRuns: 12, interruptAfterTimeLimit: 8_000, endOnFailure: true },
  );
});

async function act(
  id: string,
  one: Step,
  claims: readonly Claimed[],
  accepted: Map<string, string>,
): Promise<{ status: number; claimed?: Claimed }> {
  switch (one.kind) {
    case 'claim': {
      const agent = agents[one.agent]!;
      const { status, body } = await agent.claim(id, { claim_id: randomUUID() });
      return { status, ...(status === 200 ? { claimed: { executionId: body.execution_id as string, agent } } : {}) };
    }
    case 'submit': {
      const run = claims.at(-1 - one.back);
      if (run === undefined) return { status: 0 };
      const success = one.outcome === 'committed' || one.outcome === 'already_applied';
      const submission = { success, outcome: one.outcome };
      const all = await Promise.all([
        run.agent.submit(run.executionId, submission),
        run.agent.submit(run.executionId, submission),
      ]);
      for (const { status } of all) if (status === 200) accepted.set(run.executionId, one.outcome);
      return { status: Math.max(...all.map(({ status }) => status)) };
    }
    case 'heartbeat': {
      const run = claims.at(-1);
      return run === undefined ? { status: 0 } : run.agent.heartbeat(run.executionId);
    }
    case 'lose':
      return calls.fireClock(id, 'lease').then(() => ({ status: 0 }));
    case 'resume':
      return calls.resume(id);
    case 'cancel':
      return calls.cancel(id);
  }
}

async function checkInvariants(id: string, claims: readonly Claimed[], accepted: ReadonlyMap<string, string>): Promise<void> {
  const [request] = await calls.sql<{ status: string; fence: number }>('select status, fence from requests where id = $1', [id]);
  const runs = await calls.sql<{ id: string; fence: number; status: string; outcome: string | null }>(
    'select id, fence, status, outcome from executions where request_id = $1 order by fence',
    [id],
  );
  expect(runs.map((run) => run.id).toSorted()).toEqual(claims.map(({ executionId }) => executionId).toSorted());
  const fences = runs.map(({ fence }) => fence);
  expect([new Set(fences).size, Math.max(0, ...fences) <= request!.fence]).toEqual([fences.length, true]);
  const running = runs.filter(({ status }) => status === 'running');
  expect(running.map(({ fence }) => fence)).toEqual(request!.status === 'running' ? [request!.fence] : []);
  for (const run of runs) if (accepted.has(run.id)) expect(run.outcome).toBe(accepted.get(run.id));
  const proven = runs.some(({ outcome }) => outcome === 'committed' || outcome === 'already_applied');
  if (request!.status === 'executed') expect(proven).toBe(true);
  const ends = await calls.sql<{ resource_id: string; event_type: string }>(
    `select resource_id, event_type from audit_events where request_id = $1 and event_type like 'execution.%'`,
    [id],
  );
  for (const run of runs) {
    const own = ends.filter(({ resource_id: resource }) => resource === run.id).map(({ event_type: type }) => type);
    const count = (...types: string[]) => own.filter((type) => types.includes(type)).length;
    expect(count('execution.started')).toBe(1);
    expect(count('execution.completed', 'execution.failed', 'execution.cancelled')).toBeLessThanOrEqual(1);
    expect(count('execution.late_result')).toBeLessThanOrEqual(1);
  }
}
