import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { evidenceTools } from '../../crypto/evidence-tools.js';
import { verifyEvidence } from '../../domain/evidence/verify.js';
import { sleep } from '../../lib/sleep.js';
import { bundleOf } from '../domain/migration/bundles.js';
import { startTestApi, type TestApi } from '../support/api.js';
import { sealAll, tamper } from '../support/audit-api.js';
import { databaseToml, dbaTeamToml, groupToml, passesToml, roleToml, workflowToml } from '../support/toml.js';
import { vouch } from '../support/vouch.js';
import { type AgentCalls, agentCalls, pollBody, scope } from './agent-calls.js';

const toml = [
  databaseToml('shop', ['staging', 'production', 'twice']),
  dbaTeamToml,
  groupToml('leads', ['approver']),
  roleToml('auditor', ['audit.read', 'request.view:any'], { databases: ['shop'], environments: ['production'] }),
  passesToml('staging'),
  workflowToml({
    environment: 'production',
    steps: [[{ group: 'dba-team', min: 2 }], { any: [{ user: 'lena' }, { group: 'leads' }] }],
  }),
  workflowToml({ environment: 'twice', steps: [[{ group: 'dba-team' }, { group: 'dba-team', min: 2 }]] }),
  '[[execution_policies]]\nmax_executions = 9\nretry_on_failure = true\n',
].join('');

let api: TestApi;
let calls: AgentCalls;
let people: Record<'ada' | 'ben' | 'lena' | 'otto', string>;
let agent: Awaited<ReturnType<AgentCalls['known']>>;
beforeAll(async () => {
  api = await startTestApi({ toml, times: { cancelWaitMs: 20 } });
  calls = await agentCalls(api);
  people = await api.createUsers({
    ada: { groups: ['dba-team'] },
    ben: { groups: ['dba-team'] },
    lena: { groups: ['leads'] },
    otto: { roles: ['auditor'] },
  });
  agent = await calls.known(pollBody({ limit: 0 }, { scopes: [scope('shop', 'staging'), scope('shop', 'production')] }));
});
afterAll(() => api?.close());

const ask = (id: string, token = api.tokens.admin, query = '') =>
  api.call('GET', `/api/requests/${id}/evidence${query}`, { token });
const check = (text: string) => verifyEvidence(text, { trustedKeys: null, anchor: null }, evidenceTools);
const ok = { success: true, outcome: 'committed', result: { rows_affected: 1 } };
const failed = { success: false, outcome: 'rolled_back', error: { message: 'boom' } };

/** The evidence of a request, which must hold and end in this status. */
async function holds(id: string, status: string): Promise<string> {
  await sealAll(api);
  const answer = await ask(id);
  expect([answer.status, answer.body?.error]).toEqual([200, undefined]);
  const { fault, evidence } = check(answer.text);
  expect([fault, evidence?.request.status]).toEqual([null, status]);
  return answer.text;
}

const pending = (over = {}) =>
  calls.created(calls.requester, {
    detail: "delete from parts where name = 'zu groß 🚫'",
    operation: 'execute_dml',
    reason: 'tidy up',
    ...over,
  });
async function approved() {
  const id = await pending();
  for (const [token, body] of [
    [people.ada, { comment: 'fine' }],
    [people.ben, {}],
    [people.lena, { selector: 'user:lena' }],
  ] as const)
    expect((await calls.act(token, id, 'approve', body)).status).toBe(200);
  return id;
}

