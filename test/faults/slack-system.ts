import { type Answer, callApi } from '../../dev/api-call.js';
import { shopToml } from '../support/api.js';
import { createTestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { type FakeSlack, startFakeSlack } from '../support/slack/fake-slack.js';
import type { OpenView } from '../support/slack/kept.js';
import { type GatewayAnswer, type Inputs, type SlackPeople, slackPeople } from '../support/slack/people.js';
import { type System, startSystem } from '../support/system.js';
import { expectStatus } from './calls.js';

const signingSecret = 'slk-secret-of-the-proofs';

export interface SlackSystem {
  system: System;
  fake: FakeSlack;
  /** The people before the screens, whose calls go to the n-th server. */
  people: SlackPeople[];
  /** A call of the API to the first server. */
  api(token: string, method: Method, path: string, body?: Record<string, unknown>): Promise<Answer>;
  /** Makes a user linked to a Slack account; answers a token of theirs without a ceiling. */
  addPerson(id: string, person?: { slack?: string; roles?: string[]; groups?: string[] }): Promise<string>;
  /** Clicks and waits for the modal that it opens, once it is filled. */
  open(actionId: string, id: string, user: string): Promise<OpenView>;
  /** Opens the review of a request, decides and submits. */
  review(id: string, user: string, inputs: Inputs): Promise<GatewayAnswer>;
  close(): Promise<void>;
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

interface Options {
  temporalAddress: string;
  servers?: number;
  workers?: number;
  toml?: string;
  channels?: string[];
}

/** A gateway of separate processes with Slack on, and the stand-in of Slack that they call. */
export async function startSlackSystem({
  temporalAddress,
  servers = 1,
  workers = 1,
  toml = shopToml,
  channels,
}: Options): Promise<SlackSystem> {
  const fake = await startFakeSlack(channels === undefined ? {} : { channels });
  const stored = await createTestDatabase();
  const slack = `[slack]\nbot_token = "${fake.botToken}"\nsigning_secret = "${signingSecret}"\napi_base_url = "${fake.apiBaseUrl}"\n`;
  const limits = '[rate_limits]\nper_address = 0\nauth_failures_per_address = 0\n';
  const system = await startSystem({
    databaseUrl: stored.url,
    temporalAddress,
    toml: `${toml}${limits}${slack}`,
    servers,
    workers,
  });
  const people = system.servers.map(({ url }) => slackPeople(fake, { url, signingSecret }));
  const api: SlackSystem['api'] = (token, method, path, body) => callAny(system.servers[0]!.url, token, method, path, body);

  async function addPerson(
    id: string,
    { slack: slackId, roles = ['requester'], groups = [] }: Parameters<SlackSystem['addPerson']>[1] = {},
  ) {
    const made = expectStatus(await api(system.tokens.admin, 'POST', '/api/users', { id, roles, groups }), 201);
    if (slackId !== undefined)
      expectStatus(await api(system.tokens.admin, 'PATCH', `/api/users/${id}`, { slack_user_id: slackId }), 200);
    return String(made.token);
  }

  async function open(actionId: string, id: string, user: string): Promise<OpenView> {
    const before = new Set(fake.openViews(user).map((view) => view.id));
    await people[0]!.click(actionId, id, user);
    return eventually(() =>
      fake
        .openViews(user)
        .find(({ id: view, hash, view: shown }) => !before.has(view) && hash !== '' && shown.submit !== undefined),
    );
  }

  return {
    system,
    fake,
    people,
    api,
    addPerson,
    open,
    review: async (id, user, inputs) => people[0]!.submit(await open('svc_review', id, user), inputs),
    close: async () => {
      await system.close();
      await fake.close();
      await stored.drop();
    },
  };
}

async function callAny(
  server: string,
  token: string,
  method: Method,
  path: string,
  body?: Record<string, unknown>,
): Promise<Answer> {
  if (method === 'GET' || method === 'POST') return callApi({ server, token }, method, path, body);
  const response = await fetch(server + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : JSON.parse(text), headers: response.headers };
}
