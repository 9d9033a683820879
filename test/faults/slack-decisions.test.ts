import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shopToml } from '../support/api.js';
import { eventually } from '../support/processes.js';
import { share } from '../support/share.js';
import type { Json } from '../support/slack/kept.js';
import { formOf, type Inputs, nowSecs, type SignedCall } from '../support/slack/people.js';
import { temporalAddress } from '../support/temporal.js';
import { databaseToml, groupToml, workflowToml } from '../support/toml.js';
import { expectStatus } from './calls.js';
import { type SlackSystem, startSlackSystem } from './slack-system.js';

const toml = `${shopToml.replace('"production"]', '"production", "either", "both"]')}${databaseToml('other', ['staging'])}${groupToml('sec-team', ['approver'])}${workflowToml(
  {
    environment: 'either',
    steps: [{ any: [{ group: 'dba-team' }, { group: 'sec-team' }] }],
  },
)}${workflowToml({ environment: 'both', steps: [[{ group: 'dba-team' }], [{ group: 'sec-team' }]] })}`;

const approve: Inputs = { 'decision_block/decision_input': 'approve' };
const reject: Inputs = { 'decision_block/decision_input': 'reject', 'comment_block/comment_input': 'not like this' };

let slack: SlackSystem;
const tokens: Record<string, string> = {};
const slackIds: Record<string, string> = {};
beforeAll(async () => {
  slack = await startSlackSystem({ temporalAddress: await temporalAddress(), servers: 2, toml });
  const people: Record<string, string[]> = {
    ann: [],
    ben: ['dba-team'],
    cleo: ['dba-team'],
    both: ['dba-team', 'sec-team'],
    sue: ['dba-team'],
    del: ['dba-team'],
  };
  for (const [id, groups] of Object.entries(people)) {
    slackIds[id] = `U0${id.toUpperCase()}`;
    tokens[id] = await slack.addPerson(id, { slack: slackIds[id], groups });
  }
  slackIds.bare = 'U0BARE';
  tokens.bare = await slack.addPerson('bare', { slack: slackIds.bare, roles: [] });
}, 240_000);
afterAll(() => slack?.close());

const create = async (environment = 'production', by = 'ann', detail = 'select 1'): Promise<string> =>
  String(expectStatus(await slack.api(tokens[by]!, 'POST', '/api/requests', { database: 'shop', environment, detail }), 201).id);

/** What the tables say of a request, without what differs from one request to the next. */
async function outcomeOf(id: string): Promise<Json> {
  const query = async (text: string) => (await slack.system.database.query(text, [id])).rows;
  const [request] = await query(
    'select status, current_step, open_selectors, operation, risk_level, approval_digest, fence from requests where id = $1',
  );
  const decisions = await query(
    'select step, user_id, action, selector, comment from decisions where request_id = $1 order by step, user_id',
  );
  const events = await query(
    'select event_type, outcome, actor_id, reason, metadata_json from audit_events where request_id = $1 order by position',
  );
  return {
    request,
    decisions,
    events: events.map(({ metadata_json, ...event }) => ({ ...event, metadata: withoutOwn(JSON.parse(metadata_json)) })),
  };
}

/** AU-20 says by which way an action came; an API call's token has an id of its own. */
function withoutOwn({ channel: _, auth_token_id: __, ...metadata }: Json): Json {
  return metadata;
}

/** Everything that a call could change, of all tables that people's actions reach. The sealer adds events of its own. */
async function everything(): Promise<Json> {
  const { rows } = await slack.system.database.query(`select
    (select jsonb_agg(to_jsonb(r) - 'updated_at' order by id) from requests r) as requests,
    (select jsonb_agg(to_jsonb(d) order by id) from decisions d) as decisions,
    (select jsonb_agg(jsonb_build_array(id, status, slack_user_id) order by id) from users) as users,
    (select count(*)::int from tokens) as tokens, (select count(*)::int from slack_onboardings) as onboardings,
    (select count(*)::int from audit_events where event_type not like 'auth.%' and event_type <> 'audit.signed_checkpoint') as events`);
  return rows[0];
}

