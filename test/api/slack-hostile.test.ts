import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Loose, Person } from '../support/api.js';
import { reach } from './reach-status.js';
import { clickOf, link, type SlackApi, slackIdOf, startSlackApi } from './slack-calls.js';

type Name = 'owner' | 'approver' | 'stranger' | 'leaving' | 'gone' | 'bare';
const people: Record<Name, Person> = {
  owner: { roles: ['requester'] },
  approver: { roles: ['requester'], groups: ['dba-team'] },
  stranger: { roles: ['requester'] },
  leaving: { roles: ['requester'], groups: ['dba-team'] },
  gone: { roles: ['requester'], groups: ['dba-team'] },
  bare: { roles: ['requester'] },
};

let on: SlackApi<Name>;
beforeAll(async () => {
  on = await startSlackApi(people);
  await on.calls.poll(['shop/production', 'shop/staging', 'shop/dev']);
  const admin = (method: string, path: string, body?: unknown) =>
    on.api.call(method, `/api/users/${path}`, { token: on.tokens.admin, body });
  await admin('POST', 'leaving/suspend');
  await admin('DELETE', 'gone');
  await admin('PATCH', 'bare', { roles: [] });
});
afterAll(() => on?.close());

let views = 0;
const newView = () => {
  views += 1;
  return `VOWN${views}`;
};
interface Submitted {
  callback: string;
  user: string;
  metadata?: unknown;
  values?: unknown;
  view?: string;
}
const payloadOf = ({ callback, user, metadata = '', values = {}, view = newView() }: Submitted): Loose => ({
  type: 'view_submission',
  user: { id: user },
  view: { id: view, callback_id: callback, private_metadata: metadata, state: { values } },
});
const submit = (submitted: Submitted) => on.interact(payloadOf(submitted));
const chosen = (value: unknown) => ({ selected_option: { value } });
const approval = (metadata: string, user: string, view = newView()): Submitted => ({
  callback: 'svc_review_modal',
  user,
  metadata,
  view,
  values: { decision_block: { decision_input: chosen('approve') } },
});
const rejection = (metadata: string, user: string): Submitted => ({
  ...approval(metadata, user),
  values: { decision_block: { decision_input: chosen('reject') }, comment_block: { comment_input: { value: 'no' } } },
});
const resumption = (metadata: string, user: string, view = newView()): Submitted => ({
  callback: 'svc_resume_modal',
  user,
  metadata,
  view,
});
const creation = (pair: unknown, sql: unknown, user: string): Submitted => ({
  callback: 'svc_create_modal',
  user,
  values: { db_env_block: { db_env_input: chosen(pair) }, sql_block: { sql_input: { value: sql } } },
});
const id = slackIdOf;
const create = (over: Record<string, unknown> = {}) => on.calls.created(on.tokens.owner, over);
const shown = async (request: string) => (await on.calls.show(on.tokens.admin, request)).body;
const approvalsOf = async (request: string) =>
  (await shown(request)).approval_progress.steps.flatMap((step: Loose) => step.approvals);
/** All that a call could have changed. */
const state = async () => [
  await on.calls.sql('select id, version, status from requests order by id'),
  await on.calls.sql('select count(*) from decisions'),
  await on.calls.sql(`select count(*) from audit_events where event_type <> 'auth.failure'`),
];

describe('a Slack account without an active user (SL-13)', () => {
  it.each([
    ['UNOBODY', /not linked.*--slack-user-id UNOBODY/],
    [id('leaving'), /suspended/],
    [id('gone'), /not linked/],
    [id('bare'), /no roles/],
    ["U'; drop table users; --", /not linked/],
    ['__proto__', /not linked/],
    ['', /not linked/],
  ])('is told so and does nothing: %s', async (user, text) => {
    const [request, dispatchable] = [await create(), await create()];
    await on.calls.act(on.tokens.approver, dispatchable, 'approve');
    const before = await state();
    const opened = on.fake.callsOf('views.open').length;
    for (const action of ['svc_review', 'svc_resume', 'svc_view_result']) {
      const told = on.fake.callsOf('chat.postEphemeral').length;
      expect((await on.interact(clickOf(user, action, request))).text).toBe('');
      await expect
        .poll(() => on.fake.callsOf('chat.postEphemeral')[told]?.args)
        .toMatchObject({
          channel: 'C1',
          user,
          text: expect.stringMatching(text),
        });
    }
    expect((await submit(approval(request, user))).body.errors).toEqual({ decision_block: expect.stringMatching(text) });
    expect((await submit(rejection(request, user))).body.errors).toEqual({ decision_block: expect.stringMatching(text) });
    const view = (await submit(resumption(dispatchable, user))).body.view;
    expect(view.blocks[0].text.text).toMatch(text);
    expect((await submit(creation('shop/staging', 'select 1', user))).body.errors).toEqual({
      db_env_block: expect.stringMatching(text),
    });
    expect((await on.people.slash('execute', user)).body).toEqual({
      response_type: 'ephemeral',
      text: expect.stringMatching(text),
    });
    expect([await state(), on.fake.callsOf('views.open').length]).toEqual([before, opened]);
  });

  it('is asked for at each call: who is linked elsewhere, or suspended, acts no more (SL-32)', async () => {
    await on.api.createUser('moving', { roles: ['requester'], groups: ['dba-team'] });
    await link(on.api, 'moving', 'UMOVING');
    const [first, second, third] = [await create(), await create(), await create()];
    expect((await submit(approval(first, 'UMOVING'))).text).toBe('');
    await link(on.api, 'moving', 'UELSEWHERE');
    expect((await submit(approval(second, 'UMOVING'))).body.errors.decision_block).toContain('not linked');
    await on.api.call('POST', '/api/users/moving/suspend', { token: on.tokens.admin });
    expect((await submit(approval(third, 'UELSEWHERE'))).body.errors.decision_block).toContain('suspended');
    expect([await approvalsOf(second), await approvalsOf(third)]).toEqual([[], []]);
  });

  it('is not found by the name or e-mail that Slack tells', async () => {
    const payload = {
      ...payloadOf(approval(await create(), 'UNOBODY')),
      user: { id: 'UNOBODY', name: 'approver', username: 'approver', email: 'approver' },
    };
    expect((await on.interact(payload)).body.errors.decision_block).toContain('not linked');
  });
});

