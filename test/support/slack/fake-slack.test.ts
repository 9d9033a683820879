import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createSlackClient, type SlackMethod } from '../../../runtime/slack-client.js';
import { problemsOfBlocks, problemsOfView } from './block-limits.js';
import { type FakeSlack, startFakeSlack } from './fake-slack.js';
import type { Json } from './kept.js';
import { formOf, nowSecs, slackPeople, slackSignature } from './people.js';

const closes: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closes.splice(0)) await close();
});

async function open(channels?: string[]) {
  const fake = await startFakeSlack({ botToken: 'xoxb-1', channels });
  closes.push(fake.close);
  const client = createSlackClient(() => ({ botToken: fake.botToken, apiBaseUrl: fake.apiBaseUrl }));
  const call = async (method: SlackMethod, args: Json, timeoutMs?: number) => {
    const answer = await client.call(method, args, timeoutMs);
    return answer.ok ? answer.body : answer.error;
  };
  return { fake, call };
}

const plain = (text: string) => ({ type: 'plain_text', text, emoji: true });
const option = (value: string) => ({ text: plain(value), value });
const section = (text: string) => ({ type: 'section', text: { type: 'mrkdwn', text, verbatim: true } });
const preformatted = (text: string) => ({
  type: 'rich_text',
  elements: [{ type: 'rich_text_preformatted', elements: [{ type: 'text', text }] }],
});
const button = (action_id: string, value: string) => ({ type: 'button', action_id, text: plain('Go'), value });
const decision = {
  type: 'input',
  block_id: 'decision_block',
  label: plain('Decision'),
  element: { type: 'radio_buttons', action_id: 'decision_input', options: [option('approve'), option('reject')] },
};
const comment = {
  type: 'input',
  block_id: 'comment_block',
  optional: true,
  label: plain('Comment'),
  element: { type: 'plain_text_input', action_id: 'comment_input' },
};
const modal = (changes: Json = {}) => ({
  type: 'modal',
  callback_id: 'c',
  private_metadata: 'm',
  title: plain('Review'),
  submit: plain('Send'),
  blocks: [section('a'), decision, comment],
  ...changes,
});

describe('the stand-in of Slack keeps what channels show (SL-70)', () => {
  test('a card, its latest update and its thread', async () => {
    const { fake, call } = await open();
    const posted = { channel: '#db-approvals', text: 'one', blocks: [section('pending')] };
    expect(await call('chat.postMessage', posted)).toMatchObject({ channel: 'C1', ts: '1900000000.000100' });
    const card = { channel: 'C1', ts: '1900000000.000100' };
    await call('chat.update', { ...card, text: 'two', blocks: [section('executed')] });
    for (const text of ['first', 'second']) await call('chat.postMessage', { channel: 'C1', thread_ts: card.ts, text });
    expect(fake.cards()).toMatchObject([
      { text: 'two', blocks: [section('executed')], updates: 1, thread: [{ text: 'first' }, { text: 'second' }] },
    ]);
    expect(fake.channelText()).toContain('executed');
  });

  test('direct messages, ephemeral messages and addresses', async () => {
    const { fake, call } = await open();
    expect(await call('chat.postMessage', { channel: 'U1', text: 'hello' })).toMatchObject({ channel: 'D1' });
    await call('chat.postEphemeral', { channel: 'C1', user: 'U1', text: 'only you' });
    expect(fake.directMessages('U1')).toMatchObject([{ text: 'hello' }]);
    expect(fake.ephemeralsOf('U1')).toMatchObject([{ channel: 'C1', text: 'only you' }]);
    fake.workspace.emails.set('mira@example.com', 'U7');
    expect(await call('users.lookupByEmail', { email: 'mira@example.com' })).toMatchObject({ user: { id: 'U7' } });
    expect(await call('users.lookupByEmail', { email: 'nobody@example.com' })).toBe('users_not_found');
  });

  test('and refuses what Slack refuses', async () => {
    const { fake, call } = await open();
    fake.workspace.addChannel('other', { isMember: false });
    fake.workspace.addChannel('secret', { isMember: false, isPrivate: true });
    const text = 'x';
    expect(await call('chat.postMessage', { channel: '#none', text })).toBe('channel_not_found');
    expect(await call('chat.postMessage', { channel: '#secret', text })).toBe('channel_not_found');
    expect(await call('chat.postMessage', { channel: '#other', text })).toBe('not_in_channel');
    expect(await call('conversations.join', { channel: '#other' })).toBe('channel_not_found');
    expect(await call('conversations.join', { channel: 'C2' })).toMatchObject({ ok: true });
    expect(await call('chat.postMessage', { channel: '#other', text })).toMatchObject({ ok: true, channel: 'C2' });
    expect(await call('chat.postMessage', { channel: 'C1' })).toBe('no_text');
    expect(await call('chat.postMessage', { channel: 'C1', text: 'x'.repeat(40_001) })).toBe('msg_too_long');
    expect(await call('chat.postMessage', { channel: 'C1', text, blocks: [section('')] })).toBe('invalid_blocks');
    expect(await call('chat.update', { channel: 'C1', ts: '1.1', text })).toBe('message_not_found');
    expect(await call('chat.update', { channel: '#other', ts: '1900000000.000100', text })).toBe('channel_not_found');
    const stranger = createSlackClient(() => ({ botToken: 'xoxb-2', apiBaseUrl: fake.apiBaseUrl }));
    expect(await stranger.call('chat.postMessage', { channel: 'C1', text })).toMatchObject({ error: 'invalid_auth' });
    expect(fake.cards()).toEqual([]);
  });
});

