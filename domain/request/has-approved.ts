import type { StoredRequest } from './types.js';

type Approved = Pick<StoredRequest, 'policy' | 'currentStep'> & {
  decisions: readonly Pick<StoredRequest['decisions'][number], 'userId' | 'step' | 'action'>[];
};

/** Whether this user has approved the request, and may not do so again in its present step (RQ-52). */
export function hasApproved({ policy, currentStep, decisions }: Approved, userId: string): boolean {
  const inAnyStep = policy?.allowSameApproverAcrossSteps !== true;
  return decisions.some((one) => one.action === 'approve' && one.userId === userId && (inAnyStep || one.step === currentStep));
}
