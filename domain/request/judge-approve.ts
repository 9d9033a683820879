import type { Caller } from '../caller.js';
import { forbidden, type GatewayError, invalid } from '../errors.js';
import { countsFor, tieToRequester } from '../four-eyes.js';
import { matchesSelector } from '../selectors.js';
import { firstOpenStep, type StepProgress, stepProgress } from './approval.js';
import { commonRefusal, conflict, decisionOf, integrityFailed, lookAgain, shownOther, unfitForApproval } from './guards.js';
import { hasApproved } from './has-approved.js';
import type { Move } from './moves.js';
import { noApprover } from './refused.js';
import { isOwner } from './relation.js';
import type { Decision, Instant, StoredRequest } from './types.js';
import { changed, refuse, type Verdict } from './verdict.js';

type Approve = Extract<Move, { kind: 'approve' }>;

/** ST-4, ST-5: runs the checks RQ-50 to RQ-58; the last of them comes before RQ-54. */
export function judgeApprove(request: StoredRequest, move: Approve, now: Instant): Verdict {
  const early =
    commonRefusal(request, move.caller, now) ?? notPending(request) ?? notAllowed(request, move) ?? otherStep(request, move);
  if (early !== null) return refuse(early);
  const step = stepProgress(request.policy!, request.decisions)[request.currentStep]!;
  const selector = chooseSelector(request, move, step);
  if (typeof selector !== 'string') return refuse(selector);
  const unfit = unfitForApproval(request, move);
  const { foundDigest } = move;
  if (unfit !== null) return integrityFailed(request, { noticedBy: 'approve', part: unfit, foundDigest }, now);
  const other = shownOther(request, move);
  if (other !== null) return refuse(other);
  const decision = decisionOf(request, move, selector, now);
  return approved(request, move, decision, now);
}

function notPending(request: StoredRequest): GatewayError | null {
  if (request.status === 'pending' && request.policy !== null) return null;
  if (request.status === 'approved') return conflict('already_approved', 'request is already approved');
  if (request.status === 'dispatched' || request.status === 'running')
    return conflict('already_dispatched', 'request is already dispatched');
  return conflict('wrong_status', `request is ${request.status}`);
}

/** RQ-51 to RQ-53, HD-70. */
function notAllowed(request: StoredRequest, { caller }: Pick<Approve, 'caller'>): GatewayError | null {
  const policy = request.policy!;
  if (isOwner(caller, request) && !policy.allowSelfApprove) return forbidden('you cannot approve your own request');
  const tie = policy.allowSelfApprove || caller.kind === 'agent' ? null : tieToRequester(caller, request.requester);
  if (tie !== null) return forbidden(tie);
  if (hasApproved(request, caller.id)) return conflict('already_approved', 'you have already approved this request');
  const matching = (policy.steps[request.currentStep]?.approvers ?? [])
    .map(({ selector }) => selector)
    .filter((selector) => matchesSelector(caller, selector, request));
  if (matching.some((selector) => counts(request, caller, selector))) return null;
  if (request.decisions.some(({ action, userId }) => action === 'approve' && userId === caller.id))
    return conflict('already_approved', 'you have already approved this request');
  return matching[0] === undefined ? noApprover(request, caller) : grantedByRequester(matching[0]);
}

/** RQ-58: a repeat of an approval that was counted, or one of a step that others completed meanwhile, says nothing of the step that is open now. */
function otherStep({ currentStep, decisions }: StoredRequest, { caller, expectedStep = null }: Approve): GatewayError | null {
  if (expectedStep === null || expectedStep === currentStep) return null;
  if (decisions.some(({ step, userId }) => step === expectedStep && userId === caller.id))
    return conflict('already_approved', 'you have already approved this step');
  return conflict('content_changed', 'the request waits for another step than the one that was shown', lookAgain);
}

/** HD-70: a selector that the requester granted does not count for the requester's own requests. */
const counts = ({ policy, requester }: StoredRequest, caller: Caller, selector: string) =>
  policy!.allowSelfApprove || caller.kind === 'agent' || countsFor(caller, selector, requester);

const grantedByRequester = (selector: string) =>
  forbidden(`the requester granted you ${selector}, directly or through others: somebody else must`);

/** RQ-54, RQ-55: the caller's selector that this approval counts for. */
function chooseSelector(request: StoredRequest, { caller, selector }: Approve, step: StepProgress): string | GatewayError {
  const matched = step.entries.filter((entry) => matchesSelector(caller, entry.selector, request));
  const matching = matched.filter((entry) => counts(request, caller, entry.selector));
  const open = openOf(matching);
  if (selector !== null) {
    if (!matching.some((entry) => entry.selector === selector))
      return matched.some((entry) => entry.selector === selector)
        ? grantedByRequester(selector)
        : invalid('you do not match this selector of the current step', 'body.selector');
    return open.includes(selector) ? selector : conflict('selector_satisfied', `${selector} has its approvals already`);
  }
  if (open.length === 0) return conflict('selector_satisfied', 'your selectors have their approvals already');
  if (open.length > 1)
    return invalid('the selector is ambiguous, for you match several', `say which: ${open.join(', ')}`, 'selector_ambiguous');
  return open[0]!;
}

const openOf = (entries: StepProgress['entries']): string[] => [
  ...new Set(entries.filter((entry) => entry.current < entry.min).map((entry) => entry.selector)),
];

/** The selectors of the current step that the caller's approval could count for now. With several the caller has to say which (RQ-55). */
export function selectorsToChoose(request: StoredRequest, caller: Caller): string[] {
  if (request.status !== 'pending' || request.policy === null) return [];
  const entries = stepProgress(request.policy, request.decisions)[request.currentStep]?.entries ?? [];
  return openOf(
    entries.filter(({ selector }) => matchesSelector(caller, selector, request) && counts(request, caller, selector)),
  );
}

/** Whether an approval by the caller would be taken now (RQ-36), but for what only a move checks: the content, and which of several selectors. */
export const canDecide = (request: StoredRequest, caller: Caller, now: Instant): boolean =>
  selectorsToChoose(request, caller).length > 0 &&
  (request.expiresAt === null || now < request.expiresAt) &&
  notAllowed(request, { caller }) === null;

function approved(request: StoredRequest, { actor, comment }: Approve, decision: Decision, now: Instant): Verdict {
  const steps = stepProgress(request.policy!, [...request.decisions, decision]);
  const currentStep = firstOpenStep(steps);
  const done = currentStep === steps.length;
  const approval = { matched_selector: decision.selector, ...(comment === null ? {} : { approval_comment: comment }) };
  const event = { outcome: 'success', actor, resourceType: 'request', resourceId: request.id, reason: null } as const;
  const stepApproved = {
    ...event,
    type: 'step.approved',
    metadata: { step_number: decision.step + 1, total_steps: steps.length, ...approval },
  } as const;
  const state: Partial<StoredRequest> = done
    ? {
        status: 'approved',
        currentStep,
        approvedAt: now,
        resolvedAt: now,
        dispatchBy: now + request.policy!.approvalTtlSecs * 1000,
      }
    : { currentStep };
  const events = done ? [{ ...event, type: 'request.approved', metadata: approval } as const] : [stepApproved];
  return changed(state, events, { name: 'approval', actor: decision.userId, step: decision.step }, { decision });
}
