import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { ownerAndApprover, startCalls } from './calls-api.js';
import { callsToml } from './calls-toml.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';
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
  } = await startCalls(ownerAndApprover, ['shop/production', 'shop/staging']));
});
afterAll(() => api?.close());

describe('with Temporal away (HT-113)', () => {
  it('lets a request live its whole life, and keeps its news', async () => {
    const id = await reach.executed!(calls, { owner, approver });
    expect((await calls.content(owner, id)).status).toBe(200);
    const news = await calls.sql<{ signal: string }>('select signal from outbox where request_id = $1 order by version', [id]);
    // News of a claim may be overtaken by the end of its run; decisions and ends never are.
    expect(news.map(({ signal }) => signal).filter((signal) => signal !== 'change')).toEqual([
      'approval',
      'resumption',
      'completion',
    ]);
  });

  it('shows operators the stored state and that the live one is unavailable (OP-74)', async () => {
    const id = await calls.created(owner);
    const answer = await api.call('GET', `/api/requests/${id}/workflow`, { token: api.tokens.admin });
    const shown = (await calls.show(owner, id)).body;
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        workflow_id: `request-${id}`,
        run_id: null,
        stored: { version: 1, status: 'pending', deadline: shown.expires_at },
        live: null,
        live_error: 'unavailable',
        in_step: false,
        ui_url: null,
      },
    ]);
    const final = await reach.rejected!(calls, { owner, approver });
    const ended = await api.call('GET', `/api/requests/${final}/workflow`, { token: api.tokens.admin });
    expect(ended.body).toMatchObject({ stored: { status: 'rejected', deadline: null }, live: null, in_step: false });
  });

  it('shows that to holders of request.view:any on the pair only (OP-74)', async () => {
    const operator = await api.createUser('operator', { roles: ['shop-operator'] });
    const inShop = await calls.created(owner);
    const inLedger = await calls.created(owner, { database: 'ledger' });
    const status = async (token: string, id: string) => (await api.call('GET', `/api/requests/${id}/workflow`, { token })).status;
    expect([await status(operator, inShop), await status(operator, inLedger), await status(owner, inShop)]).toEqual([
      200, 403, 403,
    ]);
  });
});

describe('above the backlog (OP-72)', () => {
  it('refuses creations alone, with nothing stored, until the news is taken', async () => {
    const full = await startTestApi({ toml: callsToml });
    try {
      const fullCalls = gatewayCalls(full);
      const person = await full.createUser('owner', { roles: ['requester'] });
      const dba = await full.createUser('approver', { groups: ['dba-team'] });
      await fullCalls.poll(['shop/production']);
      const key = { idempotency_key: 'before' };
      const id = await fullCalls.created(person, key);
      const limit = full.config.temporal.maxBacklog;
      await fullCalls.sql(
        `insert into outbox (request_id, version, signal, actor, starts, lingers, due_at)
         select gen_random_uuid(), 1, 'change', 'system', true, false, clock_timestamp() from generate_series(1, $1::int)`,
        [limit],
      );
      // The count is a second old at most.
      await expect.poll(async () => (await fullCalls.create(person)).status, { interval: 100, timeout: 5000 }).toBe(503);
      const stored = async () => (await fullCalls.sql('select 1 from requests')).length;
      const before = await stored();
      const refused = await fullCalls.create(person);
      expect([refused.status, refused.body.code]).toEqual([503, 'service.unavailable']);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(await stored()).toBe(before);

      expect((await fullCalls.create(person, key)).status).toBe(200);
      expect((await fullCalls.act(dba, id, 'approve')).status).toBe(200);
      expect((await fullCalls.act(person, id, 'resume')).status).toBe(200);
      const { executionId } = await fullCalls.claimed(id);
      expect((await fullCalls.submit(executionId, { success: true, result_data: '1' })).status).toBe(200);
      expect((await fullCalls.content(person, id)).status).toBe(200);

      await fullCalls.sql('delete from outbox');
      await expect.poll(async () => (await fullCalls.create(person)).status, { interval: 100, timeout: 5000 }).toBe(201);
    } finally {
      await full.close();
    }
  });
});

describe('while draining (RQ-13, HT-110, OP-61)', () => {
  it('refuses creations after their shape was checked, and serves all else', async () => {
    const draining = await api.another();
    const there = gatewayCalls(draining);
    try {
      const { executionId } = await calls.claimed(await calls.created(owner, { environment: 'staging' }));
      const pending = await calls.created(owner);
      Object.defineProperty(draining.services.lifecycle, 'draining', { value: true });
      const refused = await there.create(owner);
      expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([503, 'service.draining', '1']);
      expect((await there.create(owner, { detail: 5 })).status).toBe(400);
      expect((await there.create(owner, { allow_ddl: true })).status).toBe(503);
      expect((await there.act(approver, pending, 'approve')).status).toBe(200);
      expect((await there.act(owner, pending, 'resume')).status).toBe(200);
      expect((await there.claim(pending)).body.code).toBe('service.draining');
      expect((await there.act(owner, pending, 'cancel')).status).toBe(200);
      expect((await there.submit(executionId, { success: true })).status).toBe(200);
      expect((await there.list(owner)).status).toBe(200);
    } finally {
      await draining.close();
    }
  });
});

describe('a write that fails half-way', () => {
  it.each([
    ['approve', 'pending', () => approver],
    ['reject', 'pending', () => approver],
    ['cancel', 'pending', () => owner],
    ['resume', 'approved', () => owner],
  ] as const)('leaves nothing of %s, and the call fails (ST-22, AU-10, AU-I8)', async (act, status, token) => {
    const id = await reach[status]!(calls, { owner, approver });
    const state = () =>
      calls.sql(
        `select r.*, (select count(*) from audit_events a where a.request_id = r.id) as events, (select count(*) from outbox o where o.request_id = r.id) as news,
           (select count(*) from decisions d where d.request_id = r.id) as decisions from requests r where r.id = $1`,
        [id],
      );
    const before = await state();
    await calls.sql(`alter table audit_events add constraint broken check (event_type = 'none') not valid`);
    const failed = await calls.act(token(), id, act);
    await calls.sql('alter table audit_events drop constraint broken');
    expect([failed.status, failed.body.code]).toEqual([503, 'service.unavailable']);
    expect(await state()).toEqual(before);
    expect((await calls.act(token(), id, act)).status).toBe(200);
  });
});
