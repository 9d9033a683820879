import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestApi } from '../support/api.js';
import { type AgentCalls, type Body, basicBody, pollBody, startAgentApi } from './agent-calls.js';

let api: TestApi;
let calls: AgentCalls;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi());
});
afterAll(() => api?.close());
beforeEach(() => calls.clear());

const known = ['fence', 'marker_executions', 'max_affected_rows', 'cancel_in_poll', 'claim_in_poll', 'schema_sync'];

/** What agents of other versions say of themselves. */
const versions: readonly [string, Body][] = [
  ['the basic protocol', basicBody],
  ['fences', pollBody({}, { features: ['fence'] })],
  ['fences and markers of executions', pollBody({}, { features: ['fence', 'marker_executions'] })],
  ['everything, and words of a later version', pollBody({ later: { more: [1] } }, { features: [...known, 'later'], later: 1 })],
];

describe('an agent of another version, while servers and agents are exchanged one by one', () => {
  it.each(versions)('that knows %s runs reads and writes that need nothing else (OP-54)', async (_, body) => {
    const agent = await calls.known(body);
    for (const detail of ['select 1', 'delete from t where id = 1']) {
      const id = await calls.dispatched(detail);
      expect(await agent.offered(body)).toEqual([id]);
      const execution = await agent.run(id);
      expect((await agent.heartbeat(execution)).status).toBe(200);
      const ended = await agent.submit(execution, { success: true, rows_affected: 1, later: true });
      expect([detail, ended.status, ended.body.status]).toEqual([detail, 200, 'executed']);
    }
  });

  it('can finish what it claimed before, and what it lost is looked for by the next one (OP-54)', async () => {
    const [older, newer] = [await calls.known(basicBody), await calls.known(pollBody({}, { features: known }))];
    const [finished, lost] = [await calls.dispatched(), await calls.dispatched()];
    const execution = await older.run(finished);
    await older.run(lost);
    await calls.fireClock(lost, 'lease');
    expect((await older.submit(execution, { success: true })).body.status).toBe('executed');
    expect((await calls.resume(lost)).status).toBe(200);
    expect(await newer.offered(pollBody({}, { features: known }))).toEqual([lost]);
    expect((await newer.submit(await newer.run(lost), { success: true })).body.status).toBe('executed');
  });
});
