import { pino } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import type { SharedConfig } from '../../domain/policies.js';
import { createMetrics } from '../../runtime/metrics.js';
import { outgoingBy } from '../../runtime/outgoing.js';
import { createSlackCards } from '../../worker/slack-cards.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';
import { storeRequest } from '../support/requests.js';
import { type FakeSlack, startFakeSlack } from '../support/slack/fake-slack.js';

let stored: TestDatabase;
let database: Database;
let fake: FakeSlack;
beforeAll(async () => {
  fake = await startFakeSlack({ channels: ['#db'] });
  stored = await createTestDatabase();
  const shared = () => ({ webhooks: [], notificationPolicies: [] }) as unknown as SharedConfig;
  const own = () => ({ server: { publicUrl: null }, slack: { botToken: 'x', signingSecret: 'x', channel: '#db' } });
  database = openTestDatabase(stored.url, 4, outgoingBy(shared, own));
  await database.query(`insert into users (id, source) values ('alice', 'api'), ('bob', 'api')`);
});
afterAll(async () => {
  await database?.close();
  await stored?.drop();
  await fake?.close();
});

/** A worker's own parts, with this token; `send` posts the card of a new request, whose id it answers. */
function worker(botToken: string) {
  const lines: string[] = [];
  const metrics = createMetrics('0.0.0');
  const slack = { botToken, signingSecret: 's', apiBaseUrl: fake.apiBaseUrl };
  const configuration = {
    config: () => ({ server: { publicUrl: null }, slack }),
    generation: () => ({ shared: { auth: { groups: [] } } }),
  };
  const { postCard } = createSlackCards({
    configuration: configuration as unknown as Parameters<typeof createSlackCards>[0]['configuration'],
    database,
    metrics,
    log: pino({}, { write: (line: string) => void lines.push(line) }),
  });
  return {
    lines,
    counted: () => metrics.registry.getSingleMetricAsString('svc_slack_messages_total'),
    send: async () => {
      const id = await storeRequest(database);
      const [card] = await database.query<{ id: string }>('select id from slack_cards where request_id = $1', [id]);
      return { id, ended: await postCard(card!.id).then(String, String) };
    },
  };
}

it('counts what was sent and what is tried again, and logs neither (SL-61)', async () => {
  const { send, counted, lines } = worker(fake.botToken);
  await send();
  fake.next('chat.postMessage', { status: 503 });
  expect((await send()).ended).toContain('status_503');
  expect(await counted()).toContain('svc_slack_messages_total{outcome="sent"} 1');
  expect(await counted()).toContain('svc_slack_messages_total{outcome="retried"} 1');
  expect(lines).toEqual([]);
});

it('counts and logs what is given up, with the request and without the token (SL-62)', async () => {
  const { send, counted, lines } = worker('xoxb-revoked');
  const { id } = await send();
  expect(await counted()).toContain('svc_slack_messages_total{outcome="dead"} 1');
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0]!)).toMatchObject({
    request_id: id,
    channel: '#db',
    error: 'invalid_auth',
    msg: 'Slack refuses the bot token; a message was not sent',
  });
  expect(lines[0]).not.toContain('xoxb');
});

it('without both secrets sends nothing, and looks again later (SL-1)', async () => {
  const before = fake.calls.length;
  expect((await worker(' ').send()).ended).toContain('slack_is_off');
  expect(fake.calls.length).toBe(before);
});
