import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { signingKeyFromSeed } from '../../crypto/ed25519.js';
import { type FakeApi, type FakeReply, startFakeApi } from '../support/fake-api.js';
import { createEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';

const key = signingKeyFromSeed(new Uint8Array(32).fill(5));
const pollRoute = 'POST /api/agent/poll';
const limited: FakeReply = { status: 429, body: { code: 'rate.limited' }, headers: { 'retry-after': '3600' } };
const poll =
  (jobs: object[] = []) =>
  () => ({
    body: {
      jobs,
      dry_run_jobs: [],
      preflight_jobs: [],
      upgrade_required: false,
      agent_id: 'a',
      server_time: new Date().toISOString(),
    },
  });

let database: TestDatabase;
let api: FakeApi;
let agent: TestAgent;
beforeEach(async () => {
  database = await createEmptyDatabase();
  api = (await startFakeApi()).on('GET /api/public-key', {
    body: { keys: [{ key_id: key.keyId, public_key: key.publicKeyHex }] },
  });
});
afterEach(async () => {
  agent.stop();
  await agent.exit;
  await api.close();
  await database.drop();
});

const polls = () => api.bodies(pollRoute).length;

/** Far longer than the pauses of this agent without the rule. */
const aWhile = () => sleep(400);

describe('an agent that is told 429 waits as long as Retry-After says (AG-10)', () => {
  it.each(['3600', '99999999999'])('of %s s with its next poll, after a poll', async (secs) => {
    api.on(pollRoute, poll(), { ...limited, headers: { 'retry-after': secs } }, poll());
    agent = startTestAgent({ gateway: api, url: database.url });
    await eventually(() => polls() === 2);
    await aWhile();
    expect(polls()).toBe(2);
  });

  it('with its next poll, after a claim', async () => {
    const job = { id: randomUUID(), operation: 'execute_select', environment: 'staging', database: 'shop', fence: 1 };
    const claimRoute = `POST /api/agent/jobs/${job.id}/claim`;
    api.on(pollRoute, poll(), poll([job])).on(claimRoute, limited);
    agent = startTestAgent({ gateway: api, url: database.url });
    await eventually(() => api.bodies(claimRoute).length === 1);
    await aWhile();
    expect([api.bodies(claimRoute).length, polls()]).toEqual([1, 2]);
  });
});
