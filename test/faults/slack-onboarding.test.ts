import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shopToml } from '../support/api.js';
import { licenseFor } from '../support/license.js';
import { eventually } from '../support/processes.js';
import { share } from '../support/share.js';
import type { Json, OpenView } from '../support/slack/kept.js';
import type { Inputs } from '../support/slack/people.js';
import { temporalAddress } from '../support/temporal.js';
import { type SlackSystem, startSlackSystem } from './slack-system.js';

const rounds = share(2, 10);
/** The free plan has no room for all who ask. */
const { key, publicKey } = licenseFor(Date.parse('2099-01-01'), { limits: { max_users: null } });
const license = `[license]
key = "${key}"
public_key = "${publicKey}"
`;
const onboarding = `[slack.onboarding]
enabled = true
assignable_roles = ["requester", "approver"]
restricted_roles = ["approver"]
assignable_groups = ["dba-team"]
`;

let slack: SlackSystem;
const reviewers = ['U0REV1', 'U0REV2'];
beforeAll(async () => {
  // The helper's own [slack] follows, to which this table belongs.
  slack = await startSlackSystem({
    temporalAddress: await temporalAddress(),
    servers: 2,
    toml: `${shopToml}${license}${onboarding}`,
  });
  for (const [n, id] of reviewers.entries()) await slack.addPerson(`rev${n}`, { slack: id, roles: ['admin'] });
  await slack.addPerson('mira', { slack: 'U0MIRA' });
}, 240_000);
afterAll(() => slack?.close());

const rowsOf = async (text: string, ...values: string[]): Promise<Json[]> =>
  (await slack.system.database.query(text, values)).rows;
const onboardingsOf = (user: string) =>
  rowsOf('select * from slack_onboardings where slack_user_id = $1 order by created_at', user);

/** Sends one form many times at once, to both servers. */
const submitAll = (view: OpenView, inputs: Inputs) =>
  Promise.all(
    Array.from({ length: 8 }, (_, n) => slack.people[n % 2]!).map((people) => people.interact(people.submissionOf(view, inputs))),
  );

async function joinForm(user: string): Promise<OpenView> {
  await slack.people[0]!.slash('join', user);
  return eventually(() => slack.fake.openViews(user).findLast(({ view }) => view.callback_id === 'svc_onboarding'));
}

/** Asks for an account many times at once; answers the id of the one request. */
async function ask(user: string): Promise<string> {
  const form = await joinForm(user);
  await submitAll(form, { 'roles_block/roles_select': ['requester'], 'reason_block/reason_input': `I am ${user}` });
  const pending = await onboardingsOf(user);
  expect(pending).toMatchObject([{ status: 'pending', roles: ['requester'] }]);
  return pending[0]!.id;
}

const approve: Inputs = { 'decision_block/decision_input': 'approve' };
const reject: Inputs = { 'decision_block/decision_input': 'reject', 'comment_block/comment_input': 'not now' };
const openReview = (id: string, user: string) => slack.open('svc_onboarding_review', id, user);

/** The card of the onboarding as the channel shows it. */
const cardOf = (id: string) => slack.fake.cards().find(({ blocks }) => JSON.stringify(blocks).includes(id.slice(0, 12)));
const untilCardSays = (id: string, title: RegExp) => eventually(() => title.test(cardOf(id)?.blocks[0]?.text.text ?? ''), 30_000);

const tokenIn = (text: string) => /svc_[0-9a-f]{16,}/.exec(text)?.[0] ?? null;

