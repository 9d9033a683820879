import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { KnownView } from '../../workflows/messages.js';
import { requestWorkflowId } from '../../workflows/messages.js';
import { approve, storeRequest } from '../support/requests.js';
import { vouch } from '../support/vouch.js';
import { eventually, startTestWorker, statusOf, type TestWorker, untilKnown, untilStored } from '../worker/support.js';

let worker: TestWorker;
/** How far the timer is off, as if the clocks of two machines differed. */
let offMs = 0;
let asked = 0;
const RealDate = Date;

/** Everything in this process that asks for the time gets a wrong one; Postgres and Temporal run elsewhere. */
function shiftClock(ms: number): void {
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, given) => (given.length === 0 ? new target(target.now() + ms) : Reflect.construct(target, given)),
    get: (target, key) => (key === 'now' ? () => target.now() + ms : Reflect.get(target, key)),
  });
}

beforeAll(async () => {
  worker = await startTestWorker({
    wrapStep: (step) => async (id, clock) => {
      if (clock !== null) asked += 1;
      const view = await step(id, clock);
      return view.clock === null ? view : ({ ...view, clock: { ...view.clock, inMs: view.clock.inMs + offMs } } as KnownView);
    },
  });
  await eventually(async () => worker.worker.isWorking());
});
afterEach(() => {
  globalThis.Date = RealDate;
  offMs = 0;
  asked = 0;
});
afterAll(async () => {
  await worker.stop();
});

/** Milliseconds between the instant of a request's expiry and its move, by Postgres's clock. */
async function lateMs(id: string, instant = 'expires_at'): Promise<number> {
  await untilStored(worker, id, 'expired');
  const [row] = await worker.database.query<{ late: number }>(
    `select (extract(epoch from updated_at - ${instant}) * 1000)::int as late from requests where id = $1`,
    [id],
  );
  return row!.late;
}

describe('clocks that differ', () => {
  it.each([3000, -3000])('a worker whose clock is %i ms off moves a request at the instant of Postgres (TT-6)', async (ms) => {
    shiftClock(ms);
    const late = await lateMs(await storeRequest(worker.database, { pendingSecs: 2 }));
    expect(late).toBeGreaterThanOrEqual(0);
  });

  it('a timer that fires early asks once per second and moves nothing before the instant', async () => {
    const { database } = worker;
    offMs = -3_600_000;
    const begun = performance.now();
    const id = await storeRequest(database, { pendingSecs: 3600 });
    await eventually(() => asked > 2);
    const seconds = (performance.now() - begun) / 1000;
    expect(await statusOf(worker, id)).toBe('pending');
    expect(asked).toBeLessThanOrEqual(seconds + 2);
    await database.query(`update requests set expires_at = clock_timestamp() - interval '1 ms' where id = $1`, [id]);
    await vouch(database, id);
    expect(await lateMs(id)).toBeGreaterThanOrEqual(0);
  });
});

it('news that waited for a worker sets its clock to the instant, not to what was left when it was sent (TT-6)', async () => {
  const { database, client } = worker;
  const id = await storeRequest(database, { pendingSecs: 3600, approvalSecs: 2 });
  await untilKnown(worker, id, 'pending');
  const clock = { kind: 'approved', at: new Date(Date.now() + 2000).toISOString(), inMs: 3_600_000 };
  const view = { version: 2, status: 'approved', turn: 'requester', clock, final: false };
  await client.workflow.getHandle(requestWorkflowId(id)).signal('approval', { who: 'bob', step: 0, view });
  await untilKnown(worker, id, 'approved');
  await approve(database, id);
  expect(await lateMs(id, 'dispatch_by')).toBeGreaterThanOrEqual(0);
});