/** The form of a new request that Ann asks for. */
async function openForm() {
  const forms = () => slack.fake.openViews(slackIds.ann!).filter(({ view }) => view.callback_id === 'svc_create_modal');
  const before = new Set(forms().map(({ id }) => id));
  await slack.people[0]!.slash('execute', slackIds.ann!);
  return eventually(() => forms().find(({ id }) => !before.has(id)));
}

const errorOf = ({ body }: { body: Json | null }): string => Object.values(body?.errors ?? {}).join(' ');

describe('calls that Slack did not make (SL-11, SL-12, SL-I1)', () => {
  it('change nothing: forged, altered, stale, of another type, or made again at any server', async () => {
    const id = await create();
    const [people, others] = slack.people as [(typeof slack.people)[0], (typeof slack.people)[0]];
    const view = await slack.open('svc_review', id, slackIds.ben!);
    const body = formOf({ payload: JSON.stringify(people.submissionOf(view, approve)) });
    const good = people.sign('interactions', body);
    const headersOf = (changes: Record<string, string>): SignedCall => ({ ...good, headers: { ...good.headers, ...changes } });
    const forged: SignedCall[] = [
      people.sign('interactions', body, { secret: 'guessed' }),
      people.sign('interactions', body, { secret: '' }),
      people.sign('interactions', body, { secret: slack.fake.botToken }),
      people.sign('interactions', body, { at: nowSecs() - 301 }),
      people.sign('interactions', body, { at: nowSecs() + 310 }),
      { ...good, body: body.replace('approve', 'reject') },
      { ...good, body: `${body}&x=1` },
      headersOf({ 'x-slack-signature': '' }),
      headersOf({ 'x-slack-signature': good.headers['x-slack-signature']!.toUpperCase() }),
      headersOf({ 'x-slack-signature': good.headers['x-slack-signature']!.replace('v0=', 'v1=') }),
      headersOf({ 'x-slack-signature': good.headers['x-slack-signature']!.slice(0, -2) }),
      headersOf({ 'x-slack-request-timestamp': String(nowSecs() + 1) }),
      headersOf({ 'x-slack-request-timestamp': ` ${nowSecs()}.0` }),
      // The token that Slack has deprecated proves nothing.
      headersOf({ 'x-slack-signature': 'legacy-verification-token' }),
      headersOf({ authorization: `Bearer ${tokens.ben}`, 'x-slack-signature': 'v0=0' }),
    ];
    const before = await everything();
    for (const call of forged) for (const server of [people, others]) expect((await server.send(call)).status).toBe(401);
    for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x'])
      expect((await people.send(headersOf({ 'content-type': type }))).status).toBe(415);
    expect(await everything()).toEqual(before);

    const answers = await Promise.all([people.send(good), others.send(good), people.send(good), others.send(good)]);
    expect(answers.map(({ status, text }) => [status, text])).toEqual(answers.map(() => [200, '']));
    const after = await everything();
    expect((await outcomeOf(id)).request.status).toBe('approved');
    for (const server of [people, others]) expect(await server.send(good)).toMatchObject({ status: 200, text: '' });
    expect(await everything()).toEqual(after);
  });
});