describe('people who ask for an account in Slack', () => {
  it('get one account and one token, which no channel sees, however many submit and review at once (SL-42, SL-44, SL-46, SL-I5, SL-I6)', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const user = `U0NEW${round}`;
      const id = await ask(user);
      await untilCardSays(id, /Access Request/);
      const views = await Promise.all(reviewers.map((reviewer) => openReview(id, reviewer)));
      const answers = (await Promise.all(views.map((view) => submitAll(view, approve)))).flat();
      expect(answers.filter(({ text }) => text === '')).toHaveLength(1);
      const users = await rowsOf('select id, status from users where slack_user_id = $1', user);
      expect(users).toHaveLength(1);
      const told = await eventually(() => (slack.fake.directMessages(user).length > 0 ? slack.fake.directMessages(user) : null));
      await untilCardSays(id, /Access Approved/);
      expect(told).toHaveLength(1);
      const token = tokenIn(JSON.stringify(told));
      const me = await slack.api(String(token), 'GET', '/api/me');
      expect(me).toMatchObject({ status: 200, body: { subject_id: users[0]!.id, slack_user_id: user } });
      const elsewhere = slack.fake.calls.filter(
        ({ args }) => args.channel !== user && JSON.stringify(args).includes(String(token)),
      );
      expect(elsewhere).toEqual([]);
      expect(slack.fake.buttonsOf(cardOf(id)!)).toEqual([]);
    }
  }, 300_000);

  it('of an approval and a rejection at once one takes effect (SL-45, SL-I6)', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const user = `U0RACE${round}`;
      const id = await ask(user);
      await untilCardSays(id, /Access Request/);
      const views = await Promise.all(reviewers.map((reviewer) => openReview(id, reviewer)));
      const answers = await Promise.all(views.map((view, n) => slack.people[n]!.submit(view, n === 0 ? approve : reject)));
      expect(answers.filter(({ text }) => text === '')).toHaveLength(1);
      const [{ status }] = (await onboardingsOf(user)) as [Json];
      const users = await rowsOf('select 1 from users where slack_user_id = $1', user);
      expect([status, users.length]).toEqual(status === 'approved' ? ['approved', 1] : ['rejected', 0]);
      await untilCardSays(id, status === 'approved' ? /Approved/ : /Rejected/);
      await eventually(() => slack.fake.directMessages(user).length === 1);
    }
  }, 300_000);

  it('are sent a token once, and the reviewer hears when it may not have arrived (SL-46)', async () => {
    const user = 'U0LOST';
    const id = await ask(user);
    await untilCardSays(id, /Access Request/);
    const view = await openReview(id, reviewers[0]!);
    slack.fake.next('chat.postMessage', { noAnswer: 'breaks', carriedOut: true });
    expect((await slack.people[0]!.submit(view, approve)).text).toBe('');
    await eventually(() => slack.fake.ephemeralsOf(reviewers[0]!).some(({ text }) => text.includes('reissue-initial-token')));
    await untilCardSays(id, /Access Approved/);
    expect(slack.fake.directMessages(user)).toHaveLength(1);
    expect(JSON.stringify(slack.fake.ephemeralsOf(reviewers[0]!))).not.toMatch(/svc_[0-9a-f]{16,}/);
  });

  it('get nothing that is not offered, and decide nothing about themselves (SL-32, SL-41, SL-43)', async () => {
    const user = 'U0SLY';
    const form = await joinForm(user);
    const wrong: Inputs[] = [
      { 'roles_block/roles_select': ['approver'] },
      { 'roles_block/roles_select': ['admin'] },
      { 'groups_block/groups_select': ['others'] },
    ];
    for (const inputs of wrong) {
      const answer = await slack.people[0]!.interact(
        slack.people[0]!.submissionOf(form, { ...inputs, 'reason_block/reason_input': 'please' }),
      );
      expect(answer.body?.response_action).toBe('errors');
    }
    expect(await onboardingsOf(user)).toEqual([]);
    const id = await ask(user);
    await untilCardSays(id, /Access Request/);
    const view = await openReview(id, reviewers[0]!);
    for (const other of [user, 'U0MIRA', 'U0NOBODY']) {
      const told = slack.fake.ephemeralsOf(other).length;
      await slack.people[0]!.click('svc_onboarding_review', id, other);
      await eventually(() => slack.fake.ephemeralsOf(other).length > told);
      const answer = await slack.people[1]!.interact(slack.people[1]!.submissionOf({ ...view, user: other }, approve));
      expect(answer.body?.response_action).toBe('errors');
    }
    expect(await onboardingsOf(user)).toMatchObject([{ status: 'pending' }]);
    expect(await rowsOf('select 1 from users where slack_user_id = $1', user)).toEqual([]);
  });
});
