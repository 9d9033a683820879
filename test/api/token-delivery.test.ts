import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/processes.js';
import { slackPeople } from '../support/slack/people.js';
import { approve, link, type OnboardingCalls, onboardingToml, startOnboardingApi } from './onboarding-calls.js';

let on: OnboardingCalls;
let joined = 0;
beforeAll(async () => {
  on = await startOnboardingApi();
});
afterAll(() => on?.close());

const tokenPattern = /svc_[0-9a-f]{32}/;
const tokenIn = (message: unknown) => tokenPattern.exec(JSON.stringify(message))?.[0];
const deliveriesOf = (userId: string) =>
  on.rows<{ outcome: string; metadata: string }>(
    `select outcome, metadata_json as metadata from audit_events e where event_type = 'token.delivery' and exists (
       select 1 from tokens t where t.id::text = e.resource_id and t.subject_id = $1) order by position`,
    [userId],
  );
const postedTo = (channel: string) => on.fake.callsOf('chat.postMessage').filter(({ args }) => args.channel === channel);

describe('a token that Slack does not take', () => {
  it.each([
    ['an error of Slack', { error: 'user_not_found' }],
    ['an unclear outcome', { noAnswer: 'breaks' as const, carriedOut: true }],
    ['a limit', { retryAfter: 1 }],
  ])('after %s is not sent again, and the reviewer alone reads how to issue another one (SL-46)', async (_, fault) => {
    joined += 1;
    const slackUserId = `UNEW${joined}`;
    const id = await on.join(slackUserId);
    const userId = slackUserId.toLowerCase();
    const view = await on.openReview(id);
    on.fake.next('chat.postMessage', fault);
    const before = on.fake.ephemeralsOf('UADMIN').length;
    expect((await on.people.submit(view, approve)).text).toBe('');
    await eventually(() => on.fake.ephemeralsOf('UADMIN').length > before);
    expect(on.fake.ephemeralsOf('UADMIN').at(-1)?.text).toContain(`\`svc user reissue-initial-token ${userId}\``);
    expect(postedTo(slackUserId)).toHaveLength(1);
    expect(tokenIn(on.fake.ephemeralsOf('UADMIN'))).toBeUndefined();
    expect(on.fake.channelText()).not.toMatch(tokenPattern);
    expect((await deliveriesOf(userId)).map(({ outcome }) => outcome)).toEqual(['failure']);
  });
});

it('a token that is on its way when the server stops is delivered first, with its event (SL-46)', async () => {
  const other = await on.api.another({ toml: onboardingToml(on.fake) });
  const people = slackPeople(on.fake, { url: other.url, signingSecret: 'slk-secret' });
  const view = await on.openReview(await on.join('ULAST'));
  on.fake.next('chat.postMessage', { waitMs: 700 });
  expect((await people.interact(people.submissionOf(view, approve))).text).toBe('');
  await other.close();
  expect(tokenIn(on.fake.directMessages('ULAST'))).toBeDefined();
  expect((await deliveriesOf('ulast')).map(({ outcome }) => outcome)).toEqual(['success']);
});

describe('reissuing the initial token of somebody in Slack (IM-68)', () => {
  const reissue = (id: string) => on.api.call('POST', `/api/users/${id}/reissue-initial-token`, { token: on.api.tokens.admin });
  const works = async (token: string) => (await on.api.call('GET', '/api/me', { token })).status === 200;
  const person = async (id: string) => {
    await on.api.createUser(id, { roles: ['requester'] });
    const slackUserId = `U${id.toUpperCase()}`;
    await link(on.api, id, slackUserId);
    return slackUserId;
  };

  it('sends it as a direct message, and the answer is without it', async () => {
    const slackUserId = await person('dora');
    const { body, text } = await reissue('dora');
    expect(body).toMatchObject({ delivery_status: 'delivered', delivery_channel: 'slack_dm', token: null });
    expect(body.manual_recovery_required).toBe(false);
    const token = tokenIn(on.fake.directMessages(slackUserId))!;
    expect(text).not.toContain(token);
    expect(await works(token)).toBe(true);
    expect(on.fake.channelText()).not.toContain(token);
    const [event] = await deliveriesOf('dora');
    expect(event?.outcome).toBe('success');
    expect(event?.metadata).toMatch(/^{"delivery_status":"delivered","delivery_channel":"slack_dm","plaintext_returned":false,/);
  });

  it.each([
    ['refuses it', { error: 'account_inactive' }],
    ['breaks off', { noAnswer: 'breaks' as const, carriedOut: true }],
    ['asks to wait', { retryAfter: 1 }],
    ['fails', { status: 503 }],
  ])('has it in the answer when Slack %s, after one try', async (_, fault) => {
    joined += 1;
    const id = `erin${joined}`;
    const slackUserId = await person(id);
    on.fake.next('chat.postMessage', fault);
    const { body } = await reissue(id);
    expect(body).toMatchObject({ delivery_status: 'failed', delivery_channel: 'slack_dm', manual_recovery_required: true });
    expect(await works(body.token)).toBe(true);
    expect(postedTo(slackUserId)).toHaveLength(1);
    const [event] = await deliveriesOf(id);
    expect(event?.outcome).toBe('failure');
    expect(event?.metadata).toMatch(/^{"delivery_status":"failed","delivery_channel":"slack_dm","plaintext_returned":true,/);
  });

  it('waits 10 s for Slack at most', async () => {
    await person('frank');
    on.fake.next('chat.postMessage', { noAnswer: 'hangs' });
    const { status, body } = await reissue('frank');
    expect([status, body.delivery_status]).toEqual([200, 'failed']);
    expect(await works(body.token)).toBe(true);
  });

  it('has it in the answer for who has no Slack account, and creating a user sends nothing', async () => {
    const before = on.fake.calls.length;
    await on.api.createUser('gina', { roles: ['requester'] });
    const { body } = await reissue('gina');
    expect(body).toMatchObject({ delivery_status: 'not_configured', delivery_channel: null, manual_recovery_required: true });
    expect(await works(body.token)).toBe(true);
    expect(on.fake.calls).toHaveLength(before);
  });

  it('never posts to a channel, whatever is stored as the Slack id (SL-46)', async () => {
    await on.api.createUser('hugo', { roles: ['requester'] });
    for (const channel of ['#db-approvals', 'C1']) {
      await on.rows('update users set slack_user_id = $1 where id = $2', [channel, 'hugo']);
      expect((await reissue('hugo')).body).toMatchObject({ delivery_status: 'failed' });
    }
    expect(on.fake.channelText()).not.toMatch(tokenPattern);
  });
});
