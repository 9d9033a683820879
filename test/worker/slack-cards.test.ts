import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createPostCard } from '../../activities/slack-card.js';
import type { CardWork } from '../../db/slack-card-work.js';
import type { SharedConfig } from '../../domain/policies.js';
import { outgoingBy } from '../../runtime/outgoing.js';
import { createSlackClient } from '../../runtime/slack-client.js';
import { createSlackLookups } from '../../runtime/slack-lookups.js';
import { createSlackCardKeeper, createSlackCardStarter } from '../../worker/slack-card-starter.js';
import { slackCardWorkflow, slackCardWorkflowId } from '../../workflows/messages.js';
import { approve, cancel, reject, storeRequest } from '../support/requests.js';
import { type FakeSlack, startFakeSlack } from '../support/slack/fake-slack.js';
import type { Message } from '../support/slack/kept.js';
import { eventually, log, startTestWorker, type TestWorker, untilStored } from './support.js';

/** A call that takes longer is made again, though Slack has carried it out (SL-63): where that is not meant, busy machines need time. */
const patientMs = 10_000;
const shortCallMs = 400;
let callMs = patientMs;

let fake: FakeSlack;
let worker: TestWorker;
let ends: [outcome: string, requestId: string | null, error: string | null][];
/** Told after its row is written, so a test asks until it is there. */
const endsOf = (id: string) => ends.filter(([, request]) => request === id);
/** The card of the request was sent at the second attempt, because the first ended with this error. */
const expectRetried = (id: string, error: string) =>
  expect
    .poll(() => endsOf(id))
    .toEqual([
      ['retried', id, error],
      ['sent', id, null],
    ]);
let isOn: boolean;
let channel: string;
let slack: ReturnType<typeof slackParts>;

/** What a worker has for cards, with a shorter limit of a call. */
function slackParts() {
  const client = createSlackClient(() => ({ botToken: fake.botToken, apiBaseUrl: fake.apiBaseUrl }));
  return {
    isOn: () => isOn,
    call: (method: Parameters<typeof client.call>[0], args: Readonly<Record<string, unknown>>) =>
      client.call(method, args, callMs),
    lookUp: createSlackLookups(client),
    publicUrl: () => 'https://gateway.example.com/',
    groupsWith: (role: string) => (role === 'owner' ? ['dbas'] : []),
    onEnd: (outcome: string, { requestId }: CardWork, error: string | null) => void ends.push([outcome, requestId, error]),
  };
}

beforeAll(async () => {
  fake = await startFakeSlack({ channels: ['#db'] });
  // Before anybody is looked up: an address that was unknown is not asked for again at once.
  fake.workspace.emails.set('bob@example.net', 'U0BOB');
  const shared = () => ({ webhooks: [], notificationPolicies: [] }) as unknown as SharedConfig;
  slack = slackParts();
  worker = await startTestWorker({
    slack,
    outgoingOf: outgoingBy(shared, () => ({
      server: { publicUrl: null },
      slack: { botToken: 'x', signingSecret: 'x', channel },
    })),
    jobs: (parts) => [
      // As two workers have them.
      createSlackCardStarter({ ...parts, log }),
      createSlackCardStarter({ ...parts, log }),
      createSlackCardKeeper({ ...parts, log, everyMs: 200, graceMs: 1000 }),
    ],
  });
  await worker.database.query(
    `insert into users (id, source, slack_user_id, email) values ('alice', 'api', 'U0ALICE', null), ('bob', 'api', null, 'bob@example.net')`,
  );
});
afterAll(async () => {
  await worker?.stop();
  await fake?.close();
});
beforeEach(async () => {
  isOn = true;
  callMs = patientMs;
  channel = '#db';
  fake.always('*', null);
  for (const method of ['chat.postMessage', 'chat.update', 'users.lookupByEmail'] as const) fake.always(method, null);
  // What an earlier test left to be sent would meet the fault that is meant for a later one.
  await settled(null);
  ends = [];
});

const cardsOf = (id: string): Message[] => fake.cards().filter((card) => JSON.stringify(card.blocks).includes(id.slice(0, 12)));
const cardOf = (id: string): Message => {
  const [card, ...others] = cardsOf(id);
  if (card === undefined || others.length > 0) throw new Error(`${others.length + (card ? 1 : 0)} cards`);
  return card;
};
const textOf = ({ blocks }: Message) => JSON.stringify(blocks);
const threadOf = (id: string) => cardOf(id).thread.map(textOf);

