import type { PolicySnapshot } from '../workflow-policy.js';
import type { Decision, StoredRequest } from './types.js';

export interface StepProgress {
  index: number;
  mode: 'all' | 'any';
  satisfied: boolean;
  entries: { selector: string; min: number; current: number }[];
}

/** The progress of each step (AV-10): an entry needs `min` users, a step needs every entry (`all`) or one (`any`). */
export function stepProgress(
  policy: Pick<PolicySnapshot, 'steps'>,
  decisions: readonly Pick<Decision, 'step' | 'userId' | 'action' | 'selector'>[],
): StepProgress[] {
  return policy.steps.map((step, index) => {
    const approvals = decisions.filter((decision) => decision.action === 'approve' && decision.step === index);
    const entries = step.approvers.map(({ selector, min }) => {
      const users = new Set(approvals.filter((approval) => approval.selector === selector).map(({ userId }) => userId));
      return { selector, min, current: users.size };
    });
    const enough = entries.map((entry) => entry.current >= entry.min);
    return { index, mode: step.mode, entries, satisfied: step.mode === 'all' ? enough.every(Boolean) : enough.some(Boolean) };
  });
}

/** Index of the first unsatisfied step, or the number of steps (RQ-41). */
export function firstOpenStep(steps: readonly StepProgress[]): number {
  const open = steps.findIndex((step) => !step.satisfied);
  return open === -1 ? steps.length : open;
}

type Approvable = Pick<StoredRequest, 'status' | 'policy' | 'decisions'>;

/** All selectors of the current step of a pending request, satisfied ones included; they decide who sees it (RQ-8). */
export function currentSelectors(request: Approvable): string[] {
  return currentEntries(request).map(({ selector }) => selector);
}

/** The selectors of the current step that still need approvals (RQ-55). */
export const openSelectors = (request: Approvable): string[] => (request.status === 'pending' ? unmetSelectors(request) : []);

/** The same whatever the status: of a request that ended without its approvals, those it was waiting for. */
export const unmetSelectors = (request: Omit<Approvable, 'status'>): string[] =>
  firstOpenEntries(request)
    .filter((entry) => entry.current < entry.min)
    .map(({ selector }) => selector);

const currentEntries = (request: Approvable): StepProgress['entries'] =>
  request.status === 'pending' ? firstOpenEntries(request) : [];

function firstOpenEntries(request: Omit<Approvable, 'status'>): StepProgress['entries'] {
  if (request.policy === null) return [];
  const steps = stepProgress(request.policy, request.decisions);
  return steps[firstOpenStep(steps)]?.entries ?? [];
}