describe('people who may not act (SL-13, SL-32)', () => {
  it('are told so, see no modal, and change nothing', async () => {
    const id = await create();
    const view = await slack.open('svc_review', id, slackIds.ben!);
    // Their address alone makes nobody a user.
    slack.fake.workspace.emails.set('ben@example.com', 'U0STRANGER');
    expectStatus(await slack.api(slack.system.tokens.admin, 'POST', '/api/users/sue/suspend'), 200);
    expectStatus(await slack.api(slack.system.tokens.admin, 'DELETE', '/api/users/del'), 200, 204);
    const before = await everything();
    for (const user of ['U0STRANGER', slackIds.sue!, slackIds.del!, slackIds.bare!]) {
      const told = slack.fake.ephemeralsOf(user).length;
      await slack.people[0]!.click('svc_review', id, user);
      await eventually(() => slack.fake.ephemeralsOf(user).length > told);
      expect(slack.fake.openViews(user).filter(({ view: shown }) => shown.submit !== undefined)).toEqual([]);
      const sent = await slack.people[1]!.interact(slack.people[1]!.submissionOf({ ...view, user }, approve));
      expect([sent.status, sent.body?.response_action]).toEqual([200, 'errors']);
      expect((await slack.people[0]!.slash('execute', user)).body?.text).toMatch(/not linked|suspended|no roles|roles/);
    }
    expect(await everything()).toEqual(before);
    expect((await outcomeOf(id)).request.status).toBe('pending');
  });

  it('do not act by a modal that another opened, or by an id that they put into one', async () => {
    const [mine, hidden] = [await create(), await create('production', 'cleo')];
    const view = await slack.open('svc_review', mine, slackIds.ben!);
    const before = await everything();
    const forged = [
      { ...view, user: slackIds.ann! },
      { ...view, user: slackIds.ann!, view: { ...view.view, private_metadata: hidden } },
      { ...view, view: { ...view.view, private_metadata: 'x' } },
      { ...view, view: { ...view.view, private_metadata: '00000000-0000-4000-8000-000000000000' } },
      { ...view, view: { ...view.view, private_metadata: `${mine}' or '1'='1` } },
    ];
    for (const shown of forged) {
      const answer = await slack.people[0]!.interact(slack.people[0]!.submissionOf(shown, approve));
      expect([answer.status, errorOf(answer)]).toEqual([200, expect.stringMatching(/./)]);
    }
    expect(await everything()).toEqual(before);
  });
});

interface Scene {
  what: string;
  environment?: string;
  /** By the API, for both. */
  before?: (id: string) => Promise<unknown>;
  user: string;
  inputs: Inputs;
  selector?: string;
}

const byApi = (user: string, id: string, action: string, body: Json = {}) =>
  slack.api(tokens[user]!, 'POST', `/api/requests/${id}/${action}`, body);

const scenes: Scene[] = [
  { what: 'an approval', user: 'ben', inputs: approve },
  { what: 'a rejection', user: 'ben', inputs: reject },
  { what: 'the requester approves', user: 'ann', inputs: approve },
  { what: 'one of two steps', environment: 'both', user: 'ben', inputs: approve },
  {
    what: 'the other of two steps too early',
    environment: 'both',
    user: 'ben',
    inputs: approve,
    before: (id) => byApi('ben', id, 'approve'),
  },
  {
    what: 'a step that others complete',
    environment: 'both',
    user: 'both',
    inputs: approve,
    before: (id) => byApi('ben', id, 'approve'),
  },
  { what: 'one of two selectors', environment: 'either', user: 'both', inputs: approve, selector: 'group:sec-team' },
  { what: 'two selectors and no word which', environment: 'either', user: 'both', inputs: approve },
  { what: 'what is approved already', user: 'cleo', inputs: approve, before: (id) => byApi('ben', id, 'approve') },
  { what: 'what is cancelled', user: 'cleo', inputs: reject, before: (id) => byApi('ann', id, 'cancel') },
  {
    what: 'a text that was changed past the gateway',
    user: 'cleo',
    inputs: approve,
    before: (id) => slack.system.database.query(`update requests set detail = 'drop table entries' where id = $1`, [id]),
  },
];

