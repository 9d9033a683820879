import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shopToml } from '../support/api.js';
import { eventually } from '../support/processes.js';
import { share } from '../support/share.js';
import type { Fault } from '../support/slack/fake-slack.js';
import type { Message } from '../support/slack/kept.js';
import { openOwnTemporal } from '../worker/own-temporal.js';
import { expectStatus, patientCalls } from './calls.js';
import { type SlackSystem, startSlackSystem } from './slack-system.js';

/** Each meets another trouble; twice as many meet each of them in all calls and in those that post. */
const rounds = share(7, 14);
const channels = ['#db-approvals', '#audit'];
const toml = `${shopToml}
[[notification_policies]]
database = "shop"
environment = "production"
slack_channels = ["#db-approvals", "#audit"]
`;

let temporal: Awaited<ReturnType<typeof openOwnTemporal>>;
let slack: SlackSystem;
beforeAll(async () => {
  temporal = await openOwnTemporal();
  await temporal.start();
  slack = await startSlackSystem({ temporalAddress: temporal.address, workers: 2, toml, channels });
}, 240_000);
afterAll(async () => {
  await slack?.close();
  await temporal?.close();
});

/** One request of each end: executed, failed, rejected, cancelled. The gateway answers each call as if Slack were not there (SL-64). */
async function playRound(n: number): Promise<string[]> {
  const { alice, bob } = slack.system.tokens;
  const act = async (token: string, id: string, what: string, body = {}) =>
    expectStatus(await slack.api(token, 'POST', `/api/requests/${id}/${what}`, body), 200);
  const create = async (detail: string) => {
    const fields = { database: 'shop', environment: 'production', detail, reason: `round ${n}` };
    return String(expectStatus(await slack.api(alice, 'POST', '/api/requests', fields), 201).id);
  };
  const ids: string[] = [];
  for (const detail of ['select 1', "select 'x'::int"]) {
    const id = await create(detail);
    await act(bob, id, 'approve');
    await act(alice, id, 'resume');
    ids.push(id);
  }
  const [rejected, cancelled] = [await create('select 2'), await create('select 3')];
  await act(bob, rejected, 'reject', { comment: 'no' });
  await act(alice, cancelled, 'cancel');
  return [...ids, rejected, cancelled];
}

/** What waits is due now, and Temporal is told again. */
const hurry = () =>
  slack.system.database.query(`update slack_cards card set told = false, taken_until = null, next_attempt_at = clock_timestamp() - interval '1 ms'
    where shown < wanted or exists (select from slack_lines line where line.card_id = card.id)`);

async function untilAllIsSaid(): Promise<void> {
  const { database } = slack.system;
  const open = `select 1 from requests where status in ('dispatched', 'running')
    union all select 1 from slack_cards where shown < wanted union all select 1 from slack_lines`;
  let looks = 0;
  await eventually(async () => {
    if ((await database.query(open)).rows.length === 0) return true;
    looks += 1;
    if (looks % 10 === 0) await hurry();
    await sleep(500);
    return false;
  }, 300_000);
}

interface Shown {
  request: string;
  status: string;
  channel: string;
  ts: string;
  events: string[];
}

/** What was told to Slack of each request, from the tables. */
async function toldRows(): Promise<Shown[]> {
  const { rows } = await slack.system.database.query<Shown>(`select r.id as request, r.status, c.channel, c.ts,
      (select array_agg(event_type order by position) from audit_events e where e.request_id = r.id) as events
    from requests r join slack_cards c on c.request_id = r.id order by 1, 3`);
  return rows;
}

const headers: Record<string, RegExp> = { executed: /Completed/, failed: /Failed/, rejected: /Rejected/, cancelled: /Cancelled/ };
const lines: Record<string, RegExp> = {
  'step.approved': /Step Approved/,
  'request.approved': /Request Approved/,
  'request.rejected': /Rejected/,
  'request.cancelled': /Cancelled/,
  'request.dispatched': /Dispatched/,
  'execution.completed': /Completed/,
  'execution.failed': /Failed/,
};

const cardsOf = (channel: string, request: string): Message[] =>
  slack.fake.cards(channel).filter((card) => JSON.stringify(card.blocks).includes(request.slice(0, 12)));

