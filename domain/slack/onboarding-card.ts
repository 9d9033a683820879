import { isBlank } from '../../lib/visible.js';
import { type Markup, type MessageBlock, markup, plain, type SlackMessage } from './blocks.js';
import type { Onboarding, OnboardingStatus } from './onboarding.js';
import { codeBlock, codeSpan, plainLine } from './text.js';

const titles = {
  pending: '🙋 Access Request',
  approved: '✅ Access Approved',
  rejected: '❌ Access Rejected',
  expired: '⏰ Access Request Expired',
} as const satisfies Record<OnboardingStatus, string>;

// Below Slack's 2000 characters of a field and 3000 of a section, also when every character is escaped to five.
const nameLimit = 128;
const listedLimit = 64;
const maxListed = 5;
const reasonLimit = 100;
const commentLimit = 500;

/** What is posted: in the channel the card, to the applicant how it ended. A direct message is a card whose channel is the Slack user. */
export const onboardingMessage = (onboarding: Onboarding, channel: string): SlackMessage =>
  channel === onboarding.slackUserId ? outcomeMessage(onboarding) : onboardingCard(onboarding);

/** The card of an onboarding in the channel, by its status (SL-42, SL-45). */
export function onboardingCard(onboarding: Onboarding): SlackMessage {
  const { status, displayName } = onboarding;
  const title = titles[status];
  const blocks: MessageBlock[] = [
    { type: 'header', text: plain(title) },
    { type: 'section', fields: fieldsOf(onboarding) },
  ];
  const line = contextOf(onboarding);
  if (line !== null) blocks.push({ type: 'context', elements: [markup(line)] });
  if (status === 'pending') {
    const review = { action_id: 'svc_onboarding_review', text: plain('Review'), value: onboarding.id, style: 'primary' as const };
    blocks.push({ type: 'actions', elements: [{ type: 'button', ...review }] });
  }
  return { text: `${title} — ${plainLine(displayName, nameLimit)}`, blocks };
}

/** Who asks: the account in Slack, and its name there, which its owner chooses. */
export const applicantOf = ({ slackUserId, displayName }: Pick<Onboarding, 'slackUserId' | 'displayName'>): string =>
  `<@${slackUserId}> (${plainLine(displayName, nameLimit)})`;

function fieldsOf(onboarding: Onboarding): Markup[] {
  const { id, roles, groups, reason } = onboarding;
  const fields = [
    `*Applicant:*\n${applicantOf(onboarding)}`,
    `*Roles:*\n${named(roles)}`,
    `*Groups:*\n${named(groups)}`,
    `*Onboarding ID:*\n${codeSpan(id.slice(0, 12), nameLimit)}`,
  ];
  if (!isBlank(reason)) fields.push(`*Reason:*\n${codeSpan(reason, reasonLimit)}`);
  return fields.map(markup);
}

/** Names as code, with the number of those that are left out. */
export function named(names: readonly string[]): string {
  if (names.length === 0) return '—';
  const shown = names.slice(0, maxListed).map((name) => codeSpan(name, listedLimit));
  const more = names.length - shown.length;
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ');
}

function contextOf({ status, decidedBy, userId }: Onboarding): string | null {
  const by = `by ${codeSpan(decidedBy ?? '', nameLimit)}`;
  if (status === 'approved') return `Approved ${by} • User: ${codeSpan(userId ?? '', nameLimit)}`;
  return status === 'rejected' ? `Rejected ${by}` : null;
}

/** What the applicant is told of the end. An approval is told with the token, by a message of its own (SL-46). */
function outcomeMessage({ status, comment }: Onboarding): SlackMessage {
  const text = outcomes[status];
  const blocks: MessageBlock[] = [{ type: 'section', text: markup(text) }];
  if (status === 'rejected' && comment !== null && !isBlank(comment))
    blocks.push({ type: 'section', text: markup(codeBlock(comment, commentLimit)) });
  return { text, blocks };
}

const outcomes = {
  pending: 'Your request for access waits for a review.',
  approved: 'Your request for access was approved.',
  rejected: 'Your request for access was rejected.',
  expired: 'Your request for access expired before anybody decided. Ask again with `/svc join`.',
} as const satisfies Record<OnboardingStatus, string>;
