import { createHmac } from 'node:crypto';
import { problemsOfView } from './block-limits.js';
import type { FakeSlack } from './fake-slack.js';
import type { Channel, Json, OpenView } from './kept.js';

type Endpoint = 'interactions' | 'commands';

/** A call as Slack makes it, which can be made again. */
export interface SignedCall {
  endpoint: Endpoint;
  body: string;
  headers: Record<string, string>;
}

export interface GatewayAnswer {
  call: SignedCall;
  status: number;
  text: string;
  /** The parsed answer; null if it is empty or not JSON. */
  body: Json | null;
  /** Slack waits 3000 at most. */
  tookMs: number;
}

/** As Slack signs a call. `at` is in whole seconds. */
export function slackSignature(secret: string, at: number | string, body: string): string {
  return `v0=${createHmac('sha256', secret).update(`v0:${at}:${body}`).digest('hex')}`;
}

export const nowSecs = (): number => Math.floor(Date.now() / 1000);

/** `decision_block/decision_input` and the like: what a person put into the inputs of a modal. Lists are for menus that take several. */
export type Inputs = Readonly<Record<string, string | readonly string[]>>;

export type SlackPeople = ReturnType<typeof slackPeople>;

/** The people of a workspace before their screens: what they do reaches the gateway as Slack sends it, signed, with a trigger of its own. */
export function slackPeople(fake: FakeSlack, gateway: { url: string; signingSecret: string }) {
  const sign = (endpoint: Endpoint, body: string, { at = nowSecs(), secret = gateway.signingSecret } = {}): SignedCall => ({
    endpoint,
    body,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-slack-request-timestamp': String(at),
      'x-slack-signature': slackSignature(secret, at, body),
    },
  });

  /** Makes a call, whatever it holds; the same call a second time is a replay. */
  async function send(call: SignedCall): Promise<GatewayAnswer> {
    const began = Date.now();
    const { endpoint, body, headers } = call;
    const response = await fetch(`${gateway.url}/api/slack/${endpoint}`, { method: 'POST', headers, body, redirect: 'error' });
    const text = await response.text();
    return { call, status: response.status, text, body: parsed(text), tookMs: Date.now() - began };
  }

  const interact = (payload: Json) => send(sign('interactions', formOf({ payload: JSON.stringify(payload) })));

  return {
    sign,
    send,
    interact,
    newTrigger: (user: string) => fake.workspace.newTrigger(user),

    /** A click on a button, in the channel that shows it unless another one is named. It is made too if no message shows the button. */
    click: (actionId: string, value: string, user: string, channel?: string) =>
      interact(clickOf(fake, { actionId, value, user, channel })),

    /** Sends a modal off with what the person put in; the rest is as it was preset. Then the modal is what the gateway answered. */
    async submit(view: OpenView, inputs: Inputs): Promise<GatewayAnswer> {
      const answer = await interact(submissionOf(fake, view, inputs));
      takeAnswer(fake, view, answer);
      return answer;
    },
    submissionOf: (view: OpenView, inputs: Inputs) => submissionOf(fake, view, inputs),

    /** `/svc` followed by this text. */
    slash: (text: string, user: string, changes: Record<string, string> = {}) =>
      send(sign('commands', formOf({ ...commandOf(fake, text, user), ...changes }))),
  };
}

export const formOf = (fields: Record<string, string>): string => new URLSearchParams(fields).toString();

const team = { id: 'T1', domain: 'fake' };
const personOf = (id: string) => ({ id, username: id.toLowerCase(), name: id.toLowerCase(), team_id: team.id });
const origin = { api_app_id: 'A1', token: 'legacy-verification-token', team, enterprise: null, is_enterprise_install: false };

function clickOf(fake: FakeSlack, how: { actionId: string; value: string; user: string; channel: string | undefined }): Json {
  const { actionId, value, user } = how;
  const channel = how.channel === undefined ? whereShown(fake, actionId, value) : fake.channel(how.channel);
  const message = channel.messages.find((shown) => shows(shown.blocks, actionId, value));
  return {
    type: 'block_actions',
    user: personOf(user),
    ...origin,
    container: { type: 'message', message_ts: message?.ts ?? '0.0', channel_id: channel.id, is_ephemeral: false },
    trigger_id: fake.workspace.newTrigger(user),
    channel: { id: channel.id, name: channel.name },
    ...(message === undefined
      ? {}
      : { message: { type: 'message', ts: message.ts, text: message.text, blocks: message.blocks } }),
    response_url: 'https://hooks.slack.com/actions/T1/1/none',
    actions: [{ type: 'button', action_id: actionId, block_id: 'b1', value, action_ts: `${nowSecs()}.000000` }],
  };
}