describe('modals of the stand-in', () => {
  test('open once with a trigger that is younger than 3 s, and are updated while their hash holds', async () => {
    const { fake, call } = await open();
    const trigger_id = fake.workspace.newTrigger('U1');
    expect(await call('views.open', { trigger_id: 'x', view: modal() })).toBe('invalid_trigger_id');
    expect(await call('views.open', { trigger_id, view: modal({ submit: undefined }) })).toBe('invalid_arguments');
    expect(await call('views.open', { trigger_id, view: modal() })).toMatchObject({ view: { id: 'V1' } });
    expect(await call('views.open', { trigger_id, view: modal() })).toBe('exchanged_trigger_id');
    const late = fake.workspace.newTrigger('U1');
    fake.workspace.ageTrigger(late);
    expect(await call('views.open', { trigger_id: late, view: modal() })).toBe('expired_trigger_id');
    const [shown] = fake.openViews('U1');
    const view = modal({ blocks: [section('filled')], submit: undefined });
    expect(await call('views.update', { view_id: 'V9', view })).toBe('not_found');
    expect(await call('views.update', { view_id: 'V1', hash: 'stale', view })).toBe('hash_conflict');
    expect(await call('views.update', { view_id: 'V1', hash: shown?.hash, view })).toMatchObject({ ok: true });
    expect(fake.openViews('U1')).toMatchObject([{ view: { blocks: [section('filled')] } }]);
  });

  test.each<[string, Json]>([
    ['a long title', { title: plain('x'.repeat(25)) }],
    ['no title', { title: undefined }],
    ['a long word on the button', { submit: plain('x'.repeat(25)) }],
    ['long metadata', { private_metadata: 'x'.repeat(3001) }],
    ['101 blocks', { blocks: Array.from({ length: 101 }, () => section('x')) }],
    ['two blocks of one id', { blocks: [decision, decision] }],
    ['no options', { blocks: [{ ...decision, element: { ...decision.element, options: [] } }] }],
    ['11 radio buttons', { blocks: [{ ...decision, element: { ...decision.element, options: Array(11).fill(option('a')) } }] }],
    [
      'a preset that is not offered',
      { blocks: [{ ...decision, element: { ...decision.element, initial_option: option('c') } }] },
    ],
    ['input above 3000', { blocks: [{ ...comment, element: { ...comment.element, max_length: 3001 } }] }],
  ])('with %s are refused', (_, changes) => {
    expect(problemsOfView(modal())).toEqual([]);
    expect(problemsOfView(modal(changes))).not.toEqual([]);
  });
});

test.each<[string, Json[]]>([
  ['no block', []],
  ['51 blocks', Array.from({ length: 51 }, () => section('x'))],
  ['a header above 150', [{ type: 'header', text: plain('x'.repeat(151)) }]],
  ['a text above 3000', [section('x'.repeat(3001))]],
  ['11 fields', [{ type: 'section', fields: Array(11).fill({ type: 'mrkdwn', text: 'x' }) }]],
  ['a field above 2000', [{ type: 'section', fields: [{ type: 'mrkdwn', text: 'x'.repeat(2001) }] }]],
  ['11 elements of context', [{ type: 'context', elements: Array(11).fill({ type: 'mrkdwn', text: 'x' }) }]],
  ['a long button', [{ type: 'actions', elements: [{ ...button('a', 'v'), text: plain('x'.repeat(76)) }] }]],
  ['a long value', [{ type: 'actions', elements: [button('a', 'x'.repeat(2001))] }]],
  ['two buttons of one action', [{ type: 'actions', elements: [button('a', '1'), button('a', '2')] }]],
  ['empty preformatted text', [preformatted('')]],
  ['no buttons', [{ type: 'actions', elements: [] }]],
  ['a word that Slack does not know', [{ ...section('x'), colour: 'red' }]],
])('a message with %s is refused', (_, blocks) => {
  expect(problemsOfBlocks([section('x'), preformatted('x'), { type: 'actions', elements: [button('a', 'v')] }])).toEqual([]);
  expect(problemsOfBlocks(blocks)).not.toEqual([]);
});

