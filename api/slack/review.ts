import { shownContext } from '../../domain/request/context.js';
import { selectorsToChoose } from '../../domain/request/judge-approve.js';
import { carriedIn } from '../../domain/slack/carried.js';
import { loadingModal } from '../../domain/slack/modals.js';
import { reviewModal } from '../../domain/slack/review-modal.js';
import { chosenIn, type SubmittedView, typedIn } from '../../domain/slack/submission.js';
import { isBlank } from '../../lib/visible.js';
import { checkedBody } from '../http/checked-body.js';
import { appliedOfRequest } from '../requests/applied.js';
import { approveRequest, rejectRequest } from '../requests/decide.js';
import { approval, rejection } from '../requests/decision-body.js';
import { requestId } from '../requests/request-id.js';
import { visibleRequest } from '../requests/show.js';
import { actingUser } from './acting-user.js';
import type { ActionHandler, SlackCall, SubmissionHandler } from './call.js';
import { onceForView } from './once.js';
import { openAndFill } from './open-modal.js';
import { placeOf, toldOfSubmission } from './told.js';
import { errorOn } from './view-answers.js';

/** `svc_review`: what an approver has to see (SL-20). */
export const review: ActionHandler = async (call, { value, triggerId }) => {
  const { caller } = await actingUser(call);
  const { request, now } = await visibleRequest(caller, call.services, requestId(value));
  const context = shownContext(request, request.collected, request.dryRuns, now);
  const migrations = await appliedOfRequest(call.services, caller, request);
  const modal = reviewModal(request, { context, migrations, selectors: selectorsToChoose(request, caller) });
  await openAndFill(call, triggerId, loadingModal('Review request'), async () => modal);
};

const decisionBlock = 'decision_block';

/** Anything but the two is no decision, least of all a rejection (SL-31). */
const decisions = { approve, reject } as const;
type Decision = keyof typeof decisions;
const isDecision = (text: string | null): text is Decision => text !== null && Object.hasOwn(decisions, text);

/** `svc_review_modal`. */
export const submitReview: SubmissionHandler = {
  firstBlock: decisionBlock,
  async submit(call, view) {
    const decision = chosenIn(view, decisionBlock, 'decision_input');
    if (!isDecision(decision)) return errorOn(decisionBlock, 'Choose to approve or to reject.');
    const comment = typedIn(view, 'comment_block', 'comment_input');
    if (decision === 'reject' && isBlank(comment ?? '')) return errorOn('comment_block', 'A comment is required to reject.');
    try {
      await decisions[decision](call, view, comment);
      return null;
    } catch (error) {
      const block = placeOf(error) === 'body.comment' ? 'comment_block' : decisionBlock;
      return errorOn(block, toldOfSubmission(call, error));
    }
  },
};

/**
 * The digest that the modal states is not sent back with it (SL-32). It needs no comparison here, because a request's text
 * never changes: the judge recomputes the digest of what is stored and compares it with the one that was stored with the request, which a code vouches for
 * (C15, HD-50). So a text other than the one that was shown is refused.
 */
async function approve(call: SlackCall, view: SubmittedView, comment: string | null): Promise<void> {
  const selector = chosenIn(view, 'selector_block', 'selector_input');
  const { id, shownAt } = carriedIn(view.privateMetadata);
  const body = checkedBody(approval, { comment, selector, expected_step: shownAt });
  const who = await actingUser(call);
  const { services, generation } = call;
  await onceForView(services, view.id, () => approveRequest({ ...who, generation, params: { id }, body }, services));
}

async function reject(call: SlackCall, view: SubmittedView, comment: string | null): Promise<void> {
  const { id } = carriedIn(view.privateMetadata);
  const body = checkedBody(rejection, { comment });
  const who = await actingUser(call);
  const { services, generation } = call;
  await onceForView(services, view.id, () => rejectRequest({ ...who, generation, params: { id }, body }, services));
}
