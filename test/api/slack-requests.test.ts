import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, Loose } from '../support/api.js';
import type { OpenView } from '../support/slack/kept.js';
import { type SlackApi, slackIdOf, startSlackApi } from './slack-calls.js';

type Person = 'owner' | 'approver' | 'lead' | 'both' | 'stranger' | 'limited';

let on: SlackApi<Person>;
beforeAll(async () => {
  on = await startSlackApi({
    owner: { roles: ['requester'] },
    approver: { roles: ['requester'], groups: ['dba-team'] },
    lead: { roles: ['requester'], groups: ['leads'] },
    both: { roles: ['requester'], groups: ['dba-team', 'leads'] },
    stranger: { roles: ['requester'] },
    limited: { roles: ['ledger-user'] },
  });
  await on.calls.poll(['shop/production', 'shop/staging', 'shop/qa', 'shop/dev', 'ledger/production']);
});
afterAll(() => on?.close());

const id = slackIdOf;
const create = (over: Record<string, unknown> = {}, who: Person = 'owner') => on.calls.created(on.tokens[who], over);
const click = (action: string, request: string, who: Person) => () => on.people.click(action, request, id(who));
const opened = (action: string, request: string, who: Person) => on.opened(click(action, request, who), id(who));
const review = (request: string, who: Person = 'approver') => opened('svc_review', request, who);
const told = (action: string, request: string, who: Person) => on.told(click(action, request, who), id(who));
const approve = { 'decision_block/decision_input': 'approve' };
const closed = { status: 200, text: '' };
const errors = (answer: { body: Loose }) => answer.body?.errors;
const shown = (view: OpenView) => JSON.stringify(view.view);
const statusOf = async (request: string) => (await on.calls.show(on.tokens.admin, request)).body.status;
const audited = async (request: string, type: string) =>
  on.calls.sql<Loose>('select * from audit_events where request_id = $1 and event_type = $2', [request, type]);
const approvals = async (request: string) =>
  (await on.calls.show(on.tokens.admin, request)).body.approval_progress.steps.flatMap((step: Loose) => step.approvals);
const rows = '{"rows":[{"b":9007199254740993,"a":1.0}],"truncated":false,"truncation_reason":null}';

/** A request of the owner whose step the approver has approved. */
async function approved(over: Record<string, unknown> = {}): Promise<string> {
  const request = await create(over);
  const answer = await on.calls.act(on.tokens.approver, request, 'approve');
  expect(answer.status, answer.text).toBe(200);
  return request;
}

