import type { Answer, Person, TestApi, TestApiOptions } from '../support/api.js';
import { type FakeSlack, startFakeSlack } from '../support/slack/fake-slack.js';
import type { Json, OpenView } from '../support/slack/kept.js';
import { formOf as encoded, nowSecs, type SlackPeople, slackPeople, slackSignature } from '../support/slack/people.js';
import { startCalls } from './calls-api.js';
import { callsToml } from './calls-toml.js';
import type { GatewayCalls } from './gateway-calls.js';

const signingSecret = 'slk-secret';

export const slackToml = (apiBaseUrl: string, botToken = 'xoxb-test') =>
  `[slack]\nbot_token = "${botToken}"\nsigning_secret = "${signingSecret}"\napi_base_url = "${apiBaseUrl}"\n`;

export interface Signing {
  secret?: string;
  timestamp?: string;
  signature?: string;
  contentType?: string;
}

/** One call as Slack makes it, or almost. */
export function slackPost(api: TestApi, path: 'interactions' | 'commands', body: string, over: Signing = {}): Promise<Answer> {
  const { secret = signingSecret, timestamp = String(nowSecs()), contentType = 'application/x-www-form-urlencoded' } = over;
  return api.call('POST', `/api/slack/${path}`, {
    raw: body,
    headers: {
      'content-type': contentType,
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': over.signature ?? slackSignature(secret, timestamp, body),
    },
  });
}

let sent = 0;

/** No two are alike, as with Slack's own. */
export const formOf = (fields: Record<string, string>): string => {
  sent += 1;
  return encoded({ ...fields, api_app_id: `A${sent}` });
};

export const interactionOf = (payload: unknown): string => formOf({ payload: JSON.stringify(payload) });

export const clickOf = (userId: string, actionId: string, value: string): Json => ({
  type: 'block_actions',
  trigger_id: 'T1',
  user: { id: userId },
  channel: { id: 'C1' },
  actions: [{ action_id: actionId, value }],
});

export interface SlackApi<Id extends string> {
  api: TestApi;
  calls: GatewayCalls;
  tokens: Record<Id | 'admin', string>;
  fake: FakeSlack;
  people: SlackPeople;
  /** For another server on the same database. */
  toml: string;
  interact(payload: unknown): Promise<Answer>;
  /** The modal that a click opens, once it is filled. */
  opened(act: () => Promise<unknown>, user: string): Promise<OpenView>;
  /** What the user alone is told because of a click. */
  told(act: () => Promise<unknown>, user: string): Promise<string>;
  close(): Promise<void>;
}

/** A server with Slack on, and people of whom each is linked to a Slack account (`slackIdOf`). */
export async function startSlackApi<Id extends string>(
  people: Record<Id, Person>,
  options: TestApiOptions = {},
): Promise<SlackApi<Id>> {
  const fake = await startFakeSlack();
  const toml = callsToml + (options.toml ?? '') + slackToml(fake.apiBaseUrl, fake.botToken);
  const { api, calls, tokens } = await startCalls(people, [], { ...options, toml });
  for (const id in people) await link(api, id, slackIdOf(id));
  const openOf = (user: string) => fake.openViews(user);
  return {
    api,
    calls,
    tokens,
    fake,
    people: slackPeople(fake, { url: api.url, signingSecret }),
    toml,
    interact: (payload) => slackPost(api, 'interactions', interactionOf(payload)),
    async opened(act, user) {
      const before = openOf(user).length;
      await act();
      return until(
        () => openOf(user)[before],
        (view) => !JSON.stringify(view.view).includes('Loading…'),
      );
    },
    async told(act, user) {
      const before = fake.ephemeralsOf(user).length;
      await act();
      const { text } = await until(
        () => fake.ephemeralsOf(user)[before],
        () => true,
      );
      return text;
    },
    close: async () => {
      await api.close();
      await fake.close();
    },
  };
}

export const slackIdOf = (user: string) => `U${user.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')}`;

export async function link(api: TestApi, user: string, slackUserId: string): Promise<void> {
  const answer = await api.call('PATCH', `/api/users/${user}`, { token: api.tokens.admin, body: { slack_user_id: slackUserId } });
  if (answer.status !== 200) throw new Error(`link of ${user}: ${answer.status} ${answer.text}`);
}

async function until<T>(look: () => T | undefined, holds: (found: T) => boolean): Promise<T> {
  const end = Date.now() + 20_000;
  for (;;) {
    const found = look();
    if (found !== undefined && holds(found)) return found;
    if (Date.now() > end) throw new Error('Slack was not called in time');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
