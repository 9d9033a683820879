import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { slackSignature } from '../../crypto/slack-signature.js';
import type { Answer, Loose, Person, TestApi, TestApiOptions } from '../support/api.js';
import { startCalls } from './calls-api.js';
import { callsToml } from './calls-toml.js';
import type { GatewayCalls } from './gateway-calls.js';

const signingSecret = 'slk-secret';

export const slackToml = (apiBaseUrl: string) =>
  `[slack]\nbot_token = "xoxb-1"\nsigning_secret = "${signingSecret}"\napi_base_url = "${apiBaseUrl}"\n`;

/** What reached Slack's Web API, in order. */
export interface SlackCalled {
  method: string;
  body: Loose;
}

export interface FakeWebApi {
  url: string;
  calls: SlackCalled[];
  /** Answers the next calls of a method instead; null answers nothing. */
  answer(method: string, answer: ((body: Loose) => unknown) | null): void;
  close(): void;
}

/** Takes every call and answers as Slack would. */
export async function startWebApi(): Promise<FakeWebApi> {
  const calls: SlackCalled[] = [];
  const answers = new Map<string, ((body: Loose) => unknown) | null>();
  let views = 0;
  const usual = (method: string) => {
    if (!method.startsWith('views.')) return { ok: true, channel: 'C1', ts: '1900000000.000100' };
    views += 1;
    return { ok: true, view: { id: `V${views}` } };
  };
  const server = createServer(async (request, response) => {
    const method = (request.url ?? '').split('/').at(-1) ?? '';
    let text = '';
    for await (const part of request) text += part;
    const body = JSON.parse(text);
    calls.push({ method, body });
    const answer = answers.has(method) ? answers.get(method)! : () => usual(method);
    if (answer === null) return;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer(body)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/`,
    calls,
    answer: (method, answer) => answers.set(method, answer),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

export interface Signing {
  secret?: string;
  timestamp?: string;
  signature?: string;
  contentType?: string;
}

const now = () => String(Math.floor(Date.now() / 1000));
let sent = 0;

/** One call as Slack makes it. */
export function slackPost(api: TestApi, path: 'interactions' | 'commands', body: string, over: Signing = {}): Promise<Answer> {
  const { secret = signingSecret, timestamp = now(), contentType = 'application/x-www-form-urlencoded' } = over;
  return api.call('POST', `/api/slack/${path}`, {
    raw: body,
    headers: {
      'content-type': contentType,
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': over.signature ?? slackSignature(secret, timestamp, body),
    },
  });
}

/** No two are alike, as those of Slack. */
export const formOf = (fields: Record<string, string>): string => {
  sent += 1;
  return new URLSearchParams({ ...fields, api_app_id: `A${sent}` }).toString();
};

export const interactionOf = (payload: unknown): string => formOf({ payload: JSON.stringify(payload) });

export const clickOf = (userId: string, actionId: string, value: string) => ({
  type: 'block_actions',
  trigger_id: 'T1',
  user: { id: userId },
  channel: { id: 'C07' },
  actions: [{ action_id: actionId, value }],
});

export interface SlackApi<Id extends string> {
  api: TestApi;
  calls: GatewayCalls;
  tokens: Record<Id | 'admin', string>;
  slack: FakeWebApi;
  /** For another server on the same database. */
  toml: string;
  command(userId: string, text: string, over?: Record<string, string>): Promise<Answer>;
  interact(payload: unknown): Promise<Answer>;
  /** The calls of a method, once there are at least `count` since the last `forget`. */
  told(method: string, count?: number): Promise<Loose[]>;
  forget(): void;
  close(): Promise<void>;
}

/** A server with Slack on, and people of whom each is linked to the Slack account `U` and the name in capitals. */
export async function startSlackApi<Id extends string>(
  people: Record<Id, Person>,
  options: TestApiOptions = {},
): Promise<SlackApi<Id>> {
  const slack = await startWebApi();
  const toml = callsToml + (options.toml ?? '') + slackToml(slack.url);
  const { api, calls, tokens } = await startCalls(people, [], { ...options, toml });
  for (const id in people) await link(api, id, slackIdOf(id));
  return {
    api,
    calls,
    tokens,
    slack,
    toml,
    command: (userId, text, over = {}) =>
      slackPost(api, 'commands', formOf({ command: '/svc', user_id: userId, text, trigger_id: 'T1', ...over })),
    interact: (payload) => slackPost(api, 'interactions', interactionOf(payload)),
    told: (method, count = 1) => toldAtLeast(slack, method, count),
    forget: () => void slack.calls.splice(0),
    close: async () => {
      await api.close();
      slack.close();
    },
  };
}

export const slackIdOf = (user: string) => `U${user.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')}`;

export async function link(api: TestApi, user: string, slackUserId: string): Promise<void> {
  const answer = await api.call('PATCH', `/api/users/${user}`, { token: api.tokens.admin, body: { slack_user_id: slackUserId } });
  if (answer.status !== 200) throw new Error(`link of ${user}: ${answer.status} ${answer.text}`);
}

async function toldAtLeast({ calls }: FakeWebApi, method: string, count: number): Promise<Loose[]> {
  const until = Date.now() + 20_000;
  for (;;) {
    const found = calls.filter((call) => call.method === method).map(({ body }) => body);
    if (found.length >= count || Date.now() > until) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