/** Waits until nothing is left to be sent for the request, or for any. */
const settled = (id: string | null) =>
  eventually(async () => {
    const [row] = await worker.database.query<{ owing: number }>(
      `select count(*) as owing from slack_cards c where ($1::uuid is null or request_id = $1)
         and (shown < wanted or exists (select from slack_lines l where l.card_id = c.id))`,
      [id],
    );
    return row?.owing === 0;
  });

const cardIdOf = async (requestId: string) =>
  (await worker.database.query<{ id: string }>('select id from slack_cards where request_id = $1', [requestId]))[0]?.id ?? '';

it('a request has one card, which shows its state, and a thread of what happened (SL-50, SL-51, SL-52, SL-I4)', async () => {
  const id = await storeRequest(worker.database);
  await settled(id);
  expect(cardOf(id).text).toContain('Waiting for Approval');
  expect(textOf(cardOf(id))).toContain('<@U0ALICE>');
  expect(fake.buttonsOf(cardOf(id))).toMatchObject([{ action_id: 'svc_review', value: id }]);
  await approve(worker.database, id);
  await settled(id);
  expect(cardOf(id).text).toContain('Approved');
  expect(fake.buttonsOf(cardOf(id))).toMatchObject([{ action_id: 'svc_resume', value: id }]);
  await cancel(worker.database, id);
  await settled(id);
  expect(cardOf(id).text).toContain('Cancelled');
  expect(fake.buttonsOf(cardOf(id))).toEqual([]);
  expect(threadOf(id)).toEqual([expect.stringContaining('Request Approved'), expect.stringContaining('Cancelled')]);
  expect(new Set(ends.map(([outcome]) => outcome))).toEqual(new Set(['sent']));
});

it('a card names the MCP client that asked, and none for other requests (SL-51, MC-44)', async () => {
  const asked = await storeRequest(worker.database, { metadata: { source: 'mcp', client: 'a-model `<!channel>` 1.0' } });
  const other = await storeRequest(worker.database);
  await settled(asked);
  await settled(other);
  expect(textOf(cardOf(asked))).toContain("*MCP client:*\\n`a-model '&lt;!channel&gt;' 1.0`");
  expect(textOf(cardOf(other))).not.toContain('MCP');
  for (const id of [asked, other]) await cancel(worker.database, id);
});

it('mentions whoever has a stored Slack id, or one that belongs to the address (SL-53, SL-54)', async () => {
  await worker.database.query(`insert into group_members (group_name, user_id) values ('dbas', 'bob') on conflict do nothing`);
  const id = await storeRequest(worker.database);
  await approve(worker.database, id);
  await settled(id);
  expect(threadOf(id)[0]).toContain('<@U0ALICE>');
  const found = await slack.lookUp('bob@example.net');
  const asked = fake.callsOf('users.lookupByEmail').length;
  expect([found, await slack.lookUp('bob@example.net')]).toEqual(['U0BOB', 'U0BOB']);
  expect(await slack.lookUp('nobody@example.net')).toBeNull();
  expect(await slack.lookUp('nobody@example.net')).toBeNull();
  expect(fake.callsOf('users.lookupByEmail').length).toBe(asked + 1);
  const [users] = await worker.database.query<{ count: number }>(
    `select count(*) as count from users where slack_user_id = 'U0BOB'`,
  );
  expect(users?.count).toBe(0);
});

it('changes that wait for Slack are one update, and every line is said in order (SL-60, SL-I3)', async () => {
  const id = await storeRequest(worker.database);
  await settled(id);
  fake.always('chat.update', { status: 503 });
  await approve(worker.database, id);
  await eventually(() => ends.some(([outcome]) => outcome === 'retried'));
  await cancel(worker.database, id);
  const updates = cardOf(id).updates;
  fake.always('chat.update', null);
  await settled(id);
  expect(cardOf(id).updates).toBe(updates + 1);
  expect(cardOf(id).text).toContain('Cancelled');
  expect(threadOf(id)).toEqual([expect.stringContaining('Request Approved'), expect.stringContaining('Cancelled')]);
});

