import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { askForCard, rebuildCards } from '../../db/slack-cards.js';
import { endOnboarding, type OnboardingEnd } from '../../db/slack-onboardings.js';
import { createSlackClient } from '../../runtime/slack-client.js';
import { createOnboardingStarter } from '../../worker/onboarding-starter.js';
import { createSlackCardStarter } from '../../worker/slack-card-starter.js';
import { type FakeSlack, startFakeSlack } from '../support/slack/fake-slack.js';
import { storedOnboarding } from '../support/stored-onboarding.js';
import { eventually, log, startTestWorker, type TestWorker } from './support.js';

let fake: FakeSlack;
let worker: TestWorker;
beforeAll(async () => {
  fake = await startFakeSlack({ channels: ['#db'] });
  const client = createSlackClient(() => ({ botToken: fake.botToken, apiBaseUrl: fake.apiBaseUrl }));
  worker = await startTestWorker({
    slack: {
      isOn: () => true,
      call: (method, args) => client.call(method, args),
      lookUp: async () => null,
      groupsWith: () => [],
      publicUrl: () => null,
    },
    jobs: (parts) => [createSlackCardStarter({ ...parts, log }), createOnboardingStarter({ ...parts, log })],
  });
});
afterAll(async () => {
  await worker?.stop();
  await fake?.close();
});
let people = 0;
let slackUserId: string;
beforeEach(() => {
  people += 1;
  slackUserId = `UPERSON${people}`;
});

/** An onboarding as a submission stores it. */
async function asked(inMs = 3_600_000): Promise<string> {
  const id = await storedOnboarding(worker.database, { slackUserId, inMs });
  await worker.database.transaction((tx) => askForCard(tx, { onboardingId: id, channel: '#db' }));
  return id;
}

/** A decision as a review stores it. */
const decided = (id: string, end: OnboardingEnd) =>
  worker.database.transaction(async (tx) => {
    await endOnboarding(tx, id, end);
    await rebuildCards(tx, id);
    if (end.status === 'rejected') await askForCard(tx, { onboardingId: id, channel: slackUserId });
  });

const cardsOf = () => fake.cards().filter(({ blocks }) => JSON.stringify(blocks).includes(`<@${slackUserId}>`));
const shows = (title: string) => eventually(() => cardsOf()[0]?.text.includes(title));
const direct = () => fake.directMessages(slackUserId).map(({ blocks }) => JSON.stringify(blocks));

it('the channel gets one card with a button, which an approval takes away (SL-42, SL-45)', async () => {
  const id = await asked();
  await shows('Access Request');
  expect(fake.buttonsOf(cardsOf()[0]!)).toMatchObject([{ action_id: 'svc_onboarding_review', value: id }]);
  await decided(id, { status: 'approved', by: 'otto', comment: null, userId: 'mira' });
  await shows('Access Approved');
  expect(cardsOf()).toHaveLength(1);
  expect(fake.buttonsOf(cardsOf()[0]!)).toEqual([]);
  expect(JSON.stringify(cardsOf())).toContain('otto');
  // The token tells the applicant of it.
  expect(direct()).toEqual([]);
});

it('a rejection is told to the applicant once, with its comment, which the channel does not see (SL-45)', async () => {
  const id = await asked();
  await decided(id, { status: 'rejected', by: 'otto', comment: 'who are you?' });
  await shows('Access Rejected');
  await eventually(() => direct().length > 0);
  expect(direct()).toEqual([expect.stringMatching(/was rejected.*who are you\?/)]);
  expect(JSON.stringify(cardsOf())).not.toContain('who are you');
});

it('the end by the clock updates the card and is told to the applicant, also after Slack was down (SL-45)', async () => {
  fake.always('*', { status: 503 });
  await asked(500);
  await eventually(() => fake.callsOf('chat.postMessage').some(({ args }) => args.channel === slackUserId));
  fake.always('*', null);
  await shows('Access Request Expired');
  await eventually(() => direct().length > 0);
  expect([cardsOf().length, direct().length]).toEqual([1, 1]);
  expect(fake.buttonsOf(cardsOf()[0]!)).toEqual([]);
});