describe('the review of a request (SL-20, SL-22)', () => {
  it('opens a modal within the time of its trigger and fills it', async () => {
    const sql = "select '`a`', '<!channel> *bold*' from t -- ```";
    const request = await create({ detail: sql, reason: 'because' });
    const answers: Answer['status'][] = [];
    const view = await on.opened(
      async () => answers.push((await on.people.click('svc_review', request, id('approver'))).status),
      id('approver'),
    );
    expect(answers).toEqual([200]);
    const { body } = await on.calls.show(on.tokens.approver, request);
    for (const text of [
      JSON.stringify(sql).slice(1, -1),
      body.approval_digest.slice(0, 12),
      'because',
      'owner',
      'shop/production',
      request,
    ])
      expect(shown(view)).toContain(text);
    expect(shown(view)).not.toContain(body.approval_digest.slice(0, 13));
    expect(view.view).toMatchObject({ callback_id: 'svc_review_modal', private_metadata: `${request} 0` });
  });

  it('is open to whom the API shows the request, and tells others the same as the API (SL-I2)', async () => {
    const request = await create({ detail: 'select secret_of_the_owner' });
    for (const who of ['stranger', 'limited'] as const) {
      const before = on.fake.openViews(id(who)).length;
      expect(await told('svc_review', request, who)).toMatch(/^forbidden: \S/);
      expect(on.fake.openViews(id(who))).toHaveLength(before);
    }
    expect(await told('svc_review', '5a6b7c8d-1111-4222-8333-944445555666', 'approver')).toBe('request not found');
    expect(await told('svc_review', "x'; drop table users; --", 'approver')).toBe('request not found');
    expect(on.fake.channelText()).not.toContain('secret_of_the_owner');
  });

  it('approves with a comment', async () => {
    const request = await create();
    const view = await review(request);
    expect(await on.people.submit(view, { ...approve, 'comment_block/comment_input': 'fine' })).toMatchObject(closed);
    expect(await statusOf(request)).toBe('approved');
    expect(await approvals(request)).toMatchObject([{ user: 'approver', action: 'approve', comment: 'fine' }]);
  });

  it('rejects, with a comment only (SL-30)', async () => {
    const request = await create();
    const view = await review(request);
    const reject = { 'decision_block/decision_input': 'reject' };
    for (const comment of [{}, { 'comment_block/comment_input': ' \n ' }, { 'comment_block/comment_input': '\u0085\u200b' }]) {
      const answer = await on.people.submit(view, { ...reject, ...comment });
      expect(answer.body).toEqual({ response_action: 'errors', errors: { comment_block: 'A comment is required to reject.' } });
    }
    expect(await statusOf(request)).toBe('pending');
    expect(await on.people.submit(view, { ...reject, 'comment_block/comment_input': 'no' })).toMatchObject(closed);
    expect(await statusOf(request)).toBe('rejected');
  });

  it.each([{}, { 'decision_block/decision_input': 'constructor' }, { 'decision_block/decision_input': 'REJECT' }])(
    'takes no other decision: %j (SL-31)',
    async (inputs) => {
      const request = await create();
      const answer = await on.people.submit(await review(request), { ...inputs, 'comment_block/comment_input': 'x' });
      expect(errors(answer)).toEqual({ decision_block: 'Choose to approve or to reject.' });
      expect(await statusOf(request)).toBe('pending');
    },
  );

  it('shows what the judge refuses on the decision: duplicate, decided, expired, own (SL-31)', async () => {
    const request = await create({ environment: 'qa', reason: 'r' });
    const [first, second] = [await review(request), await review(request)];
    expect(await on.people.submit(first, approve)).toMatchObject(closed);
    expect(errors(await on.people.submit(second, approve)).decision_block).toContain('already approved');
    const decided = await create();
    const late = await review(decided);
    await on.calls.act(on.tokens.owner, decided, 'cancel');
    expect(errors(await on.people.submit(late, approve)).decision_block).toBe('request is cancelled');
    const over = await create();
    const expired = await review(over);
    await on.calls.endClock(over, 'pending', false);
    expect(errors(await on.people.submit(expired, approve)).decision_block).toBe('request has expired');
    const own = await create({}, 'approver');
    expect(errors(await on.people.submit(await review(own), approve)).decision_block).toMatch(/^forbidden: \S/);
  });

  it('approves the step that it shows, and no other (RQ-58)', async () => {
    const request = await create({ environment: 'dev' });
    const [first, second, third] = [await review(request), await review(request), await review(request, 'both')];
    expect(shown(first)).toContain('1/2');
    expect(await on.people.submit(first, approve)).toMatchObject(closed);
    expect(errors(await on.people.submit(second, approve)).decision_block).toContain('already approved this step');
    expect(errors(await on.people.submit(third, approve)).decision_block).toContain('another step than the one that was shown');
    expect(await approvals(request)).toMatchObject([{ user: 'approver' }]);
    const next = await review(request);
    expect(shown(next)).toContain('2/2');
    expect(await on.people.submit(next, approve)).toMatchObject(closed);
    expect(await statusOf(request)).toBe('approved');
  });

  it('asks for the selector where several are open, and refuses an approval that does not say', async () => {
    const request = await create({ environment: 'qa', reason: 'r' });
    const view = await review(request, 'both');
    const answer = await on.people.submit(view, approve);
    expect(errors(answer).decision_block).toMatch(/ambiguous.*group:dba-team, group:leads/);
    const chosen = { ...approve, 'selector_block/selector_input': 'group:leads' };
    expect(
      errors(await on.people.submit(view, { ...chosen, 'selector_block/selector_input': 'group:other' })).decision_block,
    ).toContain('do not match');
    expect(await on.people.submit(view, chosen)).toMatchObject(closed);
    expect((await audited(request, 'request.approved')).length).toBe(0);
    expect(await approvals(request)).toHaveLength(1);
    expect(shown(await review(request, 'approver'))).not.toContain('selector_block');
  });

  it('has nothing to submit once there is nothing to decide', async () => {
    const request = await approved();
    const view = await review(request, 'owner');
    expect([view.view.submit, view.view.callback_id]).toEqual([undefined, undefined]);
    expect(shown(view)).toContain('This request is approved');
  });

  it('refuses to approve a text that is not the one that was judged (C15)', async () => {
    const request = await create({ detail: 'select 1' });
    const view = await review(request);
    await on.calls.sql('alter table requests disable trigger user');
    await on.calls.sql('update requests set detail = $2 where id = $1', [request, 'select 2']);
    await on.calls.sql('alter table requests enable trigger user');
    expect(errors(await on.people.submit(view, approve)).decision_block).toContain('approved content changed');
    expect(await statusOf(request)).toBe('failed');
  });

  it('does not count a selector that the requester granted, nor a link that the requester made (HD-70, SL-13)', async () => {
    await on.api.createUser('boss', { roles: ['admin', 'requester'] });
    const boss = (await on.api.call('POST', '/api/users/boss/reissue-initial-token', { token: on.tokens.admin })).body.token;
    const request = await on.calls.created(boss);
    const relinked = { slack_user_id: 'UMOVED' };
    expect((await on.api.call('PATCH', '/api/users/approver', { token: boss, body: relinked })).status).toBe(200);
    const view = await on.opened(() => on.people.click('svc_review', request, 'UMOVED'), 'UMOVED');
    expect(errors(await on.people.submit(view, approve)).decision_block).toMatch(
      /forbidden: the requester linked your Slack account/,
    );
    await on.api.call('PATCH', '/api/users/approver', { token: on.tokens.admin, body: { slack_user_id: id('approver') } });
    expect(await on.people.submit(await review(request), approve)).toMatchObject(closed);
  });
});

