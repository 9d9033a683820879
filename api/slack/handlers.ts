import type { ActionHandler, CommandHandler, SubmissionHandler } from './call.js';
import { help } from './help.js';
import { join, joinSubmission } from './onboarding.js';
import { onboardingReviewSubmission, reviewOnboarding } from './onboarding-review.js';

/** By `action_id` of a button (section 3 of the rules of Slack). */
export const actions: ReadonlyMap<string, ActionHandler> = new Map([['svc_onboarding_review', reviewOnboarding]]);

/** By `callback_id` of a modal (section 4). */
export const submissions: ReadonlyMap<string, SubmissionHandler> = new Map([
  ['svc_onboarding', joinSubmission],
  ['svc_onboarding_review_submit', onboardingReviewSubmission],
]);

/** By the first word after `/svc` (section 5). */
export const commands: ReadonlyMap<string, CommandHandler> = new Map([
  ['help', help],
  ['join', join],
]);
