import { insertAuditEvents } from '../../db/audit.js';
import type { Transaction } from '../../db/client.js';
import { askForCard, rebuildCards } from '../../db/slack-cards.js';
import { endOnboarding, findOnboarding, lockOnboarding } from '../../db/slack-onboardings.js';
import { keepStanding } from '../../db/standing.js';
import { refusal } from '../../domain/errors.js';
import { lacking } from '../../domain/lacking.js';
import { can } from '../../domain/permissions.js';
import {
  type Offer,
  type Onboarding,
  offeredToReviewer,
  outsideOf,
  reviewRefusal,
  userIdOf,
} from '../../domain/slack/onboarding.js';
import { onboardingApproved, onboardingRejected } from '../../domain/slack/onboarding-events.js';
import { onboardingReviewModal } from '../../domain/slack/onboarding-modals.js';
import { allChosenIn, chosenIn, type SubmittedView, typedIn } from '../../domain/slack/submission.js';
import { isUuid } from '../../lib/uuid.js';
import { isBlank } from '../../lib/visible.js';
import { linkError, type PlannedUser, plannedUser, writeUser } from '../identity/users.js';
import { type ActingUser, actingUser } from './acting-user.js';
import type { ActionHandler, SlackCall, SubmissionHandler } from './call.js';
import { deliverInitialToken } from './initial-token.js';
import { problemOf } from './onboarding.js';
import { openModal } from './open-modal.js';
import { errorOn } from './view-answers.js';

/** The button of an onboarding's card (SL-43). */
export const reviewOnboarding: ActionHandler = async (call, { value, triggerId }) => {
  await reviewer(call);
  const found = isUuid(value) ? await findOnboarding(call.services.database, value) : null;
  const onboarding = reviewable(found);
  await openModal(call, triggerId, onboardingReviewModal(onboarding, offerOf(call), userIdOf(onboarding)));
};

/** The submission `svc_onboarding_review_submit` (SL-44, SL-45). */
export const onboardingReviewSubmission: SubmissionHandler = {
  firstBlock: 'decision_block',
  async submit(call, view) {
    const who = await reviewer(call);
    const { privateMetadata: id } = view;
    const decision = chosenIn(view, 'decision_block', 'decision_input');
    const comment = typedIn(view, 'comment_block', 'comment_input') ?? '';
    const problem = problemOf(comment);
    if (problem !== null) return errorOn('comment_block', problem);
    if (decision === 'reject') {
      if (isBlank(comment)) return errorOn('comment_block', 'A comment is required to reject.');
      await call.services.database.transaction((tx) => reject(tx, who, id, comment));
      return null;
    }
    if (decision !== 'approve') return errorOn('decision_block', 'Choose approve or reject.');
    const given = readGiven(view, offerOf(call));
    const approved = await approve(call, who, { id, given, comment: isBlank(comment) ? null : comment });
    // Slack waits no longer than 3 s for the answer, which says that the user is made. The token follows (SL-46).
    deliverInitialToken(call, who.actor, approved);
    return null;
  },
};

/** The acting user, who may make users. */
async function reviewer(call: SlackCall): Promise<ActingUser> {
  const who = await actingUser(call);
  if (!can(who.caller, 'user.write', 'everywhere')) throw lacking(['user.write']);
  return who;
}

const offerOf = ({ services }: SlackCall): Offer => offeredToReviewer(services.config().slack.onboarding);

function reviewable(found: { onboarding: Onboarding; now: number } | null): Onboarding {
  if (found === null) throw refusal('slack.not_found', 'there is no such request for access');
  const refused = reviewRefusal(found.onboarding, found.now);
  if (refused !== null) throw refused;
  return found.onboarding;
}

function readGiven(view: SubmittedView, offer: Offer): Offer {
  const chosen = (name: 'roles' | 'groups'): string[] => {
    const names = allChosenIn(view, `${name}_block`, `${name}_select`) ?? [''];
    const outside = outsideOf(offer[name], names);
    if (outside !== undefined) throw refusal('validation.failed', `not among the ${name} that are offered: ${outside}`);
    return names;
  };
  return { roles: chosen('roles'), groups: chosen('groups') };
}

/** Locks the onboarding, waiting for other reviews of it: one takes effect, and the others see that (SL-45). */
const claimed = async (tx: Transaction, id: string): Promise<Onboarding> =>
  reviewable(isUuid(id) ? await lockOnboarding(tx, id) : null);

async function reject(tx: Transaction, who: ActingUser, id: string, comment: string): Promise<void> {
  await keepStanding(tx, who.actor);
  const onboarding = await claimed(tx, id);
  await endOnboarding(tx, id, { status: 'rejected', by: who.caller.id, comment });
  await insertAuditEvents(tx, [onboardingRejected(who.actor, onboarding, comment)]);
  await rebuildCards(tx, id);
  await askForCard(tx, { onboardingId: id, channel: onboarding.slackUserId });
}

interface Approved {
  onboarding: Onboarding;
  user: PlannedUser;
}

/** Claim and user commit together or not at all (SL-44). */
async function approve(
  call: SlackCall,
  who: ActingUser,
  { id, given, comment }: { id: string; given: Offer; comment: string | null },
): Promise<Approved> {
  const { services, generation } = call;
  const acting = { ...who, generation };
  try {
    return await services.database.transaction(async (tx) => {
      await keepStanding(tx, who.actor);
      const onboarding = await claimed(tx, id);
      const { slackUserId } = onboarding;
      const userId = userIdOf(onboarding);
      const user = plannedUser(acting, {
        id: userId,
        roles: [...given.roles],
        groups: [...given.groups],
        source: 'slack',
        slackUserId,
      });
      await endOnboarding(tx, id, { status: 'approved', by: who.caller.id, comment, userId });
      await writeUser(tx, acting, user, services.config());
      const { roles, groups } = user;
      await insertAuditEvents(tx, [onboardingApproved(who.actor, { ...onboarding, roles, groups }, userId)]);
      await rebuildCards(tx, id);
      return { onboarding, user };
    });
  } catch (error) {
    throw linkError(error);
  }
}
