import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { databaseToml, dbaTeamToml, passesToml, workflowToml } from '../support/toml.js';
import { coded } from './agent-calls.js';

const steps = [[{ group: 'dba-team' }]];
const toml = [
  databaseToml('shop', ['staging', 'open', 'production']),
  dbaTeamToml,
  workflowToml({ environment: 'staging', auto: '{ mode = "risk_based", risk = "low" }', steps }),
  workflowToml({ environment: 'production', steps }),
  passesToml('open'),
].join('');

let api: TestApi;
let alice: string;
let bob: string;
beforeAll(async () => {
  api = await startTestApi({ toml });
  alice = await api.createUser('alice', { roles: ['requester', 'admin'] });
  bob = await api.createUser('bob', { groups: ['dba-team'] });
});
afterAll(() => api?.close());

const create = (over: Record<string, unknown> = {}) =>
  api.call('POST', '/api/requests', {
    token: alice,
    body: { database: 'shop', environment: 'staging', detail: 'select 1', ...over },
  });
const shown = async (id: string) => (await api.call('GET', `/api/requests/${id}`, { token: alice })).body;

describe('require_approval (HD-26)', () => {
  it('takes the steps of the workflow, though the request would pass by itself', async () => {
    expect((await create()).body.status).toBe('dispatched');
    const asked = await create({ require_approval: true });
    expect([asked.status, asked.body.status, asked.body.approvers]).toEqual([201, 'pending', ['group:dba-team']]);
    const request = await shown(asked.body.id);
    expect(request).toMatchObject({
      require_approval: true,
      max_affected_rows: null,
      context: { risk: { level: 'Low' } },
      decision_trace: { decision: { outcome: 'needs_approval', reasons: ['approval_requested'], auto_approve_threshold: 'low' } },
    });
    const approved = await api.call('POST', `/api/requests/${request.id}/approve`, { token: bob, body: {} });
    expect(approved.body.status).toBe('approved');
    const created = await api.services.database.query<{ metadata: Record<string, unknown> }>(
      `select metadata_json::jsonb as metadata from audit_events where request_id = $1 and event_type = 'request.created'`,
      [request.id],
    );
    expect(created[0]?.metadata).toMatchObject({ require_approval: true });
  });

  it('changes nothing where approval is needed anyway, and is false unless it was asked for', async () => {
    const asked = await shown((await create({ environment: 'production', require_approval: true })).body.id);
    expect([asked.status, asked.decision_trace.decision.reasons]).toEqual(['pending', ['no_auto_approve_rule']]);
    expect((await shown((await create({ environment: 'production' })).body.id)).require_approval).toBe(false);
  });

  it('is 400 where the workflow has no steps, in an emergency, and when it is no boolean', async () => {
    const refused = async (over: Record<string, unknown>) => {
      const answer = await create({ require_approval: true, ...over });
      return [...coded(answer), answer.body.hint];
    };
    expect(await refused({ environment: 'open' })).toEqual([400, 'validation.failed', 'body.require_approval']);
    expect(await refused({ emergency: true, reason: 'now' })).toEqual([400, 'validation.failed', 'body.require_approval']);
    for (const value of ['yes', 1, null])
      expect((await refused({ require_approval: value })).slice(0, 2)).toEqual([400, 'validation.failed']);
  });

  it('is part of what makes two creations with one key the same; a key from before keeps its meaning', async () => {
    const key = { idempotency_key: randomUUID() };
    const first = await create({ ...key, require_approval: true });
    expect((await create({ ...key, require_approval: true })).body).toMatchObject({ id: first.body.id, idempotent: true });
    expect(coded(await create(key))).toEqual([409, 'request.conflict']);
    const without = { idempotency_key: randomUUID() };
    const { id } = (await create(without)).body;
    expect((await create({ ...without, require_approval: false })).body).toMatchObject({ id, idempotent: true });
    const [row] = await api.services.database.query<{ fingerprint: string }>('select fingerprint from requests where id = $1', [
      id,
    ]);
    // As versions that did not know the field stored it.
    expect(row?.fingerprint).toBe('972a7fa883a1e7558a7c9ed00a088a401e530152a9a5c2893bee32cc3e756bfa');
  });

  it('is offered by a preflight where the workflow has steps', async () => {
    const ask = async (environment: string) => {
      const body = { database: 'shop', environment, sql: 'select 1', include_explain: false };
      return (await api.call('POST', '/api/preflight', { token: alice, body })).body.policy;
    };
    expect(await ask('staging')).toMatchObject({ would_auto_approve: true, may_require_approval: true });
    expect(await ask('open')).toMatchObject({ would_auto_approve: true, may_require_approval: false });
  });
});