describe('an action in Slack', () => {
  it.each(scenes)(
    'has the outcome of the same call of the API: $what (SL-I2, AU-20)',
    async ({ environment, before, user, inputs, selector }) => {
      const [inSlack, inApi] = [await create(environment), await create(environment)];
      // Opened while it may be: what happens until the submission counts.
      const view = await slack.open('svc_review', inSlack, slackIds[user === 'ann' ? 'ben' : user]!);
      for (const id of [inSlack, inApi]) await before?.(id);
      const chosen: Inputs = selector === undefined ? inputs : { ...inputs, 'selector_block/selector_input': selector };
      const action = inputs === approve ? 'approve' : 'reject';
      const comment = inputs['comment_block/comment_input'];
      // The form says which step it shows (RQ-58).
      const step = action === 'approve' ? { expected_step: 0 } : {};
      const answered = await byApi(user, inApi, action, { comment, selector, ...step });
      const answer = await slack.people[0]!.interact(slack.people[0]!.submissionOf({ ...view, user: slackIds[user]! }, chosen));
      expect({ answer: answer.text, refused: answer.text !== '' }).toEqual({
        answer: answer.text,
        refused: answered.status !== 200,
      });
      expect(errorOf(answer)).toContain(answered.status === 200 ? '' : answered.body.error);
      const [left, right] = [await outcomeOf(inSlack), await outcomeOf(inApi)];
      delete left.request.approval_digest;
      delete right.request.approval_digest;
      expect(left).toEqual(right);
      if (answered.status === 200) {
        const { rows } = await slack.system.database.query(
          `select metadata_json from audit_events where request_id = $1 and actor_id = $2 order by position desc limit 1`,
          [inSlack, user],
        );
        expect(JSON.parse(rows[0].metadata_json)).toMatchObject({ channel: 'slack' });
      }
    },
  );

  it('is refused to an account that the requester linked, though its user may approve with a token (HD-70, SL-13)', async () => {
    const boss = await slack.addPerson('boss', { slack: 'U0BOSS', roles: ['admin', 'requester'] });
    tokens.boss = boss;
    tokens.pawn = await slack.addPerson('pawn', { groups: ['dba-team'] });
    expectStatus(await slack.api(boss, 'PATCH', '/api/users/pawn', { slack_user_id: 'U0PAWN' }), 200);
    const id = await create('production', 'boss');
    const refused = await slack.review(id, 'U0PAWN', approve);
    expect(errorOf(refused)).toContain('linked your Slack account');
    expect((await outcomeOf(id)).request.status).toBe('pending');
    expectStatus(await byApi('pawn', id, 'approve'), 200);
  });

  it('is resumed, run and read as with the API (SL-I2)', async () => {
    const id = await create('production', 'ann', "select 'read in ' || 'a modal' as said");
    expect((await slack.review(id, slackIds.ben!, approve)).text).toBe('');
    const view = await slack.open('svc_resume', id, slackIds.ann!);
    expect((await slack.people[1]!.submit(view, { 'reason_block/reason_input': 'now' })).text).toBe('');
    await eventually(async () => (await outcomeOf(id)).request.status === 'executed', 60_000);
    await slack.people[0]!.click('svc_view_result', id, slackIds.ann!);
    await eventually(() =>
      slack.fake.openViews(slackIds.ann!).some((shown) => JSON.stringify(shown.view).includes('read in a modal')),
    );
    await slack.people[0]!.click('svc_view_result', id, slackIds.cleo!);
    await eventually(() => slack.fake.ephemeralsOf(slackIds.cleo!).length > 0 || slack.fake.openViews(slackIds.cleo!).length > 0);
    expect(JSON.stringify(slack.fake.openViews(slackIds.cleo!))).not.toContain('read in a modal');
  });

  it('creates a request as the API does (SL-33, SL-I2)', async () => {
    const view = await openForm();
    const inputs = {
      'db_env_block/db_env_input': 'shop/production',
      'sql_block/sql_input': 'select 42',
      'reason_block/reason_input': 'to know',
    };
    expect((await slack.people[0]!.submit(view, inputs)).text).toBe('');
    const { rows } = await slack.system.database.query(
      `select id, metadata, emergency, allow_ddl, reason from requests where idempotency_key = $1`,
      [`slack-${view.id}`],
    );
    expect(rows).toMatchObject([{ emergency: false, allow_ddl: false, reason: 'to know' }]);
    expect(JSON.parse(rows[0].metadata)).toEqual({ source: 'slack', slack_user_id: slackIds.ann });
    const made = expectStatus(
      await slack.api(tokens.ann!, 'POST', '/api/requests', {
        database: 'shop',
        environment: 'production',
        detail: 'select 42',
        reason: 'to know',
      }),
      201,
    );
    const [left, right] = [await outcomeOf(rows[0].id), await outcomeOf(String(made.id))];
    for (const one of [left, right]) {
      delete one.request.approval_digest;
      for (const event of one.events) delete event.metadata.idempotency_key;
    }
    expect(left).toEqual(right);
  });
});