describe('what is done in Slack ends as the same call of the API does (SL-I2)', () => {
  const acts = { approve: approval, reject: rejection, resume: resumption } as const;

  it.each(Object.keys(reach))('%s', async (status) => {
    const make = () => reach[status]!(on.calls, { owner: on.tokens.owner, approver: on.tokens.approver });
    for (const act of Object.keys(acts) as (keyof typeof acts)[]) {
      for (const who of ['owner', 'approver', 'stranger'] as const) {
        const [one, other] = [await make(), await make()];
        const body = act === 'reject' ? { comment: 'no' } : {};
        const answer = await on.calls.act(on.tokens[who], one, act, body);
        const inSlack = await submit(acts[act](other, id(who)));
        const said = inSlack.body?.errors?.decision_block ?? inSlack.body?.view?.blocks[0].text.text ?? '';
        const expected = answer.status === 200 ? '' : answer.body.error;
        expect(
          said.startsWith(expected) && (said === '') === (expected === ''),
          `${act} by ${who}: ${said} for ${expected}`,
        ).toBe(true);
        expect((await shown(other)).status).toBe((await shown(one)).status);
      }
    }
  });
});

describe('one modal', () => {
  it('approves once, also where the judge would let its second submission count for the next step (SL-I6)', async () => {
    const request = await create({ environment: 'dev' });
    const view = newView();
    const answers = await Promise.all(Array.from({ length: 8 }, () => submit(approval(request, id('approver'), view))));
    expect(answers.filter(({ text }) => text === '')).toHaveLength(1);
    expect(await approvalsOf(request)).toHaveLength(1);
    expect((await submit(approval(request, id('approver'), view))).body.errors.decision_block).toContain('submitted before');
    expect((await submit(approval(request, id('approver')))).text).toBe('');
    expect((await shown(request)).status).toBe('approved');
  });

  it('resumes once (SL-I6)', async () => {
    const request = await create();
    await on.calls.act(on.tokens.approver, request, 'approve');
    const view = newView();
    const answers = await Promise.all(Array.from({ length: 8 }, () => submit(resumption(request, id('owner'), view))));
    expect(answers.filter(({ text }) => text === '')).toHaveLength(1);
    expect((await on.calls.eventTypes(request)).filter((type) => type === 'request.dispatched')).toHaveLength(1);
  });

  it('of which the outcome was not known in time acts once, and tells (SL-14)', async () => {
    const request = await create({ environment: 'dev' });
    const submitted = approval(request, id('approver'));
    let answer: Loose;
    await on.api.services.database.transaction(async (tx) => {
      await tx.query('select 1 from requests where id = $1 for update', [request]);
      answer = await submit(submitted);
    });
    // The row was locked until the answer came. A lock that is waited for too long is told in other words.
    const unknown = 'the outcome is not known yet: look at the request before you submit again';
    expect(answer!.body.errors).toEqual({ decision_block: unknown });
    await expect.poll(async () => (await approvalsOf(request)).length, { timeout: 15_000 }).toBe(1);
    expect((await submit(submitted)).body.errors.decision_block).toContain('submitted before');
    expect(await approvalsOf(request)).toHaveLength(1);
  });
});

