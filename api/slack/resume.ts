import { carriedIn } from '../../domain/slack/carried.js';
import { resumeModal } from '../../domain/slack/resume-modal.js';
import { typedIn } from '../../domain/slack/submission.js';
import { checkedBody } from '../http/checked-body.js';
import { checkResume, resumeRequest } from '../requests/decide.js';
import { resumption } from '../requests/decision-body.js';
import { requestId } from '../requests/request-id.js';
import { visibleRequest } from '../requests/show.js';
import { actingUser } from './acting-user.js';
import type { ActionHandler, SubmissionHandler } from './call.js';
import { onceForView } from './once.js';
import { openModal } from './open-modal.js';
import { placeOf, toldOfSubmission } from './told.js';
import { errorOn, errorView } from './view-answers.js';

/** `svc_resume`: asks before anything runs. */
export const resume: ActionHandler = async (call, { value, triggerId }) => {
  const { services, generation, times } = call;
  const who = await actingUser(call);
  const { request } = await visibleRequest(who.caller, services, requestId(value));
  await checkResume({ ...who, generation, params: { id: request.id }, body: { reason: null } }, services, times);
  await openModal(call, triggerId, resumeModal(request));
};

const reasonBlock = 'reason_block';

/** `svc_resume_modal`. Its refusals take the place of the modal (SL-31). */
export const submitResume: SubmissionHandler = {
  firstBlock: reasonBlock,
  async submit(call, view) {
    const { services, generation, times } = call;
    try {
      const { id, shownAt } = carriedIn(view.privateMetadata);
      const body = checkedBody(resumption, { reason: typedIn(view, reasonBlock, 'reason_input'), expected_fence: shownAt });
      const who = await actingUser(call);
      await onceForView(services, view.id, () => resumeRequest({ ...who, generation, params: { id }, body }, services, times));
      return null;
    } catch (error) {
      const told = toldOfSubmission(call, error);
      return placeOf(error) === 'body.reason' ? errorOn(reasonBlock, told) : errorView(told);
    }
  },
};
