import { expect } from 'vitest';
import type { NotificationPolicy } from '../../domain/policies.js';
import { syncGeneration } from '../../runtime/generation.js';
import { shopToml, startTestApi, type TestApi, type TestApiOptions } from '../support/api.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';

const hook = (id: string) =>
  `[[webhooks]]\nid = "${id}"\nurl = "http://127.0.0.1:9/secret-path"\nsecret = "secret-of-the-hook"\n\n`;
const policy = '[[notification_policies]]\ndatabase = "shop"\nenvironment = "production"\nwebhooks = ["feed"]\n\n';
const toml = `allow_private_networks = true\n${shopToml}${hook('feed')}${hook('people')}${policy}`;

export interface RedeliveryApi {
  api: TestApi;
  calls: GatewayCalls;
  /** The token of a requester. */
  owner: string;
}

/** A server with the webhooks `feed`, to which a policy sends what happens on production, and `people`. */
export async function startRedeliveryApi(options: Pick<TestApiOptions, 'consoleDist'> = {}): Promise<RedeliveryApi> {
  const api = await startTestApi({ toml, ...options });
  const calls = gatewayCalls(api);
  const owner = await api.createUser('owner', { roles: ['requester'] });
  await calls.poll(['shop/production', 'shop/staging']);
  return { api, calls, owner };
}

export interface AuditRow {
  resource_id: string;
  metadata_json: string;
}

/** Deliveries that have ended, and what becomes of them. */
export function redeliveryCalls({ api, calls, owner }: RedeliveryApi) {
  const redeliver = (id: string, token = api.tokens.admin) =>
    api.call('POST', `/api/webhook-deliveries/${id}/redeliver`, { token });
  const end = (where: string) =>
    calls.sql(
      `update webhook_deliveries set status = 'dead', next_retry_at = null, finished_at = clock_timestamp()
       where finished_at is null and ${where}`,
    );
  const newest = async (where: string) => {
    const [row] = await calls.sql<{ id: string }>(
      `select id from webhook_deliveries where ${where} order by created_at desc limit 1`,
    );
    return `wd-${row?.id}`;
  };
  const events = (): Promise<AuditRow[]> =>
    calls.sql(`select * from audit_events where event_type = 'webhook.redelivered' order by position`);
  const stored = async () =>
    (await calls.sql<{ id: string }>('select id from webhook_deliveries order by id')).map(({ id }) => `wd-${id}`);
  return {
    redeliver,
    end,
    events,
    stored,
    /** To `feed`, of the creation of a request on production. */
    ended: async (): Promise<{ id: string; request: string }> => {
      const request = await calls.created(owner);
      await end(`request_id = '${request}'`);
      return { id: await newest(`webhook_id = 'feed' and request_id = '${request}'`), request };
    },
    /** To `people`, of the creation of a user. */
    endedOfUser: async (name: string): Promise<string> => {
      await api.createUser(name);
      await end('request_id is null');
      return newest(`webhook_id = 'people' and event_type = 'user.created'`);
    },
    refused: async (id: string, reason: string): Promise<void> => {
      const before = [await stored(), await events()];
      const { status, body } = await redeliver(id);
      expect([status, body.code, body.reason]).toEqual([409, 'delivery.conflict', reason]);
      expect(body.error).not.toBe('');
      expect([await stored(), await events()]).toEqual(before);
    },
  };
}

interface Change {
  without?: string;
  /** What webhooks subscribe to. */
  events?: Record<string, string[]>;
  /** Of production; null is none. */
  policy?: Partial<NotificationPolicy> | null;
}

/** As a start or reload of another server does. */
export async function putInForce(api: TestApi, { without = '', events = {}, policy = {} }: Change = {}): Promise<void> {
  const { shared } = api.config;
  const webhooks = shared.webhooks
    .filter(({ id }) => id !== without)
    .map((webhook) => ({ ...webhook, events: events[webhook.id] ?? webhook.events }));
  const notificationPolicies = policy === null ? [] : shared.notificationPolicies.map((one) => ({ ...one, ...policy }));
  const config = { ...api.config, shared: { ...shared, webhooks, notificationPolicies }, allowEmpty: ['notification_policies'] };
  const { number } = await syncGeneration(api.services.database, config);
  await expect.poll(() => api.services.generation().number, { timeout: 15_000 }).toBe(number);
}
