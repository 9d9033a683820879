import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { syncGeneration } from '../../runtime/generation.js';
import type { TestApi } from '../support/api.js';
import { ownerAndApprover, startCalls } from './calls-api.js';
import type { GatewayCalls } from './gateway-calls.js';
import { reach } from './reach-status.js';

let api: TestApi;
let calls: GatewayCalls;
let owner: string;
let approver: string;
beforeAll(async () => {
  ({
    api,
    calls,
    tokens: { owner, approver },
  } = await startCalls(ownerAndApprover));
});
afterAll(() => api?.close());

describe('a pair that leaves the configuration (CF-33)', () => {
  it('CF-33, RQ-86: takes no new requests; what was asked of it is seen, cancelled and read, but not run', async () => {
    await calls.poll(['shop/production']);
    const executed = await reach.executed!(calls, { owner, approver });
    const approved = await reach.approved!(calls, { owner, approver });
    const pending = await calls.created(owner);
    const { shared } = api.config;
    const databases = shared.databases.map((one) =>
      one.name === 'shop' ? { ...one, environments: one.environments.filter((name) => name !== 'production') } : one,
    );
    const next = await syncGeneration(api.services.database, { ...api.config, shared: { ...shared, databases } });
    await expect.poll(() => api.services.generation().number, { timeout: 15_000 }).toBe(next.number);
    const refused = await calls.create(owner);
    expect([refused.status, refused.body.error]).toEqual([400, 'shop/production is not registered']);
    const seen = (await calls.list(owner, '?limit=100')).body.requests.map(({ id }: { id: string }) => id);
    expect(seen).toEqual(expect.arrayContaining([executed, approved, pending]));
    expect((await calls.show(owner, approved)).body.status).toBe('approved');
    const resumed = await calls.act(owner, approved, 'resume');
    expect([resumed.status, resumed.body.code]).toEqual([409, 'request.conflict']);
    for (const id of [approved, pending]) expect((await calls.act(owner, id, 'cancel')).body.status).toBe('cancelled');
    expect((await calls.content(owner, executed)).status).toBe(200);
  });
});
