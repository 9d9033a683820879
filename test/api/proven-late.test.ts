import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { evidenceTools } from '../../crypto/evidence-tools.js';
import { verifyEvidence } from '../../domain/evidence/verify.js';
import type { TestApi } from '../support/api.js';
import { sealAll } from '../support/audit-api.js';
import { type Agent, type AgentCalls, coded, startAgentApi } from './agent-calls.js';

let api: TestApi;
let calls: AgentCalls;
let first: Agent;
let second: Agent;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi({ times: { cancelWaitMs: 20 } }));
  first = await calls.known();
  second = await calls.known();
});
afterAll(() => api?.close());

interface Twice {
  id: string;
  older: string;
  newer: string;
}

/** A write that the first agent lost, and that the second one has claimed since. */
async function claimedAgain(): Promise<Twice> {
  const id = await calls.dispatched('delete from t where id = 1');
  const older = await first.run(id);
  await calls.fireClock(id, 'lease');
  await calls.resume(id);
  return { id, older, newer: await second.run(id) };
}

async function lostTwice(): Promise<Twice> {
  const twice = await claimedAgain();
  await calls.fireClock(twice.id, 'lease');
  return twice;
}

const committed = { success: true, outcome: 'committed', result_data: '{"rows_affected":1}', rows_affected: 1 };
const notStarted = { success: false, outcome: 'not_started', error_message: 'cancelled', cancelled: true };
const gone = [410, 'execution.gone'];
const reports = async ({ older }: Twice) => expect(coded(await first.submit(older, committed))).toEqual(gone);
const cancelled = async ({ id }: Twice) => expect((await calls.cancel(id)).status).toBe(200);
const cancelledTooLate = async ({ id }: Twice) => expect(coded(await calls.cancel(id))).toEqual([409, 'request.conflict']);

type Way = [string, () => Promise<Twice>, ...((twice: Twice) => Promise<unknown>)[]];
const ways: Way[] = [
  ['cancelled while lost, and reported then', lostTwice, cancelled, reports],
  ['reported while lost, and cancelled then', lostTwice, reports, cancelledTooLate],
  ['resumed, reported, and cancelled then', lostTwice, ({ id }) => calls.resume(id), reports, cancelledTooLate],
  ['resumed, cancelled, and reported then', lostTwice, ({ id }) => calls.resume(id), cancelled, reports],
  ['waited for an agent in vain, reported, and out of time then', lostTwice, waits, reports, timeIsOver],
  ['claimed again, reported, and stopped then', claimedAgain, reports, ({ id }) => calls.cancel(id), stopped],
  ['claimed again, stopped, and reported then', claimedAgain, ({ id }) => calls.cancel(id), stopped, reports],
];

async function waits({ id }: Twice) {
  await calls.resume(id);
  await calls.fireClock(id, 'dispatch');
  expect(await calls.statusOf(id)).toBe('approved');
}

async function timeIsOver({ id }: Twice) {
  await calls.endClock(id, 'approved', true);
}

async function stopped({ newer }: Twice) {
  expect((await second.submit(newer, notStarted)).status).toBe(200);
}

describe('what an older attempt has committed is executed, neither cancelled nor expired (RQ-73, ST-18, ST-24)', () => {
  it.each(ways)('%s', async (_, begin, ...happened) => {
    const twice = await begin();
    const { id, older, newer } = twice;
    for (const one of happened) await one(twice);

    expect(await calls.statusOf(id)).toBe('executed');
    expect(await calls.runsOf(id)).toMatchObject([
      { id: newer, status: 'failed' },
      { id: older, status: 'completed', outcome: 'committed', error_message: null },
    ]);
    expect(await calls.sql('select 1 from executions where request_id = $1 and unresolved', [id])).toEqual([]);
    const completed = await calls.sql(
      `select actor_id as actor, resource_id as run, metadata_json::jsonb -> 'fence' as fence from audit_events
       where request_id = $1 and event_type = 'execution.completed'`,
      [id],
    );
    expect(completed).toEqual([{ actor: first.id, run: older, fence: 1 }]);

    for (const answer of [await calls.content(calls.requester, id), await calls.stream(calls.requester, id)])
      expect([answer.status, answer.body]).toMatchObject([200, { execution_id: older, success: true }]);
    expect(coded(await calls.cancel(id))).toEqual([409, 'request.conflict']);
    expect((await first.submit(older, committed)).body.status).toBe('executed');
    await provesIt(id);
  });

  it('a resume after the report still sends the next agent to look for both attempts (AG-59)', async () => {
    const twice = await lostTwice();
    await reports(twice);
    await calls.resume(twice.id);
    const { body } = await second.claim(twice.id);
    expect(body).toMatchObject({ fence: 3, unresolved_fences: [1, 2] });
    const found = { success: true, outcome: 'already_applied', applied_fence: 1, applied_execution_id: twice.older };
    expect((await second.submit(body.execution_id, found)).body.status).toBe('executed');
    await provesIt(twice.id);
  });
});

/** Its evidence holds, and ends with it executed (AU-84). */
async function provesIt(id: string): Promise<void> {
  await sealAll(api);
  const { text } = await api.call('GET', `/api/requests/${id}/evidence`, { token: api.tokens.admin });
  const { fault, evidence } = verifyEvidence(text, { trustedKeys: null, anchor: null }, evidenceTools);
  expect([fault, evidence?.request.status]).toEqual([null, 'executed']);
}
