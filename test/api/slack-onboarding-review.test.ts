import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/processes.js';
import { approve, errorsOf, link, type OnboardingCalls, onboardingToml, reject, startOnboardingApi } from './onboarding-calls.js';

let on: OnboardingCalls;
beforeAll(async () => {
  on = await startOnboardingApi();
});
afterAll(() => on?.close());

const roles = 'roles_block/roles_select';
const groups = 'groups_block/groups_select';
const showUser = async (id: string) => (await on.api.call('GET', `/api/users/${id}`, { token: on.api.tokens.admin })).body;
const tokenIn = (message: unknown) => /svc_[0-9a-f]{32}/.exec(JSON.stringify(message))?.[0];
const tokenOf = async (slackUserId: string) => {
  await eventually(() => on.fake.directMessages(slackUserId).length > 0);
  return tokenIn(on.fake.directMessages(slackUserId)[0]);
};
let joined = 0;
/** Somebody new asks for an account. */
const ask = async (inputs = {}, name?: string) => {
  joined += 1;
  const slackUserId = `UNEW${joined}`;
  return { slackUserId, id: await on.join(slackUserId, inputs, name) };
};

describe('an approval of svc_onboarding_review_submit', () => {
  it('makes the user as POST /api/users does, with what the reviewer chose, and delivers the token once (SL-43, SL-44, SL-46)', async () => {
    const { id, slackUserId } = await ask({ [groups]: ['leads'] }, 'Mira van Dam');
    const view = await on.openReview(id);
    const preset = JSON.stringify(view.view.blocks);
    expect(preset).toContain('"initial_options":[{"text":{"type":"plain_text","text":"requester"');
    expect(preset).toContain('"value":"dba"');
    expect(preset).toContain('mira-van-dam');
    const answer = await on.people.submit(view, { ...approve, [roles]: ['requester', 'dba'] });
    expect([answer.status, answer.text]).toEqual([200, '']);
    expect(await showUser('mira-van-dam')).toMatchObject({
      source: 'slack',
      slack_user_id: slackUserId,
      roles: ['requester', 'dba'],
      groups: ['leads'],
      status: 'active',
    });
    expect(await on.stored(id)).toEqual({ status: 'approved', userId: 'mira-van-dam', decidedBy: 'admin', comment: null });
    const events = await on.eventsOf(id);
    expect(events[1]).toMatchObject({ type: 'onboarding.approved', actor: 'admin', outcome: 'success' });
    expect(events[1]?.metadata).toBe(
      `{"slack_user_id":"${slackUserId}","roles":["requester","dba"],"groups":["leads"],"user_id":"mira-van-dam","channel":"slack"}`,
    );
    const token = await tokenOf(slackUserId);
    const me = (await on.api.call('GET', '/api/me', { token: token! })).body;
    expect(me).toMatchObject({
      subject_id: 'mira-van-dam',
      token: { scope_ceiling: { roles: ['requester', 'dba', 'approver'] } },
    });
    // What notifications show on a locked screen.
    expect(on.fake.directMessages(slackUserId)[0]?.text).not.toContain('svc_');
    expect(on.fake.channelText()).not.toContain(token);
    const deliveries = () =>
      on.rows<{ metadata: string }>(`select metadata_json as metadata from audit_events where event_type = 'token.delivery'`);
    await expect.poll(deliveries).toContainEqual({
      metadata: '{"delivery_status":"delivered","delivery_channel":"slack_dm","plaintext_returned":false,"channel":"slack"}',
    });
    expect(await on.cardsOf(id)).toEqual([{ channel: '#db-approvals', wanted: 2 }]);
  });

  it('leaves the reviewer as the origin of account, roles and link, whose requests the user never approves (HD-70)', async () => {
    const { id } = await ask({}, 'origin');
    await on.decide(id, approve);
    const [row] = await on.rows<object>(
      `select created_by->>'by' as account, role_grants->'requester'->>'by' as role, slack_linked_by->>'by' as link from users where id = 'origin'`,
    );
    expect(row).toEqual({ account: 'admin', role: 'admin', link: 'admin' });
  });

  it.each([
    ['a role outside the assignable ones', { [roles]: ['admin'] }, 'admin'],
    ['a role that is not there', { [roles]: ['nope'] }, 'nope'],
    ['a group outside the assignable ones', { [groups]: ['secret-group'] }, 'secret-group'],
  ])('with %s is refused on decision_block and claims nothing (SL-44)', async (_, inputs, name) => {
    const { id } = await ask();
    const view = await on.openReview(id);
    const answer = await on.people.interact(on.people.submissionOf(view, { ...approve, ...inputs }));
    expect(errorsOf(answer).decision_block).toContain(name);
    expect(await on.stored(id)).toMatchObject({ status: 'pending' });
  });

  it('of which the user id is taken, also by a deleted user, is rolled back (SL-44, IM-62)', async () => {
    for (const name of ['taken', 'gone']) await on.api.createUser(name);
    await on.api.call('DELETE', '/api/users/gone', { token: on.api.tokens.admin });
    for (const name of ['TAKEN', 'gone']) {
      const { id } = await ask({}, name);
      expect(errorsOf(await on.decide(id, approve)).decision_block).toContain('user id is taken');
      expect(await on.stored(id)).toMatchObject({ status: 'pending', userId: null });
      expect((await on.eventsOf(id)).map(({ type }) => type)).toEqual(['onboarding.requested']);
      expect(await on.cardsOf(id)).toMatchObject([{ wanted: 1 }]);
    }
  });

  it('of the reviewer himself, whose account was linked meanwhile, makes no second user (SL-44)', async () => {
    const { id, slackUserId } = await ask({}, 'self');
    await on.api.createUser('selfish', { roles: ['admin'] });
    await link(on.api, 'selfish', slackUserId);
    expect(errorsOf(await on.decide(id, approve, slackUserId)).decision_block).toContain('linked to another user');
    expect(await on.stored(id)).toMatchObject({ status: 'pending' });
    expect((await showUser('self')).code).toBe('user.not_found');
  });

  it('over the user limit is refused on decision_block (IM-69)', async () => {
    const { id } = await ask({}, 'overfull');
    await on.rows(`insert into users (id, source) select 'filler-' || n, 'api' from generate_series(1, 20) as n`);
    expect(errorsOf(await on.decide(id, approve)).decision_block).toContain('user limit reached');
    await on.rows(`delete from users where id like 'filler-%'`);
    expect(await on.stored(id)).toMatchObject({ status: 'pending' });
    expect((await on.decide(id, approve)).text).toBe('');
  });
});