it.each([
  ['429', { retryAfter: 1 }, 'ratelimited'],
  ['500', { status: 500 }, 'status_500'],
  ['an error that passes', { error: 'internal_error' }, 'internal_error'],
  ['nothing', { noAnswer: 'breaks' as const }, 'network_error'],
  ['nothing for too long', { noAnswer: 'hangs' as const }, 'timeout'],
])('a post that Slack answers with %s is made again (SL-61)', async (_, fault, error) => {
  fake.next('chat.postMessage', fault);
  if (error === 'timeout') callMs = shortCallMs;
  const began = Date.now();
  const id = await storeRequest(worker.database);
  await eventually(() => endsOf(id).length > 0);
  callMs = patientMs;
  await settled(id);
  expect(cardsOf(id)).toHaveLength(1);
  await expectRetried(id, error);
  expect(Date.now() - began).toBeGreaterThan(950);
});

it('a card that Slack has lost is posted again, and its thread goes on there (SL-62)', async () => {
  const id = await storeRequest(worker.database);
  await settled(id);
  const { messages } = fake.channel();
  messages.splice(messages.indexOf(cardOf(id)), 1);
  await reject(worker.database, id);
  await settled(id);
  expect(cardOf(id).text).toContain('Rejected');
  expect(threadOf(id)).toEqual([expect.stringContaining('Rejected')]);
});

it('a channel that the bot is not in is joined once (SL-62)', async () => {
  channel = 'C1';
  fake.channel().isMember = false;
  const before = fake.callsOf('conversations.join').length;
  const id = await storeRequest(worker.database);
  await settled(id);
  expect(cardsOf(id)).toHaveLength(1);
  expect(fake.callsOf('conversations.join')).toHaveLength(before + 1);
});

it.each([
  ['429', { retryAfter: 1 }, 'ratelimited'],
  ['an error that passes', { error: 'internal_error' }, 'internal_error'],
  ['nothing', { noAnswer: 'breaks' as const }, 'network_error'],
])('a channel that Slack does not let the bot join now, with %s, is joined later (SL-61, SL-I3)', async (_, fault, error) => {
  channel = 'C1';
  fake.channel().isMember = false;
  fake.next('conversations.join', fault);
  const id = await storeRequest(worker.database);
  await settled(id);
  expect(cardsOf(id)).toHaveLength(1);
  await expectRetried(id, error);
});

it('a channel that the bot may not join has no card (SL-62)', async () => {
  channel = 'C1';
  fake.channel().isMember = false;
  fake.next('conversations.join', { error: 'method_not_supported_for_channel_type' });
  const id = await storeRequest(worker.database);
  await settled(id);
  fake.channel().isMember = true;
  await expect.poll(() => endsOf(id)).toEqual([['dead', id, 'not_in_channel']]);
});

it('an error that would come again ends the message, and a later change is tried anew (SL-62)', async () => {
  fake.next('chat.postMessage', { error: 'is_archived' });
  const id = await storeRequest(worker.database);
  await settled(id);
  await expect.poll(() => endsOf(id)).toEqual([['dead', id, 'is_archived']]);
  await reject(worker.database, id);
  await settled(id);
  expect(cardOf(id).text).toContain('Rejected');
});

it('what fails for a day is given up, with all that waits (SL-61)', async () => {
  const id = await storeRequest(worker.database);
  await settled(id);
  ends = [];
  fake.always('*', { status: 500 });
  await approve(worker.database, id);
  await eventually(() => ends.length > 0);
  await worker.database.query(
    `update slack_cards set failing_since = clock_timestamp() - interval '24 hours', next_attempt_at = clock_timestamp() - interval '1 ms' where request_id = $1`,
    [id],
  );
  await settled(id);
  await expect.poll(() => endsOf(id).at(-1)).toEqual(['dead', id, 'status_500']);
  const [left] = await worker.database.query<{ failing: boolean }>(
    'select failing_since is not null as failing from slack_cards where request_id = $1',
    [id],
  );
  expect(left?.failing).toBe(false);
});