describe('a submission that takes too long', () => {
  it('is answered before Slack gives up, ends as it will, and acts once when it is sent again (SL-14)', async () => {
    const id = await create();
    const view = await slack.open('svc_review', id, slackIds.ben!);
    const lock = await slack.system.database.connect();
    await lock.query('begin');
    await lock.query('select from requests where id = $1 for update', [id]);
    const late = await slack.people[0]!.submit(view, approve);
    await lock.query('rollback');
    lock.release();
    expect([late.status, errorOf(late)]).toEqual([200, expect.stringContaining('not known')]);
    expect(late.tookMs).toBeLessThan(3000);
    await eventually(async () => (await outcomeOf(id)).request.status === 'approved');
    const before = await everything();
    expect(errorOf(await slack.people[1]!.submit(view, approve))).not.toBe('');
    expect(await everything()).toEqual(before);
  });
});

describe('a modal', () => {
  it('that is lost with its server opens with another click, and nothing hangs on it (SL-15)', async () => {
    const id = await create();
    const before = await outcomeOf(id);
    const asked = slack.fake.callsOf('views.open').length;
    slack.fake.next('views.open', { noAnswer: 'hangs' });
    await slack.people[0]!.click('svc_review', id, slackIds.ben!);
    await eventually(() => slack.fake.callsOf('views.open').length > asked);
    const [server] = slack.system.servers;
    await server!.kill();
    await server!.start();
    expect(await outcomeOf(id)).toEqual(before);
    expect((await slack.review(id, slackIds.ben!, approve)).text).toBe('');
    expect((await outcomeOf(id)).request.status).toBe('approved');
  });
});

describe('many submissions of one modal at once', () => {
  const rounds = share(3, 15);

  it('make one approval, one request, one dispatch (SL-I6, SL-14)', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const id = await create();
      const view = await slack.open('svc_review', id, slackIds.ben!);
      const submitAll = (shown: typeof view, inputs: Inputs) =>
        Promise.all(
          Array.from({ length: 8 }, (_, n) => slack.people[n % 2]!).map((people) =>
            people.interact(people.submissionOf(shown, inputs)),
          ),
        );
      const answers = await submitAll(view, approve);
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      expect((await outcomeOf(id)).decisions).toMatchObject([{ user_id: 'ben', action: 'approve' }]);
      await submitAll(await slack.open('svc_resume', id, slackIds.ann!), {});
      expect((await outcomeOf(id)).request.fence).toBe(1);
      await eventually(async () => (await outcomeOf(id)).request.status === 'executed');

      const form = await openForm();
      const inputs = {
        'db_env_block/db_env_input': 'shop/production',
        'sql_block/sql_input': `select ${round}`,
        'reason_block/reason_input': 'once',
      };
      await submitAll(form, inputs);
      const { rows } = await slack.system.database.query('select 1 from requests where idempotency_key = $1', [
        `slack-${form.id}`,
      ]);
      expect(rows).toHaveLength(1);
    }
  }, 300_000);

  it('of two who decide at once one decision stands (SL-I6)', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const id = await create();
      const views = [await slack.open('svc_review', id, slackIds.ben!), await slack.open('svc_review', id, slackIds.cleo!)];
      const answers = await Promise.all(views.map((view, n) => slack.people[n]!.submit(view, n === 0 ? approve : reject)));
      expect(answers.filter(({ text }) => text === '')).toHaveLength(1);
      const { request, decisions } = await outcomeOf(id);
      expect(decisions).toHaveLength(1);
      expect(request.status).toBe(decisions[0].action === 'approve' ? 'approved' : 'rejected');
    }
  }, 300_000);
});
