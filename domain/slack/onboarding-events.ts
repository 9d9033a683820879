import { type Actor, type AuditDraft, systemActor } from '../audit/draft.js';
import type { Onboarding } from './onboarding.js';

type Asked = Pick<Onboarding, 'id' | 'slackUserId' | 'roles' | 'groups'>;

/** The actor is not a user yet: the metadata names the Slack user. */
export const onboardingRequested = (actor: Actor, onboarding: Asked): AuditDraft => ({
  ...about('onboarding.requested', 'success', onboarding),
  actor,
  metadata: asked(onboarding),
});

/** With the roles and groups that the reviewer gave. */
export const onboardingApproved = (actor: Actor, onboarding: Asked, userId: string): AuditDraft => ({
  ...about('onboarding.approved', 'success', onboarding),
  actor,
  metadata: { ...asked(onboarding), user_id: userId },
});

export const onboardingRejected = (actor: Actor, onboarding: Asked, comment: string): AuditDraft => ({
  ...about('onboarding.rejected', 'denied', onboarding),
  actor,
  reason: comment,
});

export const onboardingExpired = (onboarding: Asked): AuditDraft => about('onboarding.expired', 'info', onboarding);

const asked = ({ slackUserId, roles, groups }: Asked) => ({ slack_user_id: slackUserId, roles, groups });

const about = (type: AuditDraft['type'], outcome: AuditDraft['outcome'], { id, slackUserId }: Asked): AuditDraft => ({
  type,
  outcome,
  actor: systemActor,
  reason: null,
  metadata: { slack_user_id: slackUserId },
  resourceType: 'onboarding',
  resourceId: id,
});
