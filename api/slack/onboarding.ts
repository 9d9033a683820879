import { randomUUID } from 'node:crypto';
import { insertAuditEvents } from '../../db/audit.js';
import type { Transaction } from '../../db/client.js';
import { expireIfDue } from '../../db/expire-onboarding.js';
import { askForCard } from '../../db/slack-cards.js';
import { findPendingOf, insertOnboarding, type NewOnboarding } from '../../db/slack-onboardings.js';
import { rememberView } from '../../db/slack-signatures.js';
import { findSlackUser } from '../../db/users.js';
import type { Actor } from '../../domain/audit/draft.js';
import { invalid, refusal } from '../../domain/errors.js';
import { isSlackUserId } from '../../domain/slack/mentions.js';
import { displayNameOf, type Offer, offeredToApplicant, outsideOf } from '../../domain/slack/onboarding.js';
import { onboardingRequested } from '../../domain/slack/onboarding-events.js';
import { longestText, onboardingModal } from '../../domain/slack/onboarding-modals.js';
import { allChosenIn, type SubmittedView, typedIn } from '../../domain/slack/submission.js';
import { isBadText } from '../../lib/bad-text.js';
import { isBlank } from '../../lib/visible.js';
import type { CommandHandler, SlackCall, SubmissionHandler } from './call.js';
import { openModal } from './open-modal.js';

/** `/svc join` (SL-40). */
export const join: CommandHandler = async (call, { triggerId }) => {
  requireEnabled(call);
  const { database } = call.services;
  await requireUnlinked(database, call.slackUserId);
  await database.transaction((tx) => requireNonePending(tx, call));
  await openModal(call, triggerId, onboardingModal(offerOf(call)));
  return null;
};

/** The submission `svc_onboarding`: everything is checked again (SL-41), and stored with its event and its card (SL-42). */
export const joinSubmission: SubmissionHandler = {
  firstBlock: 'reason_block',
  async submit(call, view) {
    requireEnabled(call);
    const { errors, asked } = readAsked(view, offerOf(call));
    if (asked === null) return { response_action: 'errors', errors };
    const { slackUserId, slackUserName, services } = call;
    const { channel, onboarding } = services.config().slack;
    const displayName = displayNameOf(slackUserName ?? '', slackUserId);
    const made = { id: randomUUID(), slackUserId, displayName, ...asked, ttlHours: onboarding.requestTtlHours };
    await services.database.transaction(async (tx) => {
      await store(tx, call, made, channel);
      if (!(await rememberView(tx, view.id))) throw refusal('slack.conflict', 'this form was submitted before: open it again');
    });
    return null;
  },
};

async function store(tx: Transaction, call: SlackCall, made: NewOnboarding, channel: string): Promise<void> {
  // First, because it waits for a review in progress, which may link the Slack user.
  await requireNonePending(tx, call);
  await requireUnlinked(tx, made.slackUserId);
  if (!(await insertOnboarding(tx, made))) throw alreadyPending();
  await insertAuditEvents(tx, [onboardingRequested(applicant(call), made)]);
  await askForCard(tx, { onboardingId: made.id, channel });
}

/** The applicant is not a user yet: the event names the Slack user (AU-20). */
const applicant = ({ address }: SlackCall): Actor => ({
  id: 'anonymous',
  type: 'user',
  tokenId: null,
  ...address,
  channel: 'slack',
});

const offerOf = ({ services }: SlackCall): Offer => offeredToApplicant(services.config().slack.onboarding);

function requireEnabled({ services, slackUserId }: SlackCall): void {
  if (!services.config().slack.onboarding.enabled)
    throw refusal('auth.forbidden', 'requests for access from Slack are switched off: ask an administrator for an account');
  if (!isSlackUserId(slackUserId)) throw invalid('this is not the id of a Slack user');
}

const linked = {
  active: 'your Slack account is linked to a user already: /svc help says what you can do',
  suspended: 'your Slack account is linked to a user who is suspended: ask an administrator to activate it',
  deleted: 'your Slack account was linked to a user who is deleted: ask an administrator for an account',
} as const;

async function requireUnlinked(db: Parameters<typeof findSlackUser>[0], slackUserId: string): Promise<void> {
  const user = await findSlackUser(db, slackUserId);
  if (user !== undefined) throw refusal('slack.conflict', linked[user.status]);
}

const alreadyPending = () => refusal('slack.conflict', 'a request of yours waits for a review already');

/** One that is overdue, because its clock is late, is no obstacle. */
async function requireNonePending(tx: Transaction, { slackUserId }: SlackCall): Promise<void> {
  const id = await findPendingOf(tx, slackUserId);
  const found = id === null ? null : await expireIfDue(tx, id, { tellsApplicant: true });
  if (found?.status === 'pending') throw alreadyPending();
}

type Asked = Pick<NewOnboarding, 'roles' | 'groups' | 'reason'>;

/** What was asked for, or on which blocks there are errors. */
function readAsked(view: SubmittedView, offer: Offer): { errors: Record<string, string>; asked: Asked | null } {
  const errors: Record<string, string> = {};
  const chosen = (name: 'roles' | 'groups'): string[] => {
    const names = [...new Set(allChosenIn(view, `${name}_block`, `${name}_select`) ?? [''])];
    if (outsideOf(offer[name], names) !== undefined) errors[`${name}_block`] = `Choose only ${name} that are offered.`;
    return names;
  };
  const asked = { roles: chosen('roles'), groups: chosen('groups'), reason: typedIn(view, 'reason_block', 'reason_input') ?? '' };
  const problem = problemOf(asked.reason);
  if (problem !== null) errors.reason_block = problem;
  else if (isBlank(asked.reason)) errors.reason_block = 'A reason is required.';
  return { errors, asked: Object.keys(errors).length === 0 ? asked : null };
}

/** Why a text cannot be stored; null if it can. */
export function problemOf(text: string): string | null {
  if (Array.from(text).length > longestText) return `Write at most ${longestText} characters.`;
  return isBadText(text) ? 'The text holds characters that cannot be stored.' : null;
}
