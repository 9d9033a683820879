import { type GatewayError, refusal } from '../errors.js';
import { longestValue } from './modals.js';

export type OnboardingStatus = 'pending' | 'approved' | 'rejected' | 'expired';

/** The request of somebody in Slack for an account (SL-42). Instants are in milliseconds. */
export interface Onboarding {
  id: string;
  slackUserId: string;
  displayName: string;
  roles: string[];
  groups: string[];
  reason: string;
  status: OnboardingStatus;
  createdAt: number;
  expiresAt: number;
  decidedBy: string | null;
  comment: string | null;
  /** The user that the approval made. */
  userId: string | null;
}

/** `[slack.onboarding]`. Restricted roles are among the assignable ones. */
export interface OnboardingRules {
  assignableRoles: readonly string[];
  restrictedRoles: readonly string[];
  assignableGroups: readonly string[];
}

export interface Offer {
  roles: readonly string[];
  groups: readonly string[];
}

/** Characters; Slack itself takes 80. */
const longestName = 200;

/** Only names of groups can be longer. */
const fits = (name: string) => name.length <= longestValue;

/** What an applicant may ask for (SL-41). */
export const offeredToApplicant = ({ assignableRoles, restrictedRoles, assignableGroups }: OnboardingRules): Offer => ({
  roles: assignableRoles.filter((role) => !restrictedRoles.includes(role)),
  groups: assignableGroups.filter(fits),
});

/** What a reviewer may give, restricted roles included (SL-43). */
export const offeredToReviewer = ({ assignableRoles, assignableGroups }: OnboardingRules): Offer => ({
  roles: assignableRoles,
  groups: assignableGroups.filter(fits),
});

/** The first name that is not offered; undefined if all are. */
export const outsideOf = (offered: readonly string[], chosen: readonly string[]): string | undefined =>
  chosen.find((name) => !offered.includes(name));

/** The name in Slack as it is stored; the id where nothing of it is left. */
export function displayNameOf(name: string, slackUserId: string): string {
  const kept = Array.from(name.replace(/[\p{Cc}\p{Cs}]/gu, ' '));
  return kept.slice(0, longestName).join('').trim() || slackUserId;
}

/** SL-44. It fits IM-60 whatever the name holds. */
export function userIdOf({ displayName, slackUserId }: Pick<Onboarding, 'displayName' | 'slackUserId'>): string {
  const joined = displayName
    .replace(/[^A-Za-z0-9\-_@.]/g, '-')
    .toLowerCase()
    .replace(/-+/g, '-');
  const id = joined.replace(/^-/, '').slice(0, 128).replace(/-$/, '');
  return id === '' ? `slack-${slackUserId}` : id;
}

type Judged = Pick<Onboarding, 'status' | 'expiresAt'>;

const isDue = ({ expiresAt }: Judged, now: number) => now >= expiresAt;

/** Why the onboarding cannot be reviewed; null if it can (SL-43). */
export function reviewRefusal(onboarding: Judged, now: number): GatewayError | null {
  if (onboarding.status === 'expired' || (onboarding.status === 'pending' && isDue(onboarding, now)))
    return refusal('slack.gone', 'the request has expired');
  return onboarding.status === 'pending' ? null : refusal('slack.conflict', 'already decided');
}

/** Whether the clock ends it now (SL-45). */
export const expiresNow = (onboarding: Judged, now: number): boolean => onboarding.status === 'pending' && isDue(onboarding, now);