describe('running a request', () => {
  it('asks first, and then dispatches it', async () => {
    const request = await approved();
    const view = await opened('svc_resume', request, 'owner');
    expect(view.view).toMatchObject({ callback_id: 'svc_resume_modal', private_metadata: `${request} 0` });
    expect(await statusOf(request)).toBe('approved');
    expect(await on.people.submit(view, { 'reason_block/reason_input': 'now' })).toMatchObject(closed);
    expect(await statusOf(request)).toBe('dispatched');
    expect((await audited(request, 'request.dispatched'))[0]).toMatchObject({ reason: 'now', actor_id: 'owner' });
  });

  it('is refused at the click as the API refuses it', async () => {
    const pending = await create();
    expect(await told('svc_resume', pending, 'owner')).toBe('request is pending');
    expect(await told('svc_resume', pending, 'stranger')).toMatch(/^forbidden: \S/);
    const request = await approved({ share_with: ['stranger'] });
    expect(await told('svc_resume', request, 'stranger')).toMatch(/^forbidden: \S/);
    await on.calls.act(on.tokens.owner, request, 'resume');
    expect(await told('svc_resume', request, 'owner')).toBe('request is already dispatched');
  });

  it('shows what the judge refuses in place of the modal (SL-31)', async () => {
    const request = await approved();
    const [first, second] = [await opened('svc_resume', request, 'owner'), await opened('svc_resume', request, 'owner')];
    expect(await on.people.submit(first, {})).toMatchObject(closed);
    const answer = await on.people.submit(second, {});
    expect(answer.body).toMatchObject({ response_action: 'update', view: { type: 'modal', title: { text: 'Error' } } });
    expect(answer.text).toContain('request is already dispatched');
  });

  it('runs nothing again by a form that was opened before it ran (RQ-88)', async () => {
    const { id: request } = await on.calls.run(on.tokens.owner, { environment: 'staging' }, { success: true });
    const [first, second] = [await opened('svc_resume', request, 'owner'), await opened('svc_resume', request, 'owner')];
    expect(await on.people.submit(first, {})).toMatchObject(closed);
    await on.calls.submit((await on.calls.claimed(request)).executionId, { success: true });
    expect((await on.people.submit(second, {})).text).toContain('it was resumed since it was shown');
    expect(await statusOf(request)).toBe('executed');
  });
});

