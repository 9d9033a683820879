import { currentSelectors } from './approval.js';
import type { StoredRequest } from './types.js';

type Before = Pick<StoredRequest, 'status' | 'currentStep'>;
type After = Pick<StoredRequest, 'status' | 'currentStep' | 'policy' | 'decisions'>;

/**
 * The selectors for which a request waited before and no longer waits. Where it is not known what it was before, those of all steps that it may have
 * left just now: only a request that was pending becomes one of these.
 */
export function passedSelectors(before: Before | undefined, after: After): string[] {
  const steps = (after.policy?.steps ?? []).map(({ approvers }) => approvers.map(({ selector }) => selector));
  const still = new Set(currentSelectors(after));
  return [...new Set(passedSteps(before, after, steps))].filter((selector) => !still.has(selector));
}

const afterPending: ReadonlySet<StoredRequest['status']> = new Set(['pending', 'approved', 'rejected', 'cancelled', 'expired']);

function passedSteps(before: Before | undefined, after: After, steps: readonly string[][]): string[] {
  if (before === undefined) return afterPending.has(after.status) ? steps.slice(0, after.currentStep + 1).flat() : [];
  if (before.status !== 'pending' || (after.status === 'pending' && after.currentStep === before.currentStep)) return [];
  return steps[before.currentStep] ?? [];
}