describe('a rejection', () => {
  it('needs a comment, and tells the applicant (SL-45)', async () => {
    const { id, slackUserId } = await ask();
    for (const comment of ['', ' \n'])
      expect(errorsOf(await on.decide(id, { ...reject, 'comment_block/comment_input': comment }))).toEqual({
        comment_block: 'A comment is required to reject.',
      });
    expect((await on.decide(id, reject)).text).toBe('');
    expect(await on.stored(id)).toEqual({ status: 'rejected', userId: null, decidedBy: 'admin', comment: 'who are you?' });
    expect((await on.eventsOf(id))[1]).toEqual({
      type: 'onboarding.rejected',
      actor: 'admin',
      outcome: 'denied',
      reason: 'who are you?',
      metadata: `{"slack_user_id":"${slackUserId}","channel":"slack"}`,
    });
    expect(await on.cardsOf(id)).toEqual([
      { channel: '#db-approvals', wanted: 2 },
      { channel: slackUserId, wanted: 1 },
    ]);
  });

  it('is never what no or another decision is taken for (SL-31)', async () => {
    const { id } = await ask();
    for (const decision of [{}, { 'decision_block/decision_input': 'delete' }]) {
      const answer = await on.people.interact(on.people.submissionOf(await on.openReview(id), decision));
      expect(errorsOf(answer).decision_block).toBe('Choose approve or reject.');
    }
    expect(await on.stored(id)).toMatchObject({ status: 'pending' });
  });
});

it('nothing of it is there while Slack is off (SL-2)', async () => {
  const off = await startOnboardingApi({ toml: (fake) => onboardingToml(fake).replace('"xoxb-test"', '""') });
  try {
    expect((await off.people.slash('join', 'UNEW')).status).toBe(404);
  } finally {
    await off.close();
  }
});
