import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import { creationInstant, insertAtOnce, insertRequest } from '../../db/creation.js';
import { moveAtOnce } from '../../db/move-at-once.js';
import { moveAllOf } from '../../db/move-many.js';
import { purgeRequests } from '../../db/purge.js';
import { untoldCards } from '../../db/slack-card-starts.js';
import { askForCard, rebuildCards } from '../../db/slack-cards.js';
import type { NotificationPolicy, SharedConfig } from '../../domain/policies.js';
import { judge } from '../../domain/request/judge.js';
import { outgoingBy } from '../../runtime/outgoing.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';
import { approve, by, creationOf, facts, reject, storeRequest } from '../support/requests.js';

let stored: TestDatabase;
let database: Database;
let policies: NotificationPolicy[];
let secret: string;

beforeAll(async () => {
  stored = await createTestDatabase();
  const shared = () => ({ webhooks: [], notificationPolicies: policies }) as unknown as SharedConfig;
  const own = () => ({ server: { publicUrl: null }, slack: { botToken: 'xoxb-1', signingSecret: secret, channel: '#db' } });
  database = openTestDatabase(stored.url, 4, outgoingBy(shared, own));
  await database.query(`insert into users (id, source) values ('alice', 'api'), ('bob', 'api')`);
});
beforeEach(() => {
  policies = [];
  secret = 'signs';
});
afterAll(async () => {
  await database?.close();
  await stored?.drop();
});

const policy = (slackChannels: string[] | null, events: string[] = []): NotificationPolicy => ({
  id: 'np:*:*',
  database: '*',
  environment: '*',
  webhooks: [],
  events,
  slackChannels,
});

interface CardRow {
  channel: string;
  wanted: number;
  told: boolean;
  yields: boolean;
  events: string[];
}

const cardsOf = (requestId: string) =>
  database.query<CardRow>(
    `select channel, wanted, told, yields, array(select facts->>'event' from slack_lines where card_id = c.id order by id) as events
     from slack_cards c where request_id = $1 order by channel`,
    [requestId],
  );

const card = (channel: string, wanted: number, events: string[], more: Partial<CardRow> = {}): CardRow => ({
  channel,
  wanted,
  told: false,
  yields: false,
  events,
  ...more,
});

describe('cards are stored with the change', () => {
  it('a creation asks for one in the default channel, a later event for a line (SL-50, SL-51, SL-52)', async () => {
    const id = await storeRequest(database);
    expect(await cardsOf(id)).toEqual([card('#db', 1, [])]);
    await approve(database, id);
    expect(await cardsOf(id)).toEqual([card('#db', 2, ['request.approved'])]);
  });

  it('also where one statement writes a creation and a move (SL-60)', async () => {
    const creation = creationOf({});
    expect(await insertAtOnce(database, creation, await creationInstant(database))).toBeDefined();
    const approval = { ...by('bob'), kind: 'approve' as const, selector: null, comment: null, ...facts };
    await moveAtOnce(database, creation.id, (request, now) => judge(request, approval, now));
    expect(await cardsOf(creation.id)).toEqual([card('#db', 2, ['request.approved'])]);
  });

  it('a creation that is dispatched has a card and a line for the dispatch (NT-2)', async () => {
    const id = await storeRequest(database, { dispatched: true });
    expect(await cardsOf(id)).toEqual([card('#db', 1, ['request.dispatched'])]);
  });

  it('a policy names the channels, each once, or none (NT-11, NT-12)', async () => {
    policies = [policy(['#a', 'C01', '#a'])];
    expect(await cardsOf(await storeRequest(database))).toEqual([card('#a', 1, []), card('C01', 1, [])]);
    policies = [policy([])];
    expect(await cardsOf(await storeRequest(database))).toEqual([]);
    policies = [policy(null)];
    expect(await cardsOf(await storeRequest(database))).toEqual([card('#db', 1, [])]);
  });

  it('a channel that is not told of an event has its card built again, without a line (SL-I3)', async () => {
    policies = [policy(['#a'], ['request.created'])];
    const id = await storeRequest(database);
    await reject(database, id);
    expect(await cardsOf(id)).toEqual([card('#a', 2, [])]);
    policies = [policy(['#a'], ['request.rejected'])];
    const later = await storeRequest(database);
    expect(await cardsOf(later)).toEqual([]);
    await reject(database, later);
    expect(await cardsOf(later)).toEqual([card('#a', 1, ['request.rejected'])]);
  });

  it('none without both secrets (SL-1)', async () => {
    secret = ' ';
    expect(await cardsOf(await storeRequest(database))).toEqual([]);
  });

  it('none for a change that is rolled back, or that a statement did not write (NT-I1)', async () => {
    const creation = creationOf({});
    await expect(
      database.transaction(async (tx) => {
        await insertRequest(tx, creation, await creationInstant(tx));
        throw new Error('changed its mind');
      }),
    ).rejects.toThrow('changed its mind');
    const tooOld = creationOf({});
    expect(await insertAtOnce(database, tooOld, (await creationInstant(database)) - 10_000)).toBeUndefined();
    for (const { id } of [creation, tooOld]) expect(await cardsOf(id)).toEqual([]);
  });

  it('those of a suspension yield, unless other news waits already (OP-72)', async () => {
    const told = await storeRequest(database);
    const untold = await storeRequest(database);
    await database.query('update slack_cards set told = true where request_id = $1', [told]);
    await database.transaction((tx) =>
      moveAllOf(tx, 'alice', (request, now) => judge(request, { ...by('alice'), kind: 'cancel', reason: null }, now)),
    );
    expect(await cardsOf(told)).toEqual([card('#db', 2, ['request.cancelled'], { yields: true })]);
    expect(await cardsOf(untold)).toEqual([card('#db', 2, ['request.cancelled'])]);
  });
});

