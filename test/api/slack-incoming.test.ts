import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { slackSignature } from '../../crypto/slack-signature.js';
import { deleteOldSignatures } from '../../db/slack-signatures.js';
import { startTestApi, type TestApi } from '../support/api.js';
import { clickOf, formOf, interactionOf, type SlackApi, slackPost, startSlackApi } from './slack-calls.js';

const toml = '[rate_limits]\nper_address = 0\nauth_failures_per_address = 0\n';
const callsOf = ['interactions', 'commands'] as const;

let on: SlackApi<'alice'>;
let api: TestApi;
beforeAll(async () => {
  on = await startSlackApi({ alice: { roles: ['requester'] } }, {});
  ({ api } = on);
});
afterAll(() => on?.close());
beforeEach(() => void on.fake.calls.splice(0));

const refused = { status: 401, body: { error: 'invalid token', code: 'auth.invalid_token', hint: null } };
const nothing = { status: 200, text: '' };
const seconds = (offset: number) => String(Math.floor(Date.now() / 1000) + offset);
const help = () => formOf({ user_id: 'UALICE', text: 'help', trigger_id: 'T1' });

describe('a gateway without Slack (SL-2)', () => {
  it.each([
    ['bot_token = "xoxb-1"', 'signing_secret = ""'],
    ['bot_token = " "', 'signing_secret = "slk-secret"'],
    ['bot_token = ""', 'signing_secret = ""'],
  ])('has neither endpoint: %s, %s', async (...lines) => {
    const off = await startTestApi({ toml: `${toml}[slack]\n${lines.join('\n')}\n` });
    try {
      for (const path of callsOf) {
        for (const over of [{}, { secret: '' }, { contentType: 'text/plain' }]) {
          const answer = await slackPost(off, path, help(), over);
          expect([answer.status, answer.body]).toEqual([404, { error: 'slack not found', code: 'slack.not_found', hint: null }]);
        }
      }
    } finally {
      await off.close();
    }
  });
});

describe.each(callsOf)('a call of Slack to %s', (path) => {
  it.each<[string, () => Parameters<typeof slackPost>[3] & object]>([
    ['another secret', () => ({ secret: 'guessed' })],
    ['no signature', () => ({ signature: '' })],
    ['a signature of nothing', () => ({ signature: 'v0=' })],
    ['a timestamp more than 300 s ago', () => ({ timestamp: seconds(-302) })],
    ['a timestamp in more than 300 s', () => ({ timestamp: seconds(310) })],
    ['a timestamp that is no number', () => ({ timestamp: 'now' })],
  ])('is 401 with %s (SL-11, SL-I1, IM-4)', async (_, over) => {
    const answer = await slackPost(api, path, help(), over());
    expect(answer).toMatchObject(refused);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    expect(on.fake.calls).toEqual([]);
  });

  it('is 401 when its body is not the one that was signed, before that is parsed', async () => {
    const timestamp = seconds(0);
    const signature = slackSignature('slk-secret', timestamp, 'payload=%7B%7D');
    for (const body of ['payload=%7B%7D&', 'payload={}', 'payload', ''])
      expect(await slackPost(api, path, body, { timestamp, signature })).toMatchObject(refused);
  });

  it.each([
    'application/json',
    'text/plain',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded; charset=latin1',
  ])('is 415 as %s (HT-40, HT-51)', async (contentType) => {
    const answer = await slackPost(api, path, help(), { contentType });
    expect([answer.status, answer.body]).toEqual([
      415,
      {
        error: 'content type must be application/x-www-form-urlencoded',
        code: 'validation.unsupported_media_type',
        hint: 'header.content-type',
      },
    ]);
  });

  it('is 413 above 2 MiB, and taken below (HT-50)', async () => {
    const filled = (bytes: number) => `${help()}&fill=`.padEnd(bytes, 'x');
    expect((await slackPost(api, path, filled(2 ** 21 + 1))).body).toMatchObject({ code: 'payload.too_large' });
    const taken = await slackPost(api, path, filled(2 ** 21));
    expect(taken.status).toBe(path === 'commands' ? 200 : 400);
  });

  it('is in form data of UTF-8 (SL-10)', async () => {
    const contentType = 'application/x-www-form-urlencoded; charset=UTF-8';
    const body = path === 'commands' ? help() : interactionOf(clickOf('UALICE', 'unknown', ''));
    expect((await slackPost(api, path, body, { contentType })).status).toBe(200);
  });
});

