import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { needsDbaToml } from '../support/toml.js';
import { type AgentCalls, agentCalls, agentToml, coded, pollBody } from './agent-calls.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';
import { untilWaiting } from './until-waiting.js';

const toml = agentToml + needsDbaToml('production');

let servers: [TestApi, TestApi];
let calls: AgentCalls;
let elsewhere: GatewayCalls;
let approver: string;
beforeAll(async () => {
  const first = await startTestApi({ toml, times: { cancelWaitMs: 20 } });
  servers = [first, await first.another({ times: { cancelWaitMs: 20 } })];
  calls = await agentCalls(first);
  elsewhere = gatewayCalls(servers[1]);
  approver = await first.createUser('approver', { groups: ['dba-team'] });
});
afterAll(async () => {
  await servers?.[1]?.close();
  await servers?.[0]?.close();
});
beforeEach(() => calls.clear());

/** A claim at one of the two servers. */
const claimAt = (server: number, token: string, id: string) =>
  servers[server % 2]!.call('POST', `/api/agent/jobs/${id}/claim`, { token, body: { claim_id: randomUUID() } });

const conflict = [409, 'request.conflict'];

describe('races over two servers', () => {
  it('AG-I1: of 20 agents one gets the job', async () => {
    const agents = await Promise.all(Array.from({ length: 20 }, () => calls.known()));
    const id = await calls.dispatched('delete from t where id = 1');
    const answers = await Promise.all(agents.map(({ token }, index) => claimAt(index, token, id)));
    const won = answers.findIndex(({ status }) => status === 200);
    expect(answers.filter((_, index) => index !== won).map(coded)).toEqual(Array(19).fill(conflict));
    expect(await calls.runsOf(id)).toMatchObject([{ agent_id: agents[won]?.id, fence: 1, status: 'running' }]);
    expect(await calls.events(id, 'execution.started')).toHaveLength(1);
  });

  it('AG-61: a cancel at one and a claim at the other agree on who was first', async () => {
    const agent = await calls.known();
    for (let round = 0; round < 8; round += 1) {
      const id = await calls.dispatched();
      const starts = [
        () => claimAt(round, agent.token, id),
        () => (round % 2 === 0 ? elsewhere : calls).act(calls.requester, id, 'cancel'),
      ];
      // Rounds begin with either in turn, so that each of them wins some.
      const order = round % 4 < 2 ? [0, 1] : [1, 0];
      const found = new Map(await Promise.all(order.map(async (which) => [which, (await starts[which]!()).status] as const)));
      const status = await calls.statusOf(id);
      expect([found.get(0), found.get(1), status]).toEqual(
        status === 'running' ? [200, 202, 'running'] : [409, 200, 'cancelled'],
      );
      expect(await calls.runsOf(id)).toHaveLength(status === 'running' ? 1 : 0);
    }
  });

  it('RQ-I12: a resume at one and the end of the approval at the other leave one outcome', async () => {
    for (let round = 0; round < 8; round += 1) {
      const id = await calls.created(calls.requester, { environment: 'production' });
      expect((await calls.act(approver, id, 'approve')).status).toBe(200);
      const starts = [() => elsewhere.act(calls.requester, id, 'resume'), () => calls.fireClock(id, 'approved').then(() => null)];
      const order = round % 2 === 0 ? [0, 1] : [1, 0];
      const found = new Map(await Promise.all(order.map(async (which) => [which, await starts[which]!()] as const)));
      const status = await calls.statusOf(id);
      expect([found.get(0)?.status, status]).toEqual(status === 'dispatched' ? [200, 'dispatched'] : [410, 'expired']);
      expect((await calls.eventTypes(id)).at(-1)).toBe(status === 'dispatched' ? 'request.dispatched' : 'request.expired');
    }
  });
});

const listening = `from pg_stat_activity where datname = current_database() and application_name like '% listen'`;

/** Ends the connection on which each server listens, as a restarted network device does. */
async function cutListeners() {
  await expect.poll(() => calls.sql(`select pid ${listening}`)).toHaveLength(servers.length);
  return calls.sql<{ pid: number }>(`select pid, pg_terminate_backend(pid) ${listening}`);
}

describe('a wait at one server while its listening connection is cut', () => {
  // Waits are longer than a test may take: only a wake-up ends them in time.
  it('HT-102: is ended by a move at the other server that it could not hear', async () => {
    const id = await calls.created(calls.requester, { environment: 'production' });
    const { answer } = await untilWaiting(servers[0], () => calls.show(calls.requester, id, '?wait=60'));
    expect((await cutListeners()).length).toBe(2);
    expect((await elsewhere.act(approver, id, 'approve')).status).toBe(200);
    expect((await answer).body).toMatchObject({ status: 'approved' });
  });

  it("HT-102: is an agent's too: it gets the job that was dispatched meanwhile", async () => {
    const agent = await calls.known();
    const { answer } = await untilWaiting(servers[0], () => agent.poll(pollBody({ wait_ms: 30_000 })));
    expect((await cutListeners()).length).toBe(2);
    const created = await elsewhere.create(calls.requester, { environment: 'staging' });
    expect((await answer).body.jobs).toMatchObject([{ id: created.body.id }]);
  });
});
