import { randomUUID } from 'node:crypto';
import type { Database } from '../../db/client.js';
import { insertOnboarding } from '../../db/slack-onboardings.js';

let made = 0;

/** Stores a pending onboarding of somebody new, which ends in this time. */
export async function storedOnboarding(
  database: Database,
  { inMs = 3_600_000, slackUserId }: { inMs?: number; slackUserId?: string } = {},
): Promise<string> {
  const id = randomUUID();
  made += 1;
  const asked = { roles: ['requester'], groups: [], reason: 'marker-reason' };
  await database.transaction(async (tx) => {
    const by = slackUserId ?? `U${made}NEW`;
    await insertOnboarding(tx, { id, slackUserId: by, displayName: 'Mira', ...asked, ttlHours: 1 });
    await tx.query(
      `update slack_onboardings set expires_at = clock_timestamp() + $2::int * interval '1 millisecond' where id = $1`,
      [id, inMs],
    );
  });
  return id;
}
