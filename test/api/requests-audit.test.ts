import { randomBytes, randomInt } from 'node:crypto';
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
  } = await startCalls(ownerAndApprover, ['shop/production', 'shop/staging', 'shop/qa']));
});
afterAll(() => api?.close());

type Event = Record<string, string | null> & { metadata: Record<string, unknown> };

/** The events of a request as the search answers them, oldest first. */
async function eventsOf(id: string): Promise<Event[]> {
  const { events } = (await api.call('GET', `/api/audit/events?request_id=${id}&limit=200`, { token: api.tokens.admin })).body;
  return events.reverse().map((event: Record<string, string>) => ({ ...event, metadata: JSON.parse(event.metadata_json!) }));
}

const withToken = (keys: string[]) => [...keys, 'auth_token_id'];

describe('events of a request (section 3 of the audit rules)', () => {
  it('of a whole life name actor, resource, subject and metadata in order (AU-1, AU-21, AU-22)', async () => {
    const id = await reach.executed!(calls, { owner, approver });
    const events = await eventsOf(id);
    const rows = events.map((event) => [
      event.event_type,
      event.event_category,
      event.outcome,
      event.actor_id,
      event.actor_type,
      event.resource_type,
      Object.keys(event.metadata),
    ]);
    const creation = withToken(['channel', 'emergency', 'allow_ddl', 'no_result_store', 'share_with', 'planned_statements']);
    const agent = events.at(-1)!.actor_id;
    expect(rows).toEqual([
      ['request.created', 'approval', 'success', 'owner', 'user', 'request', creation],
      ['request.approved', 'approval', 'success', 'approver', 'user', 'request', withToken(['matched_selector'])],
      ['request.dispatched', 'approval', 'success', 'owner', 'user', 'request', withToken(['fence'])],
      ['execution.started', 'execution', 'success', agent, 'agent', 'execution', withToken(['fence', 'agent_id'])],
      ['execution.completed', 'execution', 'success', agent, 'agent', 'execution', withToken(['fence', 'outcome'])],
    ]);
    for (const event of events) {
      expect(event).toMatchObject({
        request_id: id,
        operation: 'execute_select',
        database_name: 'shop',
        environment: 'production',
        event_version: 1,
        peer_ip: '127.0.0.1',
        client_ip: '127.0.0.1',
        client_ip_source: 'peer',
      });
      expect(event.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
      expect(event.resource_id).toBe(event.resource_type === 'request' ? id : events[3]!.resource_id);
    }
    expect(events[0]!.detail_raw).toBe('select ?');
  });

  it.each([
    ['pending', ['request.created']],
    ['approved', ['request.created', 'request.approved']],
    ['dispatched', ['request.created', 'request.approved', 'request.dispatched']],
    ['running', ['request.created', 'request.approved', 'request.dispatched', 'execution.started']],
    ['failed', ['request.created', 'request.approved', 'request.dispatched', 'execution.started', 'execution.failed']],
    ['rejected', ['request.created', 'request.rejected']],
    ['cancelled', ['request.created', 'request.cancelled']],
    ['expired', ['request.created', 'request.expired']],
    ['execution_lost', ['request.created', 'request.approved', 'request.dispatched', 'execution.started', 'execution.lost']],
  ])('are the path to %s (RQ-I1)', async (status, types) => {
    const id = await reach[status]!(calls, { owner, approver });
    expect((await eventsOf(id)).map((event) => event.event_type)).toEqual(types);
  });

  it('are truthful about how a move ended, and tell no more of an error than its class (C8, AU-53)', async () => {
    const last = async (status: string) => (await eventsOf(await reach[status]!(calls, { owner, approver }))).at(-1)!;
    expect(await last('failed')).toMatchObject({
      outcome: 'failure',
      metadata: { fence: 1, outcome: 'rolled_back', error_class: '42P01' },
    });
    expect((await last('failed')).metadata).not.toHaveProperty('error_message');
    expect(await last('rejected')).toMatchObject({
      outcome: 'denied',
      reason: 'no',
      actor_id: 'approver',
      metadata: { step_number: 1, total_steps: 1, matched_selector: 'group:dba-team' },
    });
    expect(await last('cancelled')).toMatchObject({ outcome: 'success', reason: 'not needed', metadata: { cause: 'requested' } });
    expect(await last('expired')).toMatchObject({ outcome: 'info', actor_id: 'system', metadata: { phase: 'pending' } });
    const lost = await last('execution_lost');
    expect(lost).toMatchObject({ event_category: 'agent', outcome: 'failure', actor_id: 'system', resource_type: 'execution' });
    expect(Object.keys(lost.metadata)).toEqual(['fence', 'cause']);
  });

  it('of a cancelled run are execution.cancelled and request.cancelled (ST-17)', async () => {
    const impatient = await api.another({ times: { cancelWaitMs: 20 } });
    try {
      const id = await calls.created(owner, { environment: 'staging' });
      const { executionId } = await calls.claimed(id);
      expect((await gatewayCalls(impatient).act(owner, id, 'cancel', { reason: 'why' })).status).toBe(202);
      await calls.submit(executionId, {
        success: false,
        outcome: 'rolled_back',
        error_message: '57014: canceled',
        duration_ms: 4,
      });
      const [execution, request] = (await eventsOf(id)).slice(-2);
      expect(execution).toMatchObject({ event_type: 'execution.cancelled', outcome: 'success', actor_type: 'agent' });
      expect(Object.keys(execution!.metadata)).toEqual(withToken(['fence', 'outcome', 'duration_ms']));
      expect(request).toMatchObject({ event_type: 'request.cancelled', reason: 'why', metadata: { cause: 'requested' } });
    } finally {
      await impatient.close();
    }
  });

  it('of a dispatch that nobody claims are timeout and, when the approval is over too, expiry (ST-11)', async () => {
    const again = await reach.dispatched!(calls, { owner, approver });
    await calls.fireClock(again, 'dispatch');
    expect((await eventsOf(again)).at(-1)).toMatchObject({ event_type: 'request.dispatch_timeout', outcome: 'failure' });
    const over = await reach.dispatched!(calls, { owner, approver });
    await calls.sql(`update requests set dispatch_by = clock_timestamp() - interval '1 ms' where id = $1`, [over]);
    await calls.fireClock(over, 'dispatch');
    const types = (await eventsOf(over)).slice(-2).map((event) => [event.event_type, event.metadata.phase]);
    expect(types).toEqual([
      ['request.dispatch_timeout', undefined],
      ['request.expired', 'approved'],
    ]);
  });

  it('of an emergency are break_glass and dispatched, with its flags', async () => {
    const dora = await api.createUser('dora', { roles: ['dba'] });
    const id = await calls.created(dora, { emergency: true, reason: 'pager', allow_ddl: true, share_with: ['owner'] });
    const [glass, dispatched] = await eventsOf(id);
    expect(glass).toMatchObject({
      event_type: 'request.break_glass',
      reason: 'pager',
      metadata: { channel: 'api', emergency: true, allow_ddl: true, no_result_store: false, share_with: ['owner'] },
    });
    expect(dispatched).toMatchObject({ event_type: 'request.dispatched', metadata: { fence: 1 } });
  });

  it('of steps count from one and carry the comment (AU-54)', async () => {
    const lead = await api.createUser('lead', { groups: ['leads'] });
    const id = await calls.created(owner, { environment: 'qa', reason: 'r' });
    await calls.act(lead, id, 'approve', { comment: 'sieht gut aus 🚀' });
    const step = (await eventsOf(id)).at(-1)!;
    expect(step.event_type).toBe('step.approved');
    expect(JSON.stringify(step.metadata)).toContain(
      '{"step_number":1,"total_steps":2,"matched_selector":"group:leads","approval_comment":"sieht gut aus 🚀"',
    );
  });
});

describe.each(['literals', 'full', 'none'])('SQL in the audit log with redaction %s (AU-50, AU-I7)', (mode) => {
  it('holds constants only as configured, in rows and in logs', async () => {
    const own = await startTestApi({ toml: `${callsToml}\n[audit]\nredaction = "${mode}"\n` });
    try {
      const text = `m${randomBytes(6).toString('hex')}`;
      const number = String(randomInt(10_000_000, 99_999_999));
      const person = await own.createUser('owner', { roles: ['requester', 'dba'] });
      const ownCalls = gatewayCalls(own);
      await ownCalls.poll(['shop/staging']);
      const details = [
        `select * from t where a = '${text}' and b = ${number} -- ${text}`,
        `update t set a = $tag$${text}$tag$, b = E'\\x41${text}', c = x'1F', d = date '${number.slice(0, 4)}-01-01' where b = ${number}`,
        `insert into t values ('${text}', ${number}.5, interval '${text}', array[${number}, 2])`,
        `create table t_new (a text default '${text}', check (b <> ${number}))`,
        `do_it('${text}', ${number}`,
      ];
      const error = `23505: Key (a)=(${text}) already exists`;
      for (const detail of details.slice(0, 4)) {
        await ownCalls.run(person, { detail }, { success: false, error_message: error });
        await ownCalls.create(person, { detail, emergency: true, allow_ddl: true, reason: 'pager' });
      }
      expect((await ownCalls.create(person, { detail: details[4] })).status).toBe(400);
      const events = JSON.stringify(await ownCalls.sql('select * from audit_events'));
      const logs = own.logged.join('\n');
      const found = [events.includes(text), events.includes(number), logs.includes(text), logs.includes(number)];
      expect(found).toEqual(mode === 'none' ? [true, true, expect.anything(), expect.anything()] : [false, false, false, false]);
      const [created] = await ownCalls.sql<Record<string, string | null>>(
        `select detail_fingerprint, detail_raw from audit_events where event_type = 'request.auto_approved' order by position limit 1`,
      );
      if (mode === 'full')
        expect(created).toEqual({ detail_fingerprint: expect.stringMatching(/^sha256:[0-9a-f]{64}$/), detail_raw: null });
      if (mode === 'none') expect(created!.detail_raw).toBe(details[0]);
      if (mode === 'literals') expect(created!.detail_raw).toBe(created!.detail_fingerprint);
    } finally {
      await own.close();
    }
  });
});

describe('searching events (AU-60, AU-61)', () => {
  const search = (query: string, token = api.tokens.admin) => api.call('GET', `/api/audit/events?${query}`, { token });

  it.each(['actor_id', 'event_type', 'event_category', 'outcome', 'database', 'environment', 'operation', 'request_id'])(
    'filters by %s exactly; a value that names nothing matches nothing, or is 400 where the values are a closed list',
    async (filter) => {
      await reach.rejected!(calls, { owner, approver });
      const column = filter === 'database' ? 'database_name' : filter;
      const all = (await search('limit=200')).body.events as Record<string, string>[];
      const value = all.find((event) => event[column] !== null)![column]!;
      const found = await search(`${filter}=${encodeURIComponent(value)}&limit=200`);
      expect(found.body.total).toBeGreaterThan(0);
      expect(new Set(found.body.events.map((event: Record<string, string>) => event[column]))).toEqual(new Set([value]));
      const [counted] = await calls.sql<{ count: number }>(
        `select count(*) as count from audit_events where ${column}::text = $1`,
        [value],
      );
      expect(found.body.total).toBe(counted!.count);
      const nothing = await search(`${filter}=unknown`);
      if (['event_type', 'event_category', 'outcome', 'operation'].includes(filter))
        expect([nothing.status, nothing.body.hint]).toEqual([400, `query.${filter}`]);
      else expect(nothing.body).toMatchObject({ events: [], total: 0 });
    },
  );

  it('takes since and until as inclusive, to the microsecond an event has', async () => {
    await calls.created(owner);
    const [newest] = (await search('limit=1')).body.events;
    const at = encodeURIComponent(newest.created_at);
    const ids = async (query: string) => (await search(query)).body.events.map((event: { id: string }) => event.id);
    expect(await ids(`since=${at}&limit=200`)).toContain(newest.id);
    expect(await ids(`until=${at}&limit=200`)).toContain(newest.id);
    expect(await ids('since=2999-01-01T00:00:00Z')).toEqual([]);
    const offset = encodeURIComponent(`${newest.created_at.slice(0, -1)}+00:00`);
    expect(await ids(`since=${offset}&until=${offset}`)).toContain(newest.id);
  });

  it.each(['since=yesterday', 'until=2031-01-01', 'since=2031-01-01T00:00:00+00:00', 'limit=-1', 'offset=x', 'since='])(
    'refuses %s',
    async (query) => {
      const answer = await search(query);
      expect([answer.status, answer.body.code, answer.body.hint]).toEqual([
        400,
        'validation.failed',
        `query.${query.split('=')[0]}`,
      ]);
    },
  );

  it('pages over all events without repeats, cuts limit to 200, newest first (HT-I5)', async () => {
    while ((await search('limit=1')).body.total <= 40) await calls.created(owner);
    const { total, limit } = (await search('limit=5000')).body;
    expect(limit).toBe(200);
    const ids: string[] = [];
    for (let offset = 0; offset < total; offset += 17) {
      ids.push(...(await search(`limit=17&offset=${offset}`)).body.events.map((event: { id: string }) => event.id));
    }
    const stored = await calls.sql<{ id: string }>('select id from audit_events order by position desc');
    expect(ids).toEqual(stored.map((event) => event.id));
  });

  it('shows a role limited to some databases their events only, and others nothing', async () => {
    const operator = await api.createUser('operator', { roles: ['shop-operator'] });
    for (const database of ['shop', 'ledger']) await calls.created(owner, { database });
    const { events, total } = (await search('limit=200', operator)).body;
    expect(new Set(events.map((event: { database_name: string }) => event.database_name))).toEqual(new Set(['shop']));
    const [counted] = await calls.sql<{ count: number }>(
      `select count(*) as count from audit_events where database_name = 'shop'`,
    );
    expect(total).toBe(counted!.count);
    expect((await search('', owner)).body).toEqual({ error: 'forbidden', code: 'auth.forbidden', hint: expect.any(String) });
  });
});