/** The card that the gateway remembers shows the end of its request, and its thread every step on the way, once and in order. */
function expectFinal({ request, status, channel, ts, events }: Shown): void {
  const card = cardsOf(channel, request).find((shown) => shown.ts === ts);
  expect(card?.blocks[0]?.text.text).toMatch(headers[status] ?? /none/);
  const said = events.filter((event) => event in lines);
  const thread = (card?.thread ?? []).map(({ text }) => text);
  expect({ events, thread, asTold: thread.map((text, at) => lines[said[at] ?? '']?.test(text) ?? false) }).toEqual({
    events,
    thread,
    asTold: said.map(() => true),
  });
}

/** What Slack does wrong, one after the other. The call has no effect with any of them but the late answers. */
const troubles: Fault[] = [
  { retryAfter: 2 },
  { status: 503 },
  { noAnswer: 'breaks' },
  { waitMs: 1500 },
  { error: 'internal_error' },
  { error: 'ratelimited' },
  { status: 200, body: '<html>' },
];

/** A round that meets one trouble, and every third one a Slack where nobody listens too. */
async function playInTrouble(n: number): Promise<void> {
  slack.fake.always(n % 2 === 0 ? '*' : 'chat.postMessage', troubles[n % troubles.length]!);
  const before = slack.fake.calls.length;
  await playRound(n);
  await eventually(() => slack.fake.calls.length > before + 2, 30_000);
  slack.fake.always('*', null);
  slack.fake.always('chat.postMessage', null);
  if (n % 3 !== 2) return;
  await slack.fake.stop();
  await playRound(n);
  await slack.fake.start();
}

// The second test counts from what the first has left.
describe('cards in Slack', { shuffle: false }, () => {
  const repeatable = new Set<string>();

  it('end in the last state, one for each request and channel, whatever Slack does wrong meanwhile (SL-60, SL-61, SL-64, SL-I3, SL-I4)', async () => {
    for (let n = 0; n < rounds; n += 1) await playInTrouble(n);
    await untilAllIsSaid();
    const told = await toldRows();
    expect(told).toHaveLength((rounds + Math.floor(rounds / 3)) * 4 * channels.length);
    for (const shown of told) {
      expectFinal(shown);
      expect(cardsOf(shown.channel, shown.request)).toHaveLength(1);
    }
    const answers = slack.fake.calls.map(({ answer }) => answer?.ok ?? null);
    expect(answers.filter((ok) => ok !== true).length).toBeGreaterThan(2 * rounds);
    expect(answers.filter((ok) => ok === true).length).toBeGreaterThanOrEqual(told.length * 2);
  }, 900_000);

  it('survive kills of workers and of Temporal, and the loss of its data; only a kill repeats a card (SL-60, SL-63, SL-I3)', async () => {
    for (const { request } of await toldRows()) repeatable.add(request);
    const calls = patientCalls(slack.system);
    const kills: number[] = [];
    const requests = share(8, 15);
    const playing = (async () => {
      for (let n = 0; n < requests; n += 1) {
        const id = await calls.create(`killed-${n}`, 'production');
        await calls.act(slack.system.tokens.bob, id, 'reject');
        await sleep(700);
      }
    })();
    let isOver = false;
    void playing.finally(() => {
      isOver = true;
    });
    for (let round = 0; !isOver; round += 1) {
      const worker = slack.system.workers[round % 2]!;
      kills.push(Date.now());
      await worker.kill();
      await worker.start();
      if (round % 3 !== 1) continue;
      await temporal.kill();
      if (round === 1) temporal.loseData();
      await temporal.start();
    }
    await playing;
    await untilAllIsSaid();
    const told = (await toldRows()).filter(({ request }) => !repeatable.has(request));
    expect(told).toHaveLength(requests * channels.length);
    for (const shown of told) {
      const card = cardsOf(shown.channel, shown.request).find(({ ts }) => ts === shown.ts);
      expect(card?.blocks[0]?.text.text).toMatch(/Rejected/);
      // A line too can be said twice by a kill, and never not at all.
      expect(card?.thread.some(({ text }) => /Rejected/.test(text))).toBe(true);
      for (const { ts } of cardsOf(shown.channel, shown.request)) {
        const posted = slack.fake.calls.find(({ answer }) => answer?.ok === true && answer.ts === ts);
        if (ts !== shown.ts) expect(kills.some((at) => at >= posted!.at - 100 && at <= posted!.at + 5000)).toBe(true);
      }
    }
  }, 900_000);
});
