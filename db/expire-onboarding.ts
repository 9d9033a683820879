import type { Onboarding } from '../domain/slack/onboarding.js';
import { expiresNow } from '../domain/slack/onboarding.js';
import { onboardingExpired } from '../domain/slack/onboarding-events.js';
import { insertAuditEvents } from './audit.js';
import type { Transaction } from './client.js';
import { askForCard, rebuildCards } from './slack-cards.js';
import { endOnboarding, lockOnboarding } from './slack-onboardings.js';

interface Looked extends Pick<Onboarding, 'status' | 'expiresAt'> {
  now: number;
}

/** Expires an onboarding if its time is over by the database's clock (SL-45), with its event, its card and the message to the applicant. Null if it is not stored. */
export async function expireIfDue(tx: Transaction, id: string, how: { tellsApplicant: boolean }): Promise<Looked | null> {
  const found = await lockOnboarding(tx, id);
  if (found === null) return null;
  const { onboarding, now } = found;
  const { slackUserId, status, expiresAt } = onboarding;
  if (!expiresNow(onboarding, now)) return { status, expiresAt, now };
  await endOnboarding(tx, id, { status: 'expired' });
  await insertAuditEvents(tx, [onboardingExpired(onboarding)]);
  await rebuildCards(tx, id);
  if (how.tellsApplicant) await askForCard(tx, { onboardingId: id, channel: slackUserId });
  return { status: 'expired', expiresAt, now };
}