describe('the result of a request (SL-21)', () => {
  const run = (result: object, over = {}) => on.calls.run(on.tokens.owner, over, result);

  it('is shown as it is stored', async () => {
    const { id: request } = await run({ success: true, result_data: rows });
    const view = await opened('svc_view_result', request, 'owner');
    expect(shown(view)).toContain(JSON.stringify(rows).slice(1, -1));
    expect(shown(view)).toContain(`${rows.length} bytes`);
    expect(shown(view)).not.toContain('svc request result');
  });

  it.each([
    ['JSON', (fill: string) => `{"rows":[{"a":"${fill}"}],"truncated":false,"truncation_reason":null}`],
    ['text', (fill: string) => `no JSON ${fill}`],
  ])('is cut at 2500 bytes, between characters: %s', async (_, make) => {
    for (const fill of ['é'.repeat(5000), `${'x'}${'é'.repeat(5000)}`, 'x'.repeat(2_000_000)]) {
      const data = make(fill);
      const { id: request } = await run({ success: true, result_data: data });
      const view = await opened('svc_view_result', request, 'owner');
      const expected = new TextDecoder().decode(Buffer.from(data).subarray(0, 2500), { stream: true });
      expect(shown(view)).toContain(JSON.stringify(expected).slice(1, -1));
      expect(shown(view)).not.toContain('\ufffd');
      expect(shown(view)).toContain(`svc request result ${request}`);
      expect(shown(view)).toContain(`${Buffer.byteLength(data)} bytes`);
    }
  });

  it('of a failure is its error', async () => {
    const { id: request } = await run({ success: false, error_message: 'ERROR: relation "t" does not exist' });
    expect(shown(await opened('svc_view_result', request, 'owner'))).toContain('does not exist');
  });

  it('follows the rules of results: who may read, and what is there', async () => {
    const { id: request } = await run({ success: true, result_data: '{"rows":["result_of_the_owner"]}' });
    for (const who of ['stranger', 'approver'] as const)
      expect(await told('svc_view_result', request, who)).toMatch(/^forbidden: \S/);
    const kept = await run({ success: true, result_data: rows }, { no_result_store: true });
    expect(await told('svc_view_result', kept.id, 'owner')).toMatch(/^result not stored for this request/);
    expect(await told('svc_view_result', await create(), 'owner')).toBe('no result yet');
    expect(JSON.stringify(on.fake.workspace.ephemerals) + on.fake.channelText()).not.toContain('result_of_the_owner');
  });

  it('that is not as it was recorded ends the modal that waits for it (RS-36)', async () => {
    const { id: request, executionId } = await run({ success: true, result_data: rows });
    await on.calls.sql(`update results set sha256 = repeat('0', 64) where execution_id = $1`, [executionId]);
    const view = await opened('svc_view_result', request, 'owner');
    expect(shown(view)).toContain('internal server error');
  });
});