it("a process that ends between Slack's answer and the record repeats the post and loses nothing (SL-63)", async () => {
  isOn = false;
  const id = await storeRequest(worker.database);
  await eventually(() => ends.some(([outcome, request]) => outcome === 'retried' && request === id));
  const cardId = await cardIdOf(id);
  const dying = {
    ...slack,
    isOn: () => true,
    call: async (...args: Parameters<typeof slack.call>) => {
      await slack.call(...args);
      throw new Error('killed');
    },
  };
  await worker.database.query(`update slack_cards set next_attempt_at = clock_timestamp() - interval '1 ms' where id = $1`, [
    cardId,
  ]);
  await expect(createPostCard({ database: worker.database, ...dying }).postCard(cardId)).rejects.toThrow('killed');
  expect(cardsOf(id)).toHaveLength(1);
  isOn = true;
  await settled(id);
  await reject(worker.database, id);
  await settled(id);
  expect(cardsOf(id).map(({ text, thread }) => [text.includes('Rejected'), thread.length])).toEqual([
    [false, 0],
    [true, 1],
  ]);
});

it('what Slack has taken is recorded, also when the database is away for a moment, and not sent again (SL-63, SL-I4)', async () => {
  isOn = false;
  const id = await storeRequest(worker.database);
  await eventually(() => ends.some(([outcome, request]) => outcome === 'retried' && request === id));
  const cardId = await cardIdOf(id);
  let failures = 2;
  const failing: typeof worker.database = {
    ...worker.database,
    macs: worker.database.macs,
    query: (text, values) =>
      text.startsWith('update slack_cards set shown') && failures-- > 0
        ? Promise.reject(new Error('away'))
        : worker.database.query(text, values),
  };
  await worker.database.query(`update slack_cards set next_attempt_at = clock_timestamp() - interval '1 ms' where id = $1`, [
    cardId,
  ]);
  await createPostCard({ ...slack, database: failing, isOn: () => true }).postCard(cardId);
  isOn = true;
  await settled(id);
  expect(cardsOf(id)).toHaveLength(1);
});

it('a Slack that does not answer holds up neither changes nor clocks, and what it missed comes later (SL-64)', async () => {
  fake.always('*', { noAnswer: 'hangs' });
  callMs = shortCallMs;
  const waiting = await Promise.all(Array.from({ length: 20 }, () => storeRequest(worker.database)));
  await eventually(() => fake.callsOf('chat.postMessage').length > 8);
  const id = await storeRequest(worker.database, { pendingSecs: 1 });
  await untilStored(worker, id, 'expired');
  expect(cardsOf(id)).toEqual([]);
  callMs = patientMs;
  fake.always('*', null);
  for (const one of [...waiting, id]) await settled(one);
  expect(cardOf(id).text).toContain('Expired');
  expect([...waiting, id].map((one) => cardsOf(one).length)).toEqual(Array.from({ length: 21 }, () => 1));
});

it('a card whose workflow Temporal has lost is given one again', async () => {
  isOn = false;
  const id = await storeRequest(worker.database);
  const cardId = await cardIdOf(id);
  await eventually(() => ends.some(([, request]) => request === id));
  await worker.client.workflow.getHandle(slackCardWorkflowId(cardId)).terminate();
  isOn = true;
  await worker.database.query(`update slack_cards set next_attempt_at = clock_timestamp() - interval '1 minute' where id = $1`, [
    cardId,
  ]);
  await settled(id);
  expect(cardsOf(id)).toHaveLength(1);
});

it('Temporal learns ids and names only, and the workflow of a card that is gone ends', async () => {
  const id = await storeRequest(worker.database);
  await reject(worker.database, id);
  await settled(id);
  const handle = worker.client.workflow.getHandle(slackCardWorkflowId(await cardIdOf(id)));
  await handle.result();
  const history = JSON.stringify((await handle.fetchHistory()).events, (_, value) =>
    value instanceof Uint8Array ? Buffer.from(value).toString() : value,
  );
  expect(history).not.toMatch(/marker-|Waiting for|xoxb/);
  const gone = randomUUID();
  await worker.client.workflow.execute(slackCardWorkflow, {
    workflowId: slackCardWorkflowId(gone),
    taskQueue: worker.taskQueue,
    args: [{ id: gone }],
  });
});

it('no channel ever had SQL (SL-55, SL-I5)', () => {
  expect(fake.channelText()).not.toContain('marker-detail');
  expect(fake.channelText()).not.toContain('customers');
});
