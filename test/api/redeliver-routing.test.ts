import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { purgeRequests } from '../../db/purge.js';
import type { TestApi } from '../support/api.js';
import { putInForce, type RedeliveryApi, redeliveryCalls, startRedeliveryApi } from './redelivery-calls.js';

let own: RedeliveryApi;
let api: TestApi;
let deliveries: ReturnType<typeof redeliveryCalls>;
beforeAll(async () => {
  own = await startRedeliveryApi();
  api = own.api;
  deliveries = redeliveryCalls(own);
});
afterAll(() => api?.close());
beforeEach(() => putInForce(api));

it('a webhook that left the file gets nothing again (NT-63)', async () => {
  const { id } = await deliveries.ended();
  await putInForce(api, { without: 'feed', policy: { webhooks: ['people'] } });
  await deliveries.refused(id, 'webhook_removed');
});

it('a webhook that the policy of the pair no longer names gets nothing again, and one it names again does (NT-63, NT-I6)', async () => {
  const { id } = await deliveries.ended();
  await putInForce(api, { policy: { webhooks: ['people'] } });
  await deliveries.refused(id, 'not_routed');
  await putInForce(api, { policy: { events: ['execution.*'] } });
  await deliveries.refused(id, 'not_routed');
  await putInForce(api, { policy: { webhooks: ['people'], environment: 'staging' } });
  expect((await deliveries.redeliver(id)).status).toBe(202);
  await putInForce(api, { policy: null });
  expect((await deliveries.redeliver(id)).status).toBe(202);
});

it('a webhook that no longer subscribes to the event gets nothing again, with a request or without (NT-63, NT-10)', async () => {
  const [{ id }, ofUser] = [await deliveries.ended(), await deliveries.endedOfUser('mona')];
  await putInForce(api, { events: { feed: ['execution.*'], people: ['request.*'] }, policy: { webhooks: ['feed', 'people'] } });
  await deliveries.refused(id, 'not_routed');
  await deliveries.refused(ofUser, 'not_routed');
});

it('a test is sent again whatever the webhook subscribes to (NT-10, NT-63)', async () => {
  await putInForce(api, { events: { feed: ['execution.*'] } });
  const id = (await api.call('POST', '/api/webhooks/feed/test', { token: api.tokens.admin })).body.delivery_id as string;
  await deliveries.end(`webhook_id = 'feed'`);
  expect((await deliveries.redeliver(id)).status).toBe(202);
});

it('what the file says when the delivery is stored counts, not what it said when the call came (NT-14, NT-63)', async () => {
  const { id } = await deliveries.ended();
  const before = [await deliveries.stored(), await deliveries.events()];
  const { database } = api.services;
  let late: ReturnType<typeof deliveries.redeliver> | undefined;
  await database.transaction(async (tx) => {
    await tx.query(`select 1 from tokens where subject_id = 'admin' for update`);
    late = deliveries.redeliver(id);
    const waiting = () =>
      database.query(`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);
    await expect.poll(waiting, { timeout: 15_000 }).not.toEqual([]);
    await putInForce(api, { policy: { webhooks: ['people'] } });
  });
  const { status, body } = await late!;
  expect([status, body.reason]).toEqual([409, 'not_routed']);
  expect([await deliveries.stored(), await deliveries.events()]).toEqual(before);
});

it('the text of a request that is no longer stored goes nowhere again: nobody can say to whom it is routed (NT-63)', async () => {
  const { id, request } = await deliveries.ended();
  await own.calls.act(own.owner, request, 'cancel');
  await deliveries.end(`request_id = '${request}'`);
  await own.calls.sql(`update requests set updated_at = clock_timestamp() - interval '2 days' where id = '${request}'`);
  expect(await api.services.database.transaction((tx) => purgeRequests(tx, 1, 10))).toBe(1);
  await deliveries.refused(id, 'request_purged');
});

it('one that has not ended is not sent again, and is told so (NT-63)', async () => {
  const id = (await api.call('POST', '/api/webhooks/feed/test', { token: api.tokens.admin })).body.delivery_id as string;
  await deliveries.refused(id, 'not_ended');
});