describe('a new request (SL-33)', () => {
  const form = async (who: Person = 'owner') =>
    on.opened(async () => expect(await on.people.slash('execute', id(who))).toMatchObject(closed), id(who));
  const inputs = (pair: string, sql: string, reason = 'why') => ({
    'db_env_block/db_env_input': pair,
    'sql_block/sql_input': sql,
    'reason_block/reason_input': reason,
  });
  const found = (detail: string) => on.calls.sql<Loose>('select * from requests where detail = $1', [detail]);

  it('offers the pairs on which the user may ask for SQL, sorted', async () => {
    const pairs = async (who: Person) => {
      const { blocks } = (await form(who)).view;
      return blocks[0].element.options.map(({ value }: Loose) => value);
    };
    expect(await pairs('limited')).toEqual(['ledger/production', 'ledger/staging']);
    expect(await pairs('owner')).toEqual([
      'ledger/production',
      'ledger/staging',
      ...['dev', 'lab', 'production', 'qa', 'staging'].map((name) => `shop/${name}`),
    ]);
  });

  it('is what the API makes of the same body', async () => {
    const sql = `update t set a = '\`<!channel>\`' where id = 1`;
    const view = await form();
    expect(await on.people.submit(view, inputs('shop/production', sql))).toMatchObject(closed);
    const [request] = await found(sql);
    expect(request).toMatchObject({
      requester: 'owner',
      database: 'shop',
      environment: 'production',
      operation: 'execute_dml',
      reason: 'why',
      emergency: false,
      status: 'pending',
      idempotency_key: `slack-${view.id}`,
      metadata: JSON.stringify({ source: 'slack', slack_user_id: id('owner') }),
    });
    const [event] = await audited(request!.id, 'request.created');
    expect(JSON.parse(event!.metadata_json)).toMatchObject({ channel: 'slack', emergency: false, allow_ddl: false });
  });

  it.each([
    ['shop/production', 'drop table t', 'sql_block', /./],
    ['shop/production', 'not sql', 'sql_block', /./],
    ['shop/production', ' ', 'sql_block', /./],
    ['shop/production', 'select \u0000', 'sql_block', /U\+0000/],
    ['shop/production', 'delete from t', 'sql_block', /./],
    ['shop/lab', 'select 1', 'sql_block', /no workflow/],
    ['shop/nowhere', 'select 1', 'db_env_block', /./],
    ['nowhere', 'select 1', 'db_env_block', /Choose/],
    ['a/b/c', 'select 1', 'db_env_block', /Choose/],
    ['*/*', 'select 1', 'db_env_block', /./],
  ])('on %s of %j is refused on %s (SL-31)', async (pair, sql, block, text) => {
    const answer = await on.people.submit(await form(), inputs(pair, sql));
    expect(errors(answer)).toEqual({ [block]: expect.stringMatching(text) });
  });

  it('needs the reason where the workflow does, on its own block', async () => {
    const answer = await on.people.submit(await form(), inputs('shop/qa', 'select 1', ' '));
    expect(errors(answer)).toEqual({ reason_block: expect.stringContaining('reason is required') });
  });

  it('says what the API warns of: that nobody can approve it (RQ-38)', async () => {
    const answer = await on.people.submit(await form(), inputs('shop/qa', 'select 73'));
    const [request] = await found('select 73');
    expect(answer.body).toMatchObject({ response_action: 'update', view: { title: { text: 'Request made' } } });
    for (const text of [request!.id, 'nobody can approve step 2 of 2 as things are', 'user:erin'])
      expect(answer.text).toContain(text);
  });

  it('cannot go where the user has no right, whatever the form offered (SL-32)', async () => {
    const answer = await on.people.submit(await form('limited'), inputs('shop/production', 'select 1'));
    expect(errors(answer)).toEqual({ db_env_block: expect.stringMatching(/^forbidden: you lack \S/) });
  });

  it('is one for one modal, however often that is submitted (SL-14, SL-I6)', async () => {
    const view = await form();
    const payload = on.people.submissionOf(view, inputs('shop/production', 'select 71'));
    const answers = await Promise.all(Array.from({ length: 6 }, () => on.interact(payload)));
    expect(answers.map(({ status, text }) => [status, text])).toEqual(Array(6).fill([200, '']));
    expect(await found('select 71')).toHaveLength(1);
    const other = on.people.submissionOf(view, inputs('shop/production', 'select 72'));
    expect(errors(await on.interact(other)).sql_block).toContain('idempotency key');
    expect(await found('select 72')).toHaveLength(0);
  });
});

describe('AU-20', () => {
  it('the events of what is done in Slack name the user, the channel and the address', async () => {
    const request = await create();
    await on.people.submit(await review(request), approve);
    const [event] = await audited(request, 'request.approved');
    expect(event).toMatchObject({ actor_id: 'approver', actor_type: 'user', peer_ip: '127.0.0.1', client_ip: '127.0.0.1' });
    expect(event!.metadata_json).toBe('{"matched_selector":"group:dba-team","channel":"slack"}');
    await on.calls.act(on.tokens.owner, request, 'resume');
    expect((await audited(request, 'request.dispatched'))[0]!.metadata_json).not.toContain('channel');
  });
});
