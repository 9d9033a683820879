import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { shopToml } from '../support/api.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { share } from '../support/share.js';
import { type FakeSlack, startFakeSlack } from '../support/slack/fake-slack.js';
import { type System, startSystem } from '../support/system.js';
import { openOwnTemporal } from '../worker/own-temporal.js';
import { type PatientCalls, patientCalls } from './calls.js';

const changes = share(20, 200);

let stored: TestDatabase;
let temporal: Awaited<ReturnType<typeof openOwnTemporal>>;
let system: System;
let calls: PatientCalls;
let fake: FakeSlack;
beforeAll(async () => {
  stored = await createTestDatabase();
  temporal = await openOwnTemporal();
  await temporal.start();
  fake = await startFakeSlack({ channels: ['#db'] });
  const { botToken, apiBaseUrl } = fake;
  const slack = `[slack]\nbot_token = "${botToken}"\nsigning_secret = "s"\nchannel = "#db"\napi_base_url = "${apiBaseUrl}"\n`;
  system = await startSystem({
    databaseUrl: stored.url,
    temporalAddress: temporal.address,
    toml: `${shopToml}${slack}`,
    workers: 2,
  });
  calls = patientCalls(system);
}, 240_000);
afterAll(async () => {
  await system?.close();
  await fake?.close();
  await temporal?.close();
  await stored?.drop();
});

/** One after the other is away for a moment; Temporal loses its data once. */
async function breakThings(until: Promise<unknown>): Promise<void> {
  let over = false;
  void until.finally(() => {
    over = true;
  });
  for (let round = 0; !over; round += 1) {
    await fake.stop();
    await sleep(300);
    await fake.start();
    fake.next('chat.postMessage', { status: 500 }, { retryAfter: 1 }, { noAnswer: 'breaks' });
    fake.next('chat.update', { error: 'fatal_error' }, { error: 'ratelimited' });
    const worker = system.workers[round % 2]!;
    await worker.kill();
    await worker.start();
    if (round % 3 === 1) {
      await temporal.kill();
      if (round === 1) temporal.loseData();
      await temporal.start();
    }
  }
}

const owing = `shown < wanted or exists (select from slack_lines l where l.card_id = c.id)`;

/** What waits for the next attempt is due now, and Temporal is told again, as the keeper of cards does after ten minutes. */
const hurry = () =>
  system.database.query(`update slack_cards c set told = false, next_attempt_at = clock_timestamp() where ${owing}`);

it('every card ends in the last state, with its thread in order, while Slack, workers and Temporal are killed (SL-60 to SL-63, SL-I3)', async () => {
  const ids: string[] = [];
  const making = (async () => {
    for (let n = 0; n < changes; n += 1) {
      const id = await calls.create(`carded-${n}`, 'production');
      await calls.act(system.tokens.bob, id, n % 2 === 0 ? 'reject' : 'approve');
      if (n % 2 === 1) await calls.act(system.tokens.alice, id, 'cancel');
      ids.push(id);
    }
  })();
  await Promise.all([making, breakThings(making)]);
  await eventually(async () => {
    const { rows } = await system.database.query(`select count(*)::int as count from slack_cards c where ${owing}`);
    if (rows[0]?.count === 0) return true;
    await hurry();
    await sleep(3000);
    return false;
  }, 240_000);

  const { rows: cards } = await system.database.query<{ request_id: string; ts: string }>(
    'select request_id, ts from slack_cards',
  );
  expect(cards.map((card) => card.request_id).toSorted()).toEqual(ids.toSorted());
  for (const [n, id] of ids.entries()) {
    const shown = fake.cards().find(({ ts }) => ts === cards.find((card) => card.request_id === id)?.ts);
    expect(shown?.text).toContain(n % 2 === 0 ? 'Rejected' : 'Cancelled');
    expect(fake.buttonsOf(shown!)).toEqual([]);
    // A crash between the post and its record repeats a line; it never changes the order or loses one.
    const said = shown!.thread.map(({ text }) => text).filter((text, at, all) => text !== all[at - 1]);
    expect(said).toEqual(n % 2 === 0 ? ['❌ Rejected'] : ['✅ Request Approved', '🚫 Cancelled']);
  }
  expect(fake.channelText()).not.toMatch(/carded-\d+'|select /i);
}, 900_000);