describe('Slack that is slow or away', () => {
  it('holds up no answer (SL-14, SL-15)', async () => {
    const request = await create();
    const before = await state();
    on.fake.always('views.open', { noAnswer: 'hangs' });
    try {
      const command = await on.people.slash('execute', id('owner'));
      expect(command.body).toMatchObject({ response_type: 'ephemeral', text: expect.stringContaining('try again') });
      const answers: string[] = [];
      const click = async () => void answers.push((await on.people.click('svc_review', request, id('approver'))).text);
      expect(await on.told(click, id('approver'))).toContain('try again');
      expect(answers).toEqual(['']);
    } finally {
      on.fake.always('views.open', null);
    }
    expect(await state()).toEqual(before);
    await on.opened(() => on.people.click('svc_review', request, id('approver')), id('approver'));
  });

  it('that refuses a modal is told to the user', async () => {
    on.fake.next('views.open', { error: 'expired_trigger_id' });
    const request = await create();
    const told = await on.told(() => on.people.click('svc_review', request, id('approver')), id('approver'));
    expect(told).toContain('try again');
    on.fake.next('views.open', { error: 'internal_error' });
    expect((await on.people.slash('execute', id('owner'))).text).toContain('try again');
  });
});

describe('a submission that nobody filled in', () => {
  it.each<[string, unknown]>([
    ['an id of nothing', '5a6b7c8d-1111-4222-8333-944445555666'],
    ['SQL', "x'; drop table users; --"],
    ['nothing', ''],
    ['null', null],
    ['a lot', 'x'.repeat(100_000)],
    ['what Postgres does not store', '\u0000\ud800'],
  ])('names %s as its request and finds none (SL-32)', async (_, metadata) => {
    const before = await state();
    expect((await submit({ ...approval('', id('approver')), metadata })).body.errors).toEqual({
      decision_block: 'request not found',
    });
    expect((await submit({ ...resumption('', id('owner')), metadata })).body).toMatchObject({ response_action: 'update' });
    expect(await state()).toEqual(before);
  });

  it('names a request that the user may not see, and is refused like by the API (SL-32)', async () => {
    const request = await create();
    for (const submitted of [approval(request, id('stranger')), rejection(request, id('stranger'))])
      expect((await submit(submitted)).body.errors).toEqual({
        decision_block: expect.stringMatching(/^forbidden: this request is not open to you/),
      });
    expect((await submit(resumption(request, id('stranger')))).text).toContain('forbidden');
    expect((await shown(request)).status).toBe('pending');
  });

  it.each<[string, unknown]>([
    ['no values', undefined],
    ['null', null],
    ['a text', 'decision_block'],
    ['a list', [{ decision_input: 1 }]],
    ['a number as decision', { decision_block: { decision_input: chosen(1) } }],
    ['a list as decision', { decision_block: { decision_input: chosen(['approve']) } }],
    ['a text as option', { decision_block: { decision_input: { selected_option: 'approve' } } }],
    ['what all objects have', { decision_block: { decision_input: chosen('toString') } }],
  ])('has values of another shape: %s', async (_, values) => {
    const request = await create();
    const answer = await submit({ ...approval(request, id('approver')), values: values === undefined ? {} : values });
    expect(answer.body.errors).toEqual({ decision_block: 'Choose to approve or to reject.' });
    expect((await submit({ ...creation('', '', id('owner')), values })).body.errors).toEqual({
      db_env_block: expect.any(String),
    });
    expect((await shown(request)).status).toBe('pending');
  });

  it.each(['x'.repeat(1025), 'é'.repeat(513), 'a\u0000b', 'a\ud800b'])(
    'has a comment that cannot be stored: on its block',
    async (value) => {
      const request = await create();
      const values = { decision_block: { decision_input: chosen('approve') }, comment_block: { comment_input: { value } } };
      expect((await submit({ ...approval(request, id('approver')), values })).body.errors).toEqual({
        comment_block: expect.any(String),
      });
      expect((await shown(request)).status).toBe('pending');
      const reason = { reason_block: { reason_input: { value } } };
      expect((await submit({ ...resumption(request, id('owner')), values: reason })).body.errors).toEqual({
        reason_block: expect.any(String),
      });
    },
  );

  it('is of a view without an id, or with a long one: 400', async () => {
    for (const view of ['', 'V'.repeat(201)])
      expect((await submit(approval(await create(), id('approver'), view))).body).toMatchObject({ code: 'validation.failed' });
  });
});

describe('a server that drains', () => {
  it('makes no requests, and does everything else (section 2)', async () => {
    const draining = await startSlackApi(
      { drainer: { roles: ['requester'], groups: ['dba-team'] }, asker: { roles: ['requester'] } },
      { drainSecs: 10 },
    );
    try {
      const request = await draining.calls.created(draining.tokens.asker);
      draining.api.drain();
      const made = await draining.interact(payloadOf(creation('shop/staging', 'select 1', id('asker'))));
      expect(made.body).toEqual({ response_action: 'errors', errors: { db_env_block: 'server is shutting down' } });
      expect((await draining.interact(payloadOf(approval(request, id('drainer'))))).text).toBe('');
      expect((await draining.interact(payloadOf(resumption(request, id('asker'))))).text).toBe('');
      expect((await draining.people.slash('execute', id('asker'))).text).toBe('');
    } finally {
      await draining.close();
    }
  }, 60_000);
});
