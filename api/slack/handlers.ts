import type { ActionHandler, CommandHandler, SubmissionHandler } from './call.js';
import { execute, submitCreate } from './create.js';
import { join, joinSubmission } from './onboarding.js';
import { onboardingReviewSubmission, reviewOnboarding } from './onboarding-review.js';
import { viewResult } from './result.js';
import { resume, submitResume } from './resume.js';
import { review, submitReview } from './review.js';

/** By `action_id` of a button (slack.md section 3). */
export const actions: ReadonlyMap<string, ActionHandler> = new Map([
  ['svc_review', review],
  ['svc_resume', resume],
  ['svc_view_result', viewResult],
  ['svc_onboarding_review', reviewOnboarding],
]);

/** By `callback_id` of a modal (slack.md section 4). */
export const submissions: ReadonlyMap<string, SubmissionHandler> = new Map([
  ['svc_review_modal', submitReview],
  ['svc_create_modal', submitCreate],
  ['svc_resume_modal', submitResume],
  ['svc_onboarding', joinSubmission],
  ['svc_onboarding_review_submit', onboardingReviewSubmission],
]);

const usage = ['/svc execute – ask for SQL to be run', '/svc join – ask for an account', '/svc help – this text'].join('\n');

/** By the first word after `/svc` (slack.md section 5). */
export const commands: ReadonlyMap<string, CommandHandler> = new Map([
  ['execute', execute],
  ['help', async () => usage],
  ['join', join],
]);
