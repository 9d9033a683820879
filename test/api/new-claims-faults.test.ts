import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { refusal } from '../../domain/errors.js';
import { sleep } from '../../lib/sleep.js';
import type { TestApi } from '../support/api.js';
import { type AgentCalls, pollBody, startAgentApi } from './agent-calls.js';
import { waitingPolls } from './claiming-polls.js';

let api: TestApi;
let calls: AgentCalls;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi({ times: { claimWithinMs: 20_000 } }));
});
afterAll(() => api?.close());
beforeEach(() => calls.clear());

describe('a request that passes by itself while a poll waits for it in the same process (AG-80)', () => {
  it('fails the poll if nobody knows whether the claim was made, so that the agent asks for it at once (AG-81)', async () => {
    const agent = await calls.known();
    const { polls } = await waitingPolls(api, [agent]);
    const { database } = api.services;
    const writeOnce: typeof database.writeOnce = async (write) => {
      await database.writeOnce(write);
      throw refusal('service.unavailable', 'the gateway database is not reachable');
    };
    api.services.database = { ...database, writeOnce };
    const created = await api
      .call('POST', '/api/requests', {
        token: calls.requester,
        body: { database: 'shop', environment: 'staging', operation: 'execute_select', detail: 'select 84', reason: 'a read' },
      })
      .finally(() => (api.services.database = database));
    expect(created.status).toBe(503);
    expect(await Promise.race([polls[0], sleep(2000).then(() => 'still waits')])).toMatchObject({ status: 503 });
    const again = await agent.poll(
      pollBody({ claim: true, instance_id: agent.id, holding: [], status: { in_flight: 0, max_concurrent: 4 } }),
    );
    expect(again.body.claims).toMatchObject([{ detail: 'select 84', fence: 1 }]);
  });

  it('is created without waiting for the token of the agent, which somebody revokes just now', async () => {
    const agent = await calls.known();
    const { polls } = await waitingPolls(api, [agent]);
    const id = await api.services.database.transaction(async (tx) => {
      await tx.query('select 1 from tokens where id = $1 for update', [agent.tokenId]);
      const created = await Promise.race([calls.dispatched(), sleep(1500).then(() => 'waits')]);
      expect([created, created === 'waits' ? null : await calls.statusOf(created)]).toEqual([expect.any(String), 'dispatched']);
      return created;
    });
    expect((await polls[0])?.claims).toMatchObject([{ request_id: id }]);
  });

  it('is created all the same if its claim cannot be judged', async () => {
    const ended: (string | null)[] = [];
    const judge = () => Promise.reject(new Error('the key cannot be read'));
    const { readyPolls } = api.services;
    api.services.readyPolls = {
      ...readyPolls,
      size: 1,
      hold: () => ({ judge, end: (answer) => void ended.push(answer), fail: () => {} }),
    };
    const id = await calls.dispatched();
    api.services.readyPolls = readyPolls;
    expect([await calls.statusOf(id), await calls.runsOf(id), ended]).toEqual(['dispatched', [], [null]]);
  });
});
