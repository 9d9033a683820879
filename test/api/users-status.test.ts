import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { workflowToml } from '../support/toml.js';
import { callsToml } from './calls-toml.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';

const toml =
  callsToml +
  workflowToml({ database: 'ledger', environment: 'production', more: 'explain = true', steps: [[{ group: 'leads' }]] });

let api: TestApi;
let calls: GatewayCalls;
let admin: string;
let lead: string;
beforeAll(async () => {
  api = await startTestApi({ toml });
  calls = gatewayCalls(api);
  admin = api.tokens.admin;
  lead = await api.createUser('lead', { groups: ['leads', 'dba-team'] });
  await calls.poll(['shop/staging', 'shop/production', 'ledger/production', 'ledger/staging']);
});
afterAll(() => api?.close());

const suspend = (id: string, token = admin) => api.call('POST', `/api/users/${id}/suspend`, { token });
const activate = (id: string, token = admin) => api.call('POST', `/api/users/${id}/activate`, { token });
const remove = (id: string, token = admin) => api.call('DELETE', `/api/users/${id}`, { token });
const statusOf = async (id: string) => (await calls.show(admin, id)).body.status;
const identityEvents = (id: string) =>
  calls.sql<{ type: string; metadata: string; actor: string }>(
    `select event_type as type, metadata_json as metadata, actor_id as actor from audit_events
     where (resource_type = 'user' and resource_id = $1) or (resource_type = 'token' and resource_id in
       (select id::text from tokens where subject_type = 'user' and subject_id = $1)) order by position`,
    [id],
  );

/** A user with one request in each status that has not ended, and one that has. */
async function busy(id: string) {
  const token = await api.createUser(id, { roles: ['requester'] });
  const waiting = await calls.created(token, { database: 'ledger' });
  const approved = await calls.created(token);
  await calls.act(lead, approved, 'approve');
  const executed = await calls.run(token, {}, { success: true, outcome: 'committed', result_data: null });
  const running = await calls.claimed(await calls.created(token, { environment: 'staging' }));
  const lost = await calls.claimed(await calls.created(token, { environment: 'staging', detail: 'delete from t where id = 1' }));
  await calls.fireClock(lost.id, 'lease');
  const dispatched = await calls.created(token, { environment: 'staging' });
  return { token, waiting, approved, dispatched, running, lost: lost.id, executed: executed.id };
}