const shows = (blocks: readonly Json[], actionId: string, value: string): boolean =>
  blocks.some(({ elements = [] }) => elements.some((element: Json) => element.action_id === actionId && element.value === value));

const whereShown = (fake: FakeSlack, actionId: string, value: string): Channel =>
  fake.workspace.channels.find(({ messages }) => messages.some(({ blocks }) => shows(blocks, actionId, value))) ?? fake.channel();

function submissionOf(fake: FakeSlack, { id, hash, user, view }: OpenView, inputs: Inputs): Json {
  const left = new Map(Object.entries(inputs));
  const values: Record<string, Json> = {};
  for (const { type, block_id, element } of view.blocks as Json[]) {
    if (type !== 'input') continue;
    const name = `${block_id}/${element.action_id}`;
    values[block_id] = { [element.action_id]: stateOf(element, left.get(name)) };
    left.delete(name);
  }
  if (left.size > 0) throw new Error(`the view has no ${[...left.keys()].join(', ')}`);
  return {
    type: 'view_submission',
    user: personOf(user),
    ...origin,
    trigger_id: fake.workspace.newTrigger(user),
    view: {
      private_metadata: '',
      callback_id: '',
      ...view,
      id,
      hash,
      root_view_id: id,
      previous_view_id: null,
      state: { values },
    },
    response_urls: [],
  };
}

/** What Slack sends of an input. A value that is not offered is sent all the same, as a forged one would be. */
function stateOf(element: Json, input: string | readonly string[] | undefined): Json {
  const { type } = element;
  if (type === 'plain_text_input') return { type, value: input ?? element.initial_value ?? null };
  const optionOf = (value: string) =>
    element.options.find((option: Json) => option.value === value) ?? {
      text: { type: 'plain_text', text: value, emoji: true },
      value,
    };
  if (type !== 'multi_static_select')
    return { type, selected_option: input === undefined ? (element.initial_option ?? null) : optionOf(String(input)) };
  const chosen = input === undefined ? (element.initial_options ?? []) : [input].flat().map((value) => optionOf(value));
  return { type, selected_options: chosen };
}

/** What Slack makes of the answer to a submission. Throws where Slack would show an error of its own. */
function takeAnswer(fake: FakeSlack, shown: OpenView, { status, text, body }: GatewayAnswer): void {
  if (status !== 200) return;
  if (text === '') {
    shown.isOpen = false;
    return;
  }
  if (body?.response_action === 'errors') {
    const inputs = (shown.view.blocks as Json[]).filter(({ type }) => type === 'input').map(({ block_id }) => block_id);
    const unknown = Object.keys(body.errors).filter((block) => !inputs.includes(block));
    if (unknown.length > 0) throw new Error(`errors on blocks that are no inputs of the view: ${unknown.join(', ')}`);
    if (Object.values(body.errors).some((error) => typeof error !== 'string' || error === ''))
      throw new Error(`an empty error: ${text}`);
  } else if (body?.response_action === 'update') {
    const problems = problemsOfView(body.view);
    if (problems.length > 0) throw new Error(`Slack refuses the view: ${problems.join('; ')}`);
    fake.workspace.show(shown, body.view);
  } else if (body?.response_action === 'clear') {
    shown.isOpen = false;
  } else throw new Error(`no answer to a submission: ${text}`);
}

const commandOf = (fake: FakeSlack, text: string, user: string): Record<string, string> => ({
  token: origin.token,
  team_id: team.id,
  team_domain: team.domain,
  channel_id: 'C1',
  channel_name: fake.channel('C1').name,
  user_id: user,
  user_name: user.toLowerCase(),
  command: '/svc',
  text,
  api_app_id: origin.api_app_id,
  is_enterprise_install: 'false',
  response_url: 'https://hooks.slack.com/commands/T1/1/none',
  trigger_id: fake.workspace.newTrigger(user),
});

function parsed(text: string): Json | null {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