describe('evidence holds (AU-84) for a request that', () => {
  it('waits, was rejected, cancelled or expired', async () => {
    const [waits, rejected, cancelled, expired] = [await pending(), await pending(), await pending(), await pending()];
    await calls.act(people.ada, waits, 'approve', {});
    await calls.act(people.ada, rejected, 'reject', { comment: 'not today' });
    await calls.act(calls.requester, cancelled, 'cancel', { reason: 'no need' });
    await calls.endClock(expired, 'pending', true);
    await holds(waits, 'pending');
    await holds(rejected, 'rejected');
    await holds(cancelled, 'cancelled');
    await holds(expired, 'expired');
  });

  it('was approved in two steps and ran', async () => {
    const id = await approved();
    await holds(id, 'approved');
    await calls.resume(id);
    await holds(id, 'dispatched');
    const execution = await agent.run(id);
    await holds(id, 'running');
    expect((await agent.submit(execution, ok)).status).toBe(200);
    const text = await holds(id, 'executed');
    const { evidence } = JSON.parse(text);
    expect(evidence.content.detail).toBe("delete from parts where name = 'zu groß 🚫'");
    expect(evidence.request.detail).toBeUndefined();
    expect(evidence.decisions.map(({ user, selector }: { user: string; selector: string }) => [user, selector])).toEqual([
      ['ada', 'group:dba-team'],
      ['ben', 'group:dba-team'],
      ['lena', 'user:lena'],
    ]);
  });

  it('was approved by two people between whom the clock of the database was set back', async () => {
    const id = await pending({ environment: 'production' });
    await calls.act(people.ada, id, 'approve', {});
    const { database } = api.services;
    await database.query(`update decisions set decided_at = decided_at + interval '1 hour' where request_id = $1`, [id]);
    await vouch(database, id);
    await calls.act(people.ben, id, 'approve', {});
    await calls.act(people.lena, id, 'approve', { selector: 'user:lena' });
    const { evidence } = JSON.parse(await holds(id, 'approved'));
    expect(evidence.decisions.map(({ user }: { user: string }) => user)).toEqual(['ada', 'ben', 'lena']);
  });

  it('was approved by a step that names a group twice', async () => {
    const id = await pending({ environment: 'twice' });
    for (const token of [people.ada, people.ben]) await calls.act(token, id, 'approve', {});
    await holds(id, 'approved');
  });

  it('passed by its policy, failed, was run again, and was lost and came back', async () => {
    const id = await calls.dispatched('update parts set n = 1 where id = 7');
    await agent.submit(await agent.run(id), failed);
    await holds(id, 'failed');
    await calls.resume(id);
    const second = await agent.run(id);
    await calls.fireClock(id, 'lease');
    await holds(id, 'execution_lost');
    await calls.resume(id);
    const third = await agent.run(id);
    expect((await agent.submit(second, failed)).status).toBe(410);
    await agent.submit(third, ok);
    await holds(id, 'executed');
  });

  it('was cancelled while it ran, was lost and cancelled, or timed out before an agent came', async () => {
    const ran = await calls.dispatched();
    const execution = await agent.run(ran);
    await calls.cancel(ran);
    await agent.submit(execution, { success: false, outcome: 'rolled_back', cancelled: true });
    await holds(ran, 'cancelled');
    const lost = await calls.dispatched();
    await agent.run(lost);
    await calls.cancel(lost);
    await calls.fireClock(lost, 'lease');
    await holds(lost, 'cancelled');
    const late = await calls.dispatched('update parts set n = 2 where id = 7');
    const gone = await agent.run(late);
    await calls.fireClock(late, 'lease');
    await calls.cancel(late);
    await agent.submit(gone, ok);
    await holds(late, 'executed');
    const nobody = await calls.dispatched();
    await calls.fireClock(nobody, 'dispatch');
    await holds(nobody, 'approved');
    await calls.endClock(nobody, 'approved', true);
    await holds(nobody, 'expired');
  });

  it('is a migration, with its text and without', async () => {
    const detail = JSON.stringify(bundleOf([1]));
    const id = await calls.dispatched(detail, { operation: 'migrate_up' });
    await agent.submit(await agent.run(id), { success: true, outcome: 'committed', result: { applied: ['1'] } });
    await holds(id, 'executed');
    expect(check((await ask(id, api.tokens.admin, '?text=false')).text).fault).toBeNull();
  });

  it('was an emergency', async () => {
    const over = {
      emergency: true,
      reason: 'the shop is down',
      detail: 'update parts set n = 3 where id = 7',
      operation: 'execute_dml',
    };
    const id = await calls.created(api.tokens.admin, over);
    await agent.submit(await agent.run(id), { ...ok, outcome: 'unknown', success: false });
    await holds(id, 'execution_lost');
  });
});

describe('evidence (AU-84)', () => {
  it('is for who may see the request and read the audit log of its pair', async () => {
    const [production, staging] = [await pending(), await calls.dispatched()];
    await sealAll(api);
    expect((await ask(production, people.otto)).status).toBe(200);
    for (const [id, token] of [
      [staging, people.otto],
      [production, calls.requester],
      [production, people.ada],
    ] as const)
      expect((await ask(id, token)).body.code).toBe('auth.forbidden');
    expect((await ask('00000000-0000-4000-8000-000000000000')).body.code).toBe('request.not_found');
  });

  it('leaves the text out when asked to, and still proves what ran', async () => {
    const id = await calls.dispatched("select 'secret words'");
    await agent.submit(await agent.run(id), ok);
    await sealAll(api);
    const { text, body } = await ask(id, api.tokens.admin, '?text=false');
    expect(body.evidence.content.detail).toBeNull();
    expect(text).not.toContain('secret words');
    expect(check(text).fault).toBeNull();
    expect((await ask(id, api.tokens.admin, '?text=no')).body.hint).toBe('query.text');
  });

  it('is 409 while its events are not sealed for 5 s, and is given as soon as they are', async () => {
    const id = await pending();
    const startedAt = performance.now();
    expect([(await ask(id)).body.code, performance.now() - startedAt > 3000]).toEqual(['request.conflict', true]);
    const again = performance.now();
    expect([(await ask(id)).status, performance.now() - again < 2000]).toEqual([409, true]);
    await sealAll(api);
    const other = await pending();
    const waiting = ask(other);
    await sleep(300);
    await sealAll(api);
    expect((await waiting).status).toBe(200);
  });

  it('is 409 after 5 s also for events that a clock has dated ahead (AU-84)', async () => {
    const id = await pending();
    await tamper(api, `update audit_events set created_at = '2999-01-01T00:00:00.000000Z' where request_id = '${id}'`);
    expect(await ask(id)).toMatchObject({ status: 409, body: { error: 'events of this request are not sealed yet' } });
  });

  it('is not signed over rows that were changed outside the gateway', async () => {
    const changes: [string, RegExp][] = [
      [`update requests set status = 'rejected' where id = $1`, /changed outside the gateway/],
      [`update decisions set user_id = 'mallory' where request_id = $1 and user_id = 'ada'`, /changed outside the gateway/],
      [`update requests set reason = 'because' where id = $1`, /does not hold: the reason is not/],
      [`update executions set outcome = 'rolled_back' where request_id = $1`, /does not hold: attempt 1 ended/],
      [
        `update executions set claim_answer = (select claim_answer from executions where request_id <> $1 limit 1) where request_id = $1`,
        /does not hold: the token/,
      ],
    ];
    for (const [change, words] of changes) {
      const id = await approved();
      await calls.resume(id);
      await agent.submit(await agent.run(id), ok);
      await sealAll(api);
      await calls.sql(change, [id]);
      const answer = await ask(id);
      expect([answer.status, answer.body.code], change).toEqual([409, 'request.conflict']);
      expect(answer.body.error).toMatch(words);
    }
  });
});
