import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import { expireIfDue } from '../../db/expire-onboarding.js';
import { askForCard, findCardChannel } from '../../db/slack-cards.js';
import { endOnboarding, findOnboarding, insertOnboarding, lockOnboarding, purgeOnboardings } from '../../db/slack-onboardings.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';
import { storedOnboarding } from '../support/stored-onboarding.js';

let stored: TestDatabase;
let database: Database;
beforeAll(async () => {
  stored = await createTestDatabase();
  database = openTestDatabase(stored.url);
});
afterAll(async () => {
  await database.close();
  await stored.drop();
});

const reject = (id: string) =>
  database.transaction((tx) => endOnboarding(tx, id, { status: 'rejected', by: 'otto', comment: 'no' }));
const ids = async () =>
  (await database.query<{ id: string }>('select id from slack_onboardings order by created_at')).map(({ id }) => id);

it('holds one pending onboarding per Slack user, and any number of ended ones (SL-42)', async () => {
  const asked = { displayName: 'Mira', roles: [], groups: [], reason: 'x', ttlHours: 72 };
  const insert = (id = randomUUID()) => database.transaction((tx) => insertOnboarding(tx, { id, slackUserId: 'U1', ...asked }));
  expect(await Promise.all(Array.from({ length: 8 }, () => insert()))).toEqual(
    expect.arrayContaining([true, ...Array(7).fill(false)]),
  );
  const [first] = (await database.query<{ id: string }>(`select id from slack_onboardings where slack_user_id = 'U1'`)).map(
    ({ id }) => id,
  );
  await reject(first!);
  expect(await insert()).toBe(true);
  expect(await insert()).toBe(false);
});

it('an expiry and a review that waits for it see one another: the later one changes nothing (SL-45)', async () => {
  const id = await storedOnboarding(database, { inMs: 0 });
  const seen: string[] = [];
  await Promise.all(
    Array.from({ length: 8 }, async (_, at) => {
      if (at % 2 === 0) seen.push((await database.transaction((tx) => expireIfDue(tx, id, { tellsApplicant: true })))!.status);
      else seen.push((await database.transaction((tx) => lockOnboarding(tx, id)))!.onboarding.status);
    }),
  );
  expect(seen.filter((status) => status !== 'pending' && status !== 'expired')).toEqual([]);
  const events = await database.query(`select 1 from audit_events where resource_id = $1`, [id]);
  expect(events).toHaveLength(1);
  expect(await findOnboarding(database, randomUUID())).toBeNull();
});

it('deletes what ended long enough ago, with its cards, and nothing that is pending (section 9 of the operations rules)', async () => {
  await database.query('delete from slack_onboardings');
  const [open, recent, old, older] = [
    await storedOnboarding(database),
    await storedOnboarding(database),
    await storedOnboarding(database),
    await storedOnboarding(database),
  ];
  for (const id of [recent, old, older]) await reject(id);
  await database.transaction((tx) => askForCard(tx, { onboardingId: old, channel: '#db' }));
  const age = (id: string, days: number) =>
    database.query(`update slack_onboardings set decided_at = clock_timestamp() - $2::int * interval '1 day' where id = $1`, [
      id,
      days,
    ]);
  await age(recent, 89);
  await age(old, 90);
  await age(older, 91);
  await database.query(`update slack_onboardings set created_at = clock_timestamp() - interval '1 year' where id = $1`, [open]);
  expect(await purgeOnboardings(database, 90, 1)).toBe(1);
  expect(await ids()).toEqual([open, recent, old]);
  expect(await purgeOnboardings(database, 90, 5)).toBe(1);
  expect(await ids()).toEqual([open, recent]);
  expect(await database.query('select 1 from slack_cards')).toEqual([]);
});

it('finds the channel of the card, by the id that Slack gave once it was posted, and no direct message (SL-46)', async () => {
  const id = await storedOnboarding(database, { slackUserId: 'UDIRECT' });
  const channel = () => findCardChannel(database, id, 'UDIRECT');
  await database.transaction((tx) => askForCard(tx, { onboardingId: id, channel: 'UDIRECT' }));
  expect(await channel()).toBeNull();
  await database.transaction((tx) => askForCard(tx, { onboardingId: id, channel: '#db' }));
  expect(await channel()).toBe('#db');
  await database.query(`update slack_cards set channel_id = 'C07', ts = '1.2' where channel = '#db'`);
  expect(await channel()).toBe('C07');
});