describe('a signature', () => {
  it('counts as a failed authentication of the address when it is wrong (SL-11)', async () => {
    const strict = await startSlackApi({}, { toml: '[rate_limits]\nauth_failures_per_address = 3\n' });
    try {
      const failures = () =>
        strict.calls.sql(`select metadata_json from audit_events where event_type = 'auth.failure' order by seq`);
      const statuses: number[] = [];
      for (let n = 0; n < 5; n += 1) statuses.push((await slackPost(strict.api, 'commands', help(), { secret: 'x' })).status);
      expect(statuses).toEqual([401, 401, 401, 429, 429]);
      expect(JSON.stringify(await failures())).toContain('slack_signature');
      expect((await strict.people.slash('help', 'UALICE')).status).toBe(200);
    } finally {
      await strict.close();
    }
  });

  it('is accepted once, whichever process it reaches (SL-12)', async () => {
    const other = await api.another({ toml: on.toml });
    try {
      const [body, timestamp] = [help(), seconds(0)];
      const answers = await Promise.all(
        [api, other, api, other, api, other].map((server) => slackPost(server, 'commands', body, { timestamp })),
      );
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
      expect(answers.filter(({ text }) => text !== '')).toHaveLength(1);
    } finally {
      await other.close();
    }
  });

  it('is remembered as long as it passes, and then forgotten (SL-12)', async () => {
    const kept = async (ageSecs: number) => {
      const key = Buffer.from(`${ageSecs}`.padStart(32, '0'));
      await on.calls.sql(`insert into slack_signatures values ($1, clock_timestamp() - $2 * interval '1 second')`, [
        key,
        ageSecs,
      ]);
      while ((await deleteOldSignatures(api.services.database, 1)) > 0);
      return (await on.calls.sql('select 1 from slack_signatures where signature = $1', [key])).length === 1;
    };
    expect([await kept(0), await kept(600), await kept(700)]).toEqual([true, true, false]);
  });
});

describe('the form of a call', () => {
  it.each(['', 'payload=', 'payload={', 'payload=[]', 'payload=null', 'payload="x"', 'payload=%ff%fe', 'other=1'])(
    'of an interaction is 400 as %j',
    async (body) => {
      const answer = await slackPost(api, 'interactions', `${body}&${formOf({})}`);
      expect([answer.status, answer.body.code, answer.body.hint]).toEqual([400, 'validation.failed', 'body.payload']);
    },
  );

  it('is 400 when its JSON is nested too deep', async () => {
    const answer = await slackPost(api, 'interactions', formOf({ payload: `${'['.repeat(100_000)}` }));
    expect(answer.body).toMatchObject({ code: 'validation.failed', hint: 'body.payload' });
  });

  it.each<[string, unknown]>([
    ['a type', { type: 'view_closed', view: {} }],
    ['no type', {}],
    ['a name of all objects as a type', { type: '__proto__' }],
    ['an action', clickOf('UALICE', 'svc_unknown', 'x')],
    ['an action that all objects have', clickOf('UALICE', 'constructor', 'x')],
    ['an action without a value', { ...clickOf('UALICE', 'x', ''), actions: [{ action_id: 'link' }] }],
    ['a modal', { type: 'view_submission', user: { id: 'UALICE' }, view: { id: 'V1', callback_id: 'svc_unknown' } }],
    ['a modal that all objects have', { type: 'view_submission', user: { id: 'U' }, view: { id: 'V', callback_id: 'toString' } }],
  ])('of %s that is not known is 200 and does nothing', async (_, payload) => {
    expect(await on.interact(payload)).toMatchObject(nothing);
    expect(on.fake.calls).toEqual([]);
  });

  it.each<[string, unknown]>([
    ['a click without a user', { ...clickOf('U', 'svc_review', 'x'), user: null }],
    ['a click without actions', { ...clickOf('U', 'svc_review', 'x'), actions: [] }],
    ['a modal without a view', { type: 'view_submission', user: { id: 'U' } }],
  ])('is 400 as %s', async (_, payload) => {
    expect((await on.interact(payload)).body).toMatchObject({ code: 'validation.failed' });
  });
});

describe('the slash command', () => {
  it('answers the check of its certificate with nothing (SL-10)', async () => {
    expect(await slackPost(api, 'commands', formOf({ ssl_check: '1', token: 'x' }))).toMatchObject(nothing);
    expect(await slackPost(api, 'commands', formOf({ ssl_check: '1' }), { secret: 'x' })).toMatchObject(refused);
  });

  it('helps, and hints at that with any other word', async () => {
    const helped = await on.people.slash(' help  me', 'UALICE');
    expect(helped.body).toEqual({ response_type: 'ephemeral', text: expect.stringContaining('/svc execute') });
    for (const text of ['', '  ', 'HELP', 'constructor', 'drop table'])
      expect((await on.people.slash(text, 'UALICE')).body).toEqual({
        response_type: 'ephemeral',
        text: expect.stringContaining('/svc help'),
      });
  });

  it('needs a trigger', async () => {
    expect((await on.people.slash('help', 'UALICE', { trigger_id: '' })).body).toEqual({
      response_type: 'ephemeral',
      text: expect.stringContaining('trigger_id'),
    });
  });

  it('is 400 without its user', async () => {
    const answer = await slackPost(api, 'commands', formOf({ text: 'help', trigger_id: 'T1' }));
    expect(answer.body).toMatchObject({ code: 'validation.failed', hint: 'body.user_id' });
  });
});