describe('suspending a user (IM-65, ST-19)', () => {
  it('revokes, cancels and tells, all together', async () => {
    const of = await busy('mira');
    await api.call('POST', '/api/tokens', { token: admin, body: { subject_id: 'mira', subject_type: 'agent' } });
    const own = (await api.call('POST', '/api/tokens', { token: of.token, body: { subject_id: 'mira', subject_type: 'user' } }))
      .body;
    const { status, body } = await suspend('mira');
    const open = [of.waiting, of.approved, of.dispatched, of.running.id, of.lost].sort();
    expect([status, { ...body, cancelled_requests: body.cancelled_requests.toSorted() }]).toEqual([
      200,
      { id: 'mira', revoked_tokens: 2, cancelled_requests: open },
    ]);
    for (const id of [of.waiting, of.approved, of.dispatched, of.lost]) {
      const shown = (await calls.show(admin, id)).body;
      expect(shown).toMatchObject({ status: 'cancelled', cancel_reason: 'user suspended', cancelled_by: 'admin' });
      expect((await calls.eventTypes(id)).at(-1)).toBe('request.cancelled');
    }
    expect([await statusOf(of.running.id), await statusOf(of.executed)]).toEqual(['running', 'executed']);
    const events = await identityEvents('mira');
    expect(events.slice(-3).map(({ type, actor }) => [type, actor])).toEqual([
      ['user.suspended', 'admin'],
      ['token.revoked', 'admin'],
      ['token.revoked', 'admin'],
    ]);
    expect(JSON.parse(events.at(-1)!.metadata)).toMatchObject({ issued_for: 'mira', cause: 'user_suspended' });
    for (const token of [of.token, own.token]) expect((await api.call('GET', '/api/me', { token })).status).toBe(401);
    const agents = await calls.sql(
      `select 1 from tokens where subject_type = 'agent' and subject_id = 'mira' and revoked_at is null`,
    );
    expect(agents).toHaveLength(1);
  });

  it('ends a running request when its agent says how it ended, with the cause (C5, AG-62)', async () => {
    const token = await api.createUser('runner', { roles: ['requester'] });
    const [stopped, committed] = [
      await calls.claimed(await calls.created(token, { environment: 'staging' })),
      await calls.claimed(await calls.created(token, { environment: 'staging' })),
    ];
    await suspend('runner');
    const beat = await api.call('POST', `/api/agent/jobs/${stopped.executionId}/heartbeat`, { token: api.tokens.agent });
    expect(beat.body.cancelled).toBe(true);
    const failed = { success: false, outcome: 'rolled_back', cancelled: true, error_message: 'cancelled' };
    expect((await calls.submit(stopped.executionId, failed)).status).toBe(200);
    expect((await calls.submit(committed.executionId, { success: true, outcome: 'committed', result_data: null })).status).toBe(
      200,
    );
    expect([await statusOf(stopped.id), await statusOf(committed.id)]).toEqual(['cancelled', 'executed']);
    const [event] = await calls.sql<{ reason: string; metadata: string; actor: string }>(
      `select reason, metadata_json as metadata, actor_id as actor from audit_events where request_id = $1 and event_type = 'request.cancelled'`,
      [stopped.id],
    );
    expect(event).toEqual({ reason: 'user suspended', metadata: '{"cause":"user_suspended"}', actor: 'admin' });
  });

  it('ends open EXPLAIN jobs of what it cancels (AG-68)', async () => {
    const token = await api.createUser('explainer', { roles: ['requester'] });
    const id = await calls.created(token, { database: 'ledger' });
    const jobs = () =>
      calls.sql<{ state: string; error: string | null }>('select state, error from dry_run_jobs where request_id = $1', [id]);
    expect(await jobs()).toEqual([{ state: 'pending', error: null }]);
    await suspend('explainer');
    expect(await jobs()).toEqual([{ state: 'failed', error: 'skipped: the request has ended' }]);
  });

  it('again is 200 with nothing, and writes nothing', async () => {
    await api.createUser('twice', { roles: ['requester'] });
    const answers = await Promise.all(Array.from({ length: 5 }, () => suspend('twice')));
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(200));
    expect(answers.map(({ body }) => body.revoked_tokens).sort()).toEqual([0, 0, 0, 0, 1]);
    expect((await suspend('twice')).body).toEqual({ id: 'twice', revoked_tokens: 0, cancelled_requests: [] });
    expect((await identityEvents('twice')).map(({ type }) => type)).toEqual([
      'user.created',
      'token.created',
      'user.suspended',
      'token.revoked',
    ]);
  });

  it('leaves approvals standing (AV-14)', async () => {
    const token = await api.createUser('owner', { roles: ['requester'] });
    const passing = await api.createUser('passing', { groups: ['leads'] });
    const id = await calls.created(token, { environment: 'qa', reason: 'r' });
    await calls.act(passing, id, 'approve');
    await suspend('passing');
    const [step] = (await calls.show(admin, id)).body.approval_progress.steps;
    expect(step.approvals).toMatchObject([{ user: 'passing', action: 'approve' }]);
  });
});