describe('a line', () => {
  it('keeps what it will say, and neither SQL nor a text of the request (SL-I5)', async () => {
    const id = await storeRequest(database);
    await reject(database, id);
    const [line] = await database.query<{ facts: Record<string, unknown> }>(
      'select facts from slack_lines join slack_cards c on c.id = card_id where request_id = $1',
      [id],
    );
    expect(line?.facts).toMatchObject({ event: 'request.rejected', actor: 'bob', detail: null, asked: [expect.any(String)] });
    expect(JSON.stringify(line)).not.toContain('marker-detail');
  });
});

describe('what Temporal is told of cards', () => {
  const untold = async (requestId: string) => (await untoldCards.take(database, 1000)).filter(({ about }) => about === requestId);

  it('is taken by one worker, and again once it was given back (SL-60)', async () => {
    const id = await storeRequest(database);
    const [taken] = await untold(id);
    expect(taken).toMatchObject({ about: id, channel: '#db' });
    expect(await untold(id)).toEqual([]);
    await untoldCards.giveBack(database, [taken!.id], 0);
    expect(await untold(id)).toHaveLength(1);
  });

  it('is not forgotten for a change that comes while it is told (SL-60)', async () => {
    const id = await storeRequest(database);
    const taken = await untold(id);
    await approve(database, id);
    await untoldCards.markTold(database, taken);
    const again = await untold(id);
    expect(again).toHaveLength(1);
    await untoldCards.markTold(database, again);
    expect(await cardsOf(id)).toMatchObject([{ told: true }]);
    expect(await untold(id)).toEqual([]);
  });

  it('is not told again of a change that has just come to a card of long ago, but of one that waits for long (SL-60)', async () => {
    const id = await storeRequest(database);
    const told = (more: string) => database.query(`update slack_cards set told = true, ${more} where request_id = $1`, [id]);
    const retold = () => database.transaction((tx) => untoldCards.retell(tx, 600_000, 1000));
    const old = `next_attempt_at = clock_timestamp() - interval '1 hour'`;
    await told(`shown = wanted, ${old}`);
    await approve(database, id);
    await told('yields = false');
    expect([await retold(), await cardsOf(id)]).toMatchObject([0, [{ told: true }]]);
    await told(old);
    expect([await retold(), await cardsOf(id)]).toMatchObject([1, [{ told: false }]]);
  });

  it('waits for as long as the last failure wants, whatever comes meanwhile (SL-61)', async () => {
    const id = await storeRequest(database);
    const later = new Date(Date.now() + 3_600_000);
    await database.query('update slack_cards set next_attempt_at = $2 where request_id = $1', [id, later]);
    await approve(database, id);
    const [row] = await database.query<{ at: number }>(
      'select (extract(epoch from next_attempt_at) * 1000)::bigint as at from slack_cards where request_id = $1',
      [id],
    );
    expect(row?.at).toBe(later.getTime());
  });
});

it('goes with its request, and no other does (ST-20)', async () => {
  const [gone, kept] = [await storeRequest(database), await storeRequest(database)];
  for (const id of [gone, kept]) await reject(database, id);
  await database.query(`update requests set updated_at = clock_timestamp() - interval '91 days' where id = $1`, [gone]);
  await database.transaction((tx) => purgeRequests(tx, 90, 1000));
  expect(await cardsOf(gone)).toEqual([]);
  expect(await cardsOf(kept)).toHaveLength(1);
  const [orphans] = await database.query<{ count: number }>(
    'select count(*) as count from slack_lines where card_id not in (select id from slack_cards)',
  );
  expect(orphans?.count).toBe(0);
});

it('an onboarding has one card in each channel, which is built again when asked for', async () => {
  const onboardingId = randomUUID();
  await database.query(
    `insert into slack_onboardings (id, slack_user_id, display_name, roles, groups, reason, expires_at)
     values ($1, 'U1', 'Mira', '{}', '{}', 'why', clock_timestamp() + interval '1 day')`,
    [onboardingId],
  );
  await database.transaction((tx) => askForCard(tx, { onboardingId, channel: '#db' }));
  await database.query('update slack_cards set told = true');
  await database.transaction((tx) => rebuildCards(tx, onboardingId));
  await database.transaction((tx) => askForCard(tx, { onboardingId, channel: 'U1' }));
  const rows = await database.query<CardRow>(
    'select channel, wanted, told from slack_cards where onboarding_id = $1 order by channel',
    [onboardingId],
  );
  expect(rows).toEqual([
    { channel: '#db', wanted: 2, told: false },
    { channel: 'U1', wanted: 1, told: false },
  ]);
});
