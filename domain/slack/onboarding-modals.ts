import { isBlank } from '../../lib/visible.js';
import { type InputBlock, type Modal, type ModalBlock, markup, plain } from './blocks.js';
import { decisionInput, mostOptions, note, option, textInput } from './modals.js';
import type { Offer, Onboarding } from './onboarding.js';
import { applicantOf, named } from './onboarding-card.js';
import { codeBlock, codeSpan } from './text.js';

const nameLimit = 128;
const shownReason = 500;
/** Characters that an applicant or a reviewer may write. */
export const longestText = 1000;

/** The form of somebody who asks for an account (SL-40, SL-41). */
export function onboardingModal(offer: Offer): Modal {
  return {
    type: 'modal',
    callback_id: 'svc_onboarding',
    title: plain('Request access'),
    submit: plain('Send'),
    close: plain('Cancel'),
    blocks: [
      ...menus(offer, { roles: [], groups: [] }),
      textInput('reason', 'Reason', { optional: false, maxLength: longestText }),
    ],
  };
}

/** The form of a reviewer, with what was asked for chosen as far as it is still offered (SL-43). */
export function onboardingReviewModal(onboarding: Onboarding, offer: Offer, userId: string): Modal {
  return {
    type: 'modal',
    callback_id: 'svc_onboarding_review_submit',
    private_metadata: onboarding.id,
    title: plain('Review access request'),
    submit: plain('Submit'),
    close: plain('Cancel'),
    blocks: [...facts(onboarding, offer, userId), decisionInput, ...menus(offer, onboarding), comment],
  };
}

function facts(onboarding: Onboarding, offer: Offer, userId: string): ModalBlock[] {
  const { reason, roles, groups } = onboarding;
  const fields = [`*Applicant:*\n${applicantOf(onboarding)}`, `*User ID:*\n${codeSpan(userId, nameLimit)}`];
  const blocks: ModalBlock[] = [{ type: 'section', fields: fields.map(markup) }];
  if (!isBlank(reason)) blocks.push({ type: 'section', text: markup(`*Reason:*\n${codeBlock(reason, shownReason)}`) });
  const gone = [...roles.filter((name) => !offer.roles.includes(name)), ...groups.filter((name) => !offer.groups.includes(name))];
  if (gone.length > 0) blocks.push({ type: 'context', elements: [markup(`Asked for, and no longer offered: ${named(gone)}`)] });
  return blocks;
}

const comment: InputBlock = {
  ...textInput('comment', 'Comment', { optional: true, maxLength: longestText }),
  hint: plain('Required to reject. The applicant reads it.'),
};

/** A menu of Slack cannot be empty, so one without names is left out. */
const menus = (offer: Offer, chosen: Offer): ModalBlock[] => [
  ...menu({ name: 'roles', label: 'Roles' }, offer.roles, chosen.roles),
  ...menu({ name: 'groups', label: 'Groups' }, offer.groups, chosen.groups),
];

/** The chosen ones come first, so that they are among those that have room. */
function menu(
  { name, label }: { name: string; label: string },
  offered: readonly string[],
  asked: readonly string[],
): ModalBlock[] {
  if (offered.length === 0) return [];
  const chosen = asked.filter((one) => offered.includes(one)).slice(0, mostOptions);
  const names = [...chosen, ...offered.filter((one) => !chosen.includes(one))].slice(0, mostOptions);
  const initial = chosen.length === 0 ? {} : { initial_options: chosen.map(optionOf) };
  const input: InputBlock = {
    type: 'input',
    block_id: `${name}_block`,
    label: plain(label),
    optional: true,
    element: { type: 'multi_static_select', action_id: `${name}_select`, options: names.map(optionOf), ...initial },
  };
  const rest = offered.length - names.length;
  return rest > 0 ? [input, note(`${label}: the first ${mostOptions} of ${offered.length} are shown.`)] : [input];
}

const optionOf = (name: string) => option(name, name);
