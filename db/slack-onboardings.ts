import type { Onboarding } from '../domain/slack/onboarding.js';
import type { Queryable, Transaction } from './client.js';
import { databaseNow } from './clock.js';
import { topic } from './notifications.js';

const columns = `id, slack_user_id as "slackUserId", display_name as "displayName", roles, groups, reason, status,
  created_at as "createdAt", expires_at as "expiresAt", decided_by as "decidedBy", comment, user_id as "userId"`;

export interface NewOnboarding extends Pick<Onboarding, 'id' | 'slackUserId' | 'displayName' | 'roles' | 'groups' | 'reason'> {
  ttlHours: number;
}

/** False if the Slack user has a pending one (SL-42). */
export async function insertOnboarding(tx: Transaction, onboarding: NewOnboarding): Promise<boolean> {
  const { id, slackUserId, displayName, roles, groups, reason, ttlHours } = onboarding;
  const rows = await tx.query(
    `insert into slack_onboardings (id, slack_user_id, display_name, roles, groups, reason, expires_at)
     values ($1, $2, $3, $4, $5, $6, clock_timestamp() + $7::int * interval '1 hour')
     on conflict (slack_user_id) where status = 'pending' do nothing returning 1 as one`,
    [id, slackUserId, displayName, roles, groups, reason, ttlHours],
  );
  if (rows.length > 0) tx.wake(topic.onboardings);
  return rows.length > 0;
}

export interface FoundOnboarding {
  onboarding: Onboarding;
  now: number;
}

/** With the instant of the database. */
export async function findOnboarding(db: Queryable, id: string): Promise<FoundOnboarding | null> {
  const [row] = await db.query<Onboarding>(`select ${columns} from slack_onboardings where id = $1`, [id]);
  return row === undefined ? null : { onboarding: row, now: await databaseNow(db) };
}

/** The same under a lock, until the transaction ends. The instant is read once the lock was got, so no wait lets an overdue decision through. */
export async function lockOnboarding(tx: Transaction, id: string): Promise<FoundOnboarding | null> {
  await tx.query('select 1 as one from slack_onboardings where id = $1 for update', [id]);
  return findOnboarding(tx, id);
}

export async function findPendingOf(db: Queryable, slackUserId: string): Promise<string | null> {
  const [row] = await db.query<{ id: string }>(
    `select id from slack_onboardings where slack_user_id = $1 and status = 'pending'`,
    [slackUserId],
  );
  return row?.id ?? null;
}

export type OnboardingEnd =
  | { status: 'approved'; by: string; comment: string | null; userId: string }
  | { status: 'rejected'; by: string; comment: string }
  | { status: 'expired' };

/** Ends a locked onboarding that is pending. Its workflow is told. */
export async function endOnboarding(tx: Transaction, id: string, end: OnboardingEnd): Promise<void> {
  const { by, comment } = end.status === 'expired' ? { by: null, comment: null } : end;
  await tx.query(
    `update slack_onboardings set status = $2, decided_at = clock_timestamp(), decided_by = $3, comment = $4, user_id = $5,
       told = false, taken_until = null where id = $1`,
    [id, end.status, by, comment, end.status === 'approved' ? end.userId : null],
  );
  tx.wake(topic.onboardings);
}

/** Deletes onboardings that ended long enough ago, with their cards. Returns how many. */
export async function purgeOnboardings(db: Queryable, days: number, limit: number): Promise<number> {
  const gone = await db.query(
    `delete from slack_onboardings where id in (
       select id from slack_onboardings where decided_at <= clock_timestamp() - $1::int * interval '1 day' order by decided_at limit $2
     ) returning 1 as one`,
    [days, limit],
  );
  return gone.length;
}