describe('activating a user (IM-66)', () => {
  it('leaves tokens revoked and requests cancelled; again is 200 without an event', async () => {
    const of = await busy('back');
    await suspend('back');
    expect((await activate('back')).body).toEqual({ id: 'back', status: 'active' });
    expect((await activate('back')).status).toBe(200);
    expect((await api.call('GET', '/api/me', { token: of.token })).body.code).toBe('auth.invalid_token');
    expect(await statusOf(of.waiting)).toBe('cancelled');
    expect((await identityEvents('back')).filter(({ type }) => type === 'user.activated')).toHaveLength(1);
    const again = await api.call('POST', '/api/users/back/reissue-initial-token', { token: admin });
    expect((await api.call('GET', '/api/me', { token: again.body.token })).status).toBe(200);
  });

  it('is 402 over the user limit, which suspended and deleted users do not count for (IM-69, OP-40)', async () => {
    const crowded = await startTestApi();
    const call = (method: string, path: string, body?: object) =>
      crowded.call(method, path, { token: crowded.tokens.admin, body });
    for (let index = 2; index <= 20; index += 1) await call('POST', '/api/users', { id: `u${index}` });
    for (const id of ['u2', 'u3', 'u4']) await call('POST', `/api/users/${id}/suspend`);
    await call('POST', '/api/users', { id: 'new' });
    const answers = await Promise.all(['u2', 'u3', 'u4'].map((id) => call('POST', `/api/users/${id}/activate`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 402]);
    expect(answers.find(({ status }) => status === 402)?.body).toMatchObject({
      code: 'plan.limit_exceeded',
      error: 'user limit reached: 20',
      hint: expect.stringContaining('suspend or delete'),
    });
    await call('DELETE', '/api/users/new');
    const retried = await Promise.all(['u2', 'u3', 'u4'].map((id) => call('POST', `/api/users/${id}/activate`)));
    expect(retried.map(({ status }) => status)).toEqual([200, 200, 200]);
    await crowded.close();
  });
});

describe('deleting a user (IM-67)', () => {
  it('does what a suspension does, ends memberships and Slack link, and keeps the record', async () => {
    const of = await busy('leaver');
    await api.call('PATCH', '/api/users/leaver', {
      token: admin,
      body: { add_groups: ['readers', 'leads'], slack_user_id: 'U1' },
    });
    const { body } = await remove('leaver');
    expect(body).toMatchObject({ id: 'leaver', deleted: true, revoked_tokens: 1 });
    expect(body.cancelled_requests).toHaveLength(5);
    expect((await calls.show(admin, of.waiting)).body).toMatchObject({ status: 'cancelled', cancel_reason: 'user deleted' });
    expect((await identityEvents('leaver')).slice(-4).map(({ type, metadata }) => [type, JSON.parse(metadata).group])).toEqual([
      ['user.deleted', undefined],
      ['group.member_removed', 'leads'],
      ['group.member_removed', 'readers'],
      ['token.revoked', undefined],
    ]);
    const [kept] = await calls.sql('select status, slack_user_id, roles from users where id = $1', ['leaver']);
    expect(kept).toEqual({ status: 'deleted', slack_user_id: null, roles: ['requester'] });
    expect((await api.call('GET', '/api/groups/leads', { token: admin })).body.members).not.toContain('leaver');
    expect((await api.call('GET', '/api/users', { token: admin })).text).not.toContain('leaver');
  });

  it('takes a suspended user too, and is then 410 everywhere', async () => {
    await api.createUser('gone', { roles: ['requester'] });
    await suspend('gone');
    expect((await remove('gone')).status).toBe(200);
    const answers = [
      await remove('gone'),
      await suspend('gone'),
      await activate('gone'),
      await api.call('GET', '/api/users/gone', { token: admin }),
      await api.call('PATCH', '/api/users/gone', { token: admin, body: { roles: [] } }),
      await api.call('POST', '/api/users/gone/reissue-initial-token', { token: admin }),
    ];
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual(Array(6).fill([410, 'user.gone']));
    expect((await api.call('POST', '/api/users', { token: admin, body: { id: 'gone' } })).body.code).toBe('user.conflict');
  });
});

describe('who may, and whom', () => {
  it('answers unknown users only to holders of user.write', async () => {
    const plain = await api.createUser('plain', { roles: ['requester'] });
    for (const act of [suspend, activate, remove]) {
      expect((await act('nobody')).body.code).toBe('user.not_found');
      const refused = await Promise.all(['nobody', 'admin', 'plain'].map((id) => act(id, plain)));
      expect(new Set(refused.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
      expect(refused[0]?.status).toBe(403);
    }
  });
});
