import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lockWaits } from '../support/active-statement.js';
import type { Answer, Loose } from '../support/api.js';
import { link, type SlackApi, slackIdOf, startSlackApi } from './slack-calls.js';

type Name = 'owner' | 'approver' | 'courier' | 'boss' | 'peer';

let on: SlackApi<Name>;
beforeAll(async () => {
  on = await startSlackApi(
    {
      owner: { roles: ['requester'] },
      approver: { roles: ['requester'], groups: ['dba-team'] },
      courier: { roles: ['requester'], groups: ['dba-team'] },
      boss: { roles: ['admin', 'requester'] },
      peer: { roles: ['admin', 'requester'] },
    },
    { toml: '[slack.onboarding]\nenabled = true\nassignable_roles = ["requester"]\n\n' },
  );
  await on.calls.poll(['shop/production', 'shop/staging']);
});
afterAll(() => on?.close());

const ids = { owner: slackIdOf('owner'), approver: slackIdOf('approver'), boss: slackIdOf('boss') };
const approves = (id: string, token: string) => on.calls.act(token, id, 'approve');
const tokenIn = (text: string) => /svc_[0-9a-f]{32}/.exec(text)?.[0] ?? '';

describe('a token that Slack delivers (HD-70)', () => {
  const reissued = async (slackUserId: string): Promise<string> => {
    const path = '/api/users/courier/reissue-initial-token';
    const { body } = await on.api.call('POST', path, { token: on.tokens.peer });
    expect(body.delivery_status).toBe('delivered');
    return tokenIn(JSON.stringify(on.fake.directMessages(slackUserId)));
  };

  it('approves nothing of a requester who linked the Slack account that it went to, whoever issued it', async () => {
    const body = { slack_user_id: 'UBOSSASWELL' };
    expect((await on.api.call('PATCH', '/api/users/courier', { token: on.tokens.boss, body })).status).toBe(200);
    const token = await reissued('UBOSSASWELL');
    const { status, body: told } = await approves(await on.calls.created(on.tokens.boss), token);
    expect([status, told.hint]).toEqual([
      403,
      expect.stringMatching(/^the requester issued the token you use, or linked the Slack account that it went to/),
    ]);
    expect((await approves(await on.calls.created(on.tokens.owner), token)).status).toBe(200);
    await link(on.api, 'courier', slackIdOf('courier'));
  });

  it('approves what others than its issuer and whoever made the link ask for', async () => {
    expect((await approves(await on.calls.created(on.tokens.boss), await reissued(slackIdOf('courier')))).status).toBe(200);
  });
});

describe('a Slack account whose link ends while its call waits (SL-13)', () => {
  const values = (block: string, input: string, value: Loose) => ({ [block]: { [input]: value } });
  const chosen = (value: string) => ({ selected_option: { value } });
  let views = 0;
  const submit = (user: string, callback: string, metadata: string, state: Loose) => {
    views += 1;
    const view = { id: `VLINK${views}`, callback_id: callback, private_metadata: metadata, state: { values: state } };
    return on.interact({ type: 'view_submission', user: { id: user }, view });
  };
  const decide = (user: string, callback: string, id: string, decision: string) =>
    submit(user, callback, id, {
      ...values('decision_block', 'decision_input', chosen(decision)),
      ...values('comment_block', 'comment_input', { value: 'no' }),
    });
  const onboarding = async () => {
    await submit('UNEW', 'svc_onboarding', '', values('reason_block', 'reason_input', { value: 'on call' }));
    const [row] = await on.calls.sql<{ id: string }>(`select id from slack_onboardings where status = 'pending'`);
    return row!.id;
  };
  const pending = () => on.calls.created(on.tokens.owner);
  const approved = async () => {
    const id = await pending();
    await approves(id, on.tokens.approver);
    return id;
  };

  /** All that a call could have changed. */
  const state = async () => [
    await on.calls.sql('select id, version, status from requests order by id'),
    await on.calls.sql('select count(*) from decisions'),
    await on.calls.sql('select count(*) from users'),
    await on.calls.sql('select id, status from slack_onboardings order by id'),
  ];

  const made = {
    ...values('db_env_block', 'db_env_input', chosen('shop/staging')),
    ...values('sql_block', 'sql_input', { value: 'select 1' }),
  };
  const calls: [string, 'owner' | 'approver' | 'boss', () => Promise<() => Promise<Answer>>][] = [
    [
      'approves',
      'approver',
      async () =>
        (
          (id) => () =>
            decide(ids.approver, 'svc_review_modal', id, 'approve')
        )(await pending()),
    ],
    [
      'rejects',
      'approver',
      async () =>
        (
          (id) => () =>
            decide(ids.approver, 'svc_review_modal', id, 'reject')
        )(await pending()),
    ],
    [
      'resumes',
      'owner',
      async () =>
        (
          (id) => () =>
            submit(ids.owner, 'svc_resume_modal', id, {})
        )(await approved()),
    ],
    ['creates nothing', 'owner', async () => () => submit(ids.owner, 'svc_create_modal', '', made)],
    [
      'makes no user',
      'boss',
      async () =>
        (
          (id) => () =>
            decide(ids.boss, 'svc_onboarding_review_submit', id, 'approve')
        )(await onboarding()),
    ],
  ];

  it.each(calls)('%s', async (_, who, prepare) => {
    const call = await prepare();
    const before = await state();
    let answer: Promise<Answer> | undefined;
    await on.api.services.database.transaction(async (tx) => {
      await tx.query('select 1 from users where id = $1 for update', [who]);
      answer = call();
      await expect.poll(() => on.calls.sql(lockWaits), { timeout: 10_000, interval: 10 }).not.toEqual([]);
      await tx.query('update users set slack_user_id = null where id = $1', [who]);
    });
    expect((await answer!).text).toContain('no longer linked');
    expect(await state()).toEqual(before);
    await link(on.api, who, ids[who]);
  });
});
