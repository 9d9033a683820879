import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLastHour } from '../../runtime/last-hour.js';
import { type Loose, startTestApi, type TestApi } from '../support/api.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';

let api: TestApi;
let calls: GatewayCalls;
let alice: string;
let bob: string;
beforeAll(async () => {
  api = await startTestApi();
  calls = gatewayCalls(api);
  alice = await api.createUser('alice', { roles: ['requester'] });
  bob = await api.createUser('bob', { roles: ['approver'], groups: ['dba-team'] });
});
afterAll(() => api?.close());

const summary = async (where = api): Promise<Loose[]> =>
  (await where.call('GET', '/api/operations/summary', { token: api.tokens.admin })).body.minutes;
const total = (minutes: Loose[], of: (minute: Loose) => number) => minutes.reduce((sum, minute) => sum + of(minute), 0);

describe('the last hour (OP-23)', () => {
  it('has sixty minutes, oldest first, and what was made, decided and ended in each', async () => {
    const before = total(await summary(), ({ created }) => created);
    await calls.poll(['shop/production', 'shop/staging']);
    const [approved, rejected, cancelled] = [await calls.created(alice), await calls.created(alice), await calls.created(alice)];
    await calls.act(bob, approved, 'approve');
    await calls.act(bob, rejected, 'reject');
    await calls.act(alice, cancelled, 'cancel');
    await calls.run(alice, {}, { success: true, result_data: '[]', rows_affected: 0, duration_ms: 1 });
    const other = await api.another();
    await expect.poll(async () => total(await summary(other), ({ created }) => created)).toBe(before + 4);
    const minutes = await summary(other);
    expect(minutes).toHaveLength(60);
    const starts = minutes.map(({ at }) => Date.parse(at));
    expect(starts.map((at, index) => at - starts[0]! - index * 60_000)).toEqual(starts.map(() => 0));
    const ended = (status: string) => total(minutes, ({ outcomes }) => outcomes[status]);
    expect(['executed', 'rejected', 'cancelled', 'failed', 'expired', 'execution_lost'].map(ended)).toEqual([1, 1, 1, 0, 0, 0]);
    expect(total(minutes, ({ decisions }) => decisions)).toBe(2);
    const waits = minutes.flatMap(({ decision_wait_secs: wait }) => (wait === null ? [] : [wait]));
    expect([waits.length > 0, waits.every((wait) => wait >= 0 && wait < 600)]).toEqual([true, true]);
    // A minute may have begun since the look.
    const looked = async () => (await summary(other)).findLast((minute) => minute.agent_slots !== null);
    await expect.poll(looked).toBeDefined();
    const last = (await looked())!;
    expect(last.backlog).toBeGreaterThan(0);
    expect(last.agent_slots_used).toBeLessThanOrEqual(last.agent_slots);
    expect(minutes[0]).toMatchObject({ agent_slots: null, agent_slots_used: null, backlog: null });
    await other.close();
  });

  it('goes on: what is new comes in, and no more than an hour is kept', async () => {
    const hour = openLastHour({ database: api.services.database, log: api.services.log }, 20);
    const before = total(await hour.read(), ({ created }) => created);
    await calls.created(alice);
    await expect.poll(async () => total(await hour.read(), ({ created }) => created), { timeout: 10_000 }).toBe(before + 1);
    expect((await hour.read()).length).toBe(60);
    await expect.poll(async () => (await hour.read()).at(-1)?.load).not.toBeNull();
    await hour.close();
  });

  it('comes with the state of the server that answers: its generation, and whether it drains', async () => {
    const other = await api.another({ drainSecs: 5 });
    const state = async () => (await other.call('GET', '/api/operations/summary', { token: api.tokens.admin })).body.server;
    const { number, createdAt } = other.services.generation();
    const generation = { generation: number, generation_since: new Date(createdAt).toISOString() };
    expect(await state()).toEqual({ draining: false, ...generation });
    other.drain();
    expect(await state()).toEqual({ draining: true, ...generation });
    expect((await api.call('GET', '/api/operations/summary', { token: api.tokens.admin })).body.server.draining).toBe(false);
    await other.close();
  });

  it('needs metrics.view', async () => {
    expect((await api.call('GET', '/api/operations/summary', { token: alice })).status).toBe(403);
  });
});