test('faults come as they were told: errors, statuses, limits, silence, late answers', async () => {
  const { fake, call } = await open();
  const post = (timeoutMs?: number) => call('chat.postMessage', { channel: 'C1', text: 'x' }, timeoutMs);
  fake.next(
    'chat.postMessage',
    { error: 'fatal_error' },
    { status: 503 },
    { retryAfter: 7 },
    { noAnswer: 'breaks' },
    { noAnswer: 'hangs' },
  );
  const seen = [await post(), await post(), await post(), await post(), await post(1000)];
  expect(seen).toEqual(['fatal_error', 'status_503', 'ratelimited', 'network_error', 'timeout']);
  expect(fake.cards()).toEqual([]);
  fake.next('chat.postMessage', { waitMs: 2000 }, { status: 500, carriedOut: true });
  expect([await post(1000), await post()]).toEqual(['timeout', 'status_500']);
  expect(fake.cards()).toHaveLength(2);
  fake.always('*', { error: 'token_revoked' });
  expect([await post(), await post()]).toEqual(['token_revoked', 'token_revoked']);
  fake.always('*', null);
  await fake.stop();
  expect(await post()).toBe('network_error');
  await fake.start();
  expect(await post()).toMatchObject({ ok: true });
  expect(fake.callsOf('chat.postMessage')).toHaveLength(10);
});

/** A gateway that answers as told, and what reached it. */
async function gatewayOf(fake: FakeSlack, answers: unknown[]) {
  const got: { path: string; body: URLSearchParams; isSigned: boolean }[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const at = String(request.headers['x-slack-request-timestamp']);
    const isSigned = request.headers['x-slack-signature'] === slackSignature('s', at, body) && Number(at) > nowSecs() - 60;
    got.push({ path: request.url ?? '', body: new URLSearchParams(body), isSigned });
    const answer = answers.shift();
    response.end(answer === undefined ? '' : JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closes.push(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { got, people: slackPeople(fake, { url, signingSecret: 's' }) };
}

describe('people of the stand-in call the gateway as Slack does (SL-71)', () => {
  test('signatures are those of the table in the rules', () => {
    expect(slackSignature('slk-secret', 1_900_000_000, formOf({ payload: '{}' }))).toBe(
      'v0=64d28514ecbc5808844184c5e39f067c38a44cfc38741d9f285c665ca52610e7',
    );
  });

  test('clicks, commands and submissions', async () => {
    const { fake, call } = await open(['#one', '#two']);
    const blocks = [{ type: 'actions', elements: [button('svc_review', 'r1')] }];
    await call('chat.postMessage', { channel: '#two', text: 'card', blocks });
    const { got, people } = await gatewayOf(fake, [undefined, { text: 'hint' }]);
    await people.click('svc_review', 'r1', 'U1');
    expect((await people.slash('help', 'U1')).body).toEqual({ text: 'hint' });
    expect(got.map(({ path, isSigned }) => [path, isSigned])).toEqual([
      ['/api/slack/interactions', true],
      ['/api/slack/commands', true],
    ]);
    expect(JSON.parse(got[0]?.body.get('payload') ?? '')).toMatchObject({
      type: 'block_actions',
      user: { id: 'U1' },
      channel: { id: 'C2' },
      actions: [{ action_id: 'svc_review', value: 'r1' }],
    });
    expect(Object.fromEntries(got[1]?.body ?? [])).toMatchObject({ command: '/svc', text: 'help', user_id: 'U1' });
  });

  test('a modal is closed, keeps its errors or changes, as the gateway answers', async () => {
    const { fake, call } = await open();
    await call('views.open', { trigger_id: fake.workspace.newTrigger('U1'), view: modal() });
    const errors = { response_action: 'errors', errors: { comment_block: 'Say why.' } };
    const wrong = { response_action: 'errors', errors: { b: 'no such block' } };
    const update = { response_action: 'update', view: modal({ blocks: [comment] }) };
    const { got, people } = await gatewayOf(fake, [errors, wrong, update, undefined]);
    const [shown] = fake.openViews('U1');
    if (shown === undefined) throw new Error('no view');
    await people.submit(shown, { 'decision_block/decision_input': 'reject' });
    expect(JSON.parse(got[0]?.body.get('payload') ?? '').view).toMatchObject({
      id: 'V1',
      private_metadata: 'm',
      state: {
        values: {
          decision_block: { decision_input: { type: 'radio_buttons', selected_option: { value: 'reject' } } },
          comment_block: { comment_input: { type: 'plain_text_input', value: null } },
        },
      },
    });
    await expect(people.submit(shown, {})).rejects.toThrow('no inputs');
    await people.submit(shown, {});
    expect(fake.openViews('U1')).toMatchObject([{ view: { blocks: [{ block_id: 'comment_block' }] } }]);
    await people.submit(shown, { 'comment_block/comment_input': 'x' });
    expect(fake.openViews('U1')).toEqual([]);
  });
});
