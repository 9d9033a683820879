import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApi } from '../support/api.js';
import { startCalls } from './calls-api.js';
import type { GatewayCalls } from './gateway-calls.js';

let api: TestApi;
let calls: GatewayCalls;
let alice: string;
beforeAll(async () => {
  ({
    api,
    calls,
    tokens: { alice },
  } = await startCalls({ alice: { roles: ['requester'] }, bob: { groups: ['dba-team'] } }));
});
afterAll(() => api?.close());

const preflight = (over: object) =>
  api.call('POST', '/api/preflight', {
    token: alice,
    body: { database: 'shop', environment: 'production', sql: 'select 1', include_explain: false, ...over },
  });

describe('fields that no route knows (D20)', () => {
  it('are ignored and told, with the name that may be meant', async () => {
    const answer = await calls.create(alice, { resaon: 'typo', zzz: 1 });
    expect([answer.status, answer.body.warnings]).toEqual([
      201,
      ['unknown field resaon; did you mean reason?', 'unknown field zzz'],
    ]);
    expect((await calls.show(alice, answer.body.id)).body.reason).toBeNull();
    const planned = await preflight({ include_explian: true, detail: 'select 1' });
    expect([planned.status, planned.body.warnings]).toEqual([
      200,
      ['unknown field include_explian; did you mean include_explain?', 'unknown field detail'],
    ]);
  });

  it('are told of a blocked preflight and of a repeated key too', async () => {
    expect((await preflight({ sql: 'selec 1', sqll: '' })).body).toMatchObject({
      status: 'blocked',
      warnings: ['unknown field sqll; did you mean sql?'],
    });
    const body = { idempotency_key: 'k1', tikket: 'x' };
    const [first, again] = [await calls.create(alice, body), await calls.create(alice, body)];
    expect([first.status, again.status, again.body.warnings]).toEqual([201, 200, first.body.warnings]);
  });

  it('are ten at most, each of 100 characters, and none when every field is known', async () => {
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`${'x'.repeat(5000)}${at}`, at]));
    const { warnings } = (await calls.create(alice, many)).body;
    expect([warnings.length, warnings[0].length]).toEqual([10, 'unknown field '.length + 101]);
    expect((await calls.create(alice)).body).not.toHaveProperty('warnings');
    expect((await preflight({})).body).not.toHaveProperty('warnings');
    expect((await calls.create(alice, { __proto__x: 1, constructor: 1 })).body.warnings).toContain('unknown field constructor');
  });
});

describe('share_with that reaches nobody (RQ-10)', () => {
  it('is told, of users, groups and roles that do not exist', async () => {
    const share_with = [
      'nobody',
      'alice',
      'user:admin',
      'group:no-team',
      'group:dba-team',
      'role:no-role',
      'role:admin',
      'requester',
    ];
    const answer = await calls.create(alice, { share_with });
    expect([answer.status, answer.body.warnings]).toEqual([
      201,
      [
        'share_with: there is no active user nobody',
        'share_with: there is no group no-team',
        'share_with: there is no role no-role',
      ],
    ]);
  });

  it('counts a suspended user as nobody', async () => {
    await api.createUsers({ gone: { roles: ['requester'] } });
    await api.call('POST', '/api/users/gone/suspend', { token: api.tokens.admin });
    expect((await calls.create(alice, { share_with: ['gone'] })).body.warnings).toEqual([
      'share_with: there is no active user gone',
    ]);
  });
});

describe('GET /api/requests?status=', () => {
  it('refuses a status that does not exist and names those that do', async () => {
    const answer = await calls.list(alice, '?status=foo');
    expect(answer).toMatchObject({ status: 400, body: { code: 'validation.failed', hint: 'query.status' } });
    expect(answer.body.error).toBe(
      'status must be one of pending, approved, dispatched, running, executed, failed, rejected, cancelled, expired, execution_lost',
    );
    expect((await calls.list(alice, '?status=executed')).status).toBe(200);
  });
});

describe('filters with a closed list of values', () => {
  it.each([
    ['/api/requests?status=', 'pendign', 'pending'],
    ['/api/requests?operation=', 'execute_slect', 'execute_select'],
    ['/api/audit/events?event_type=', 'request.aproved', 'request.approved'],
    ['/api/audit/events?event_category=', 'aproval', 'approval'],
    ['/api/audit/events?outcome=', 'sucess', 'success'],
    ['/api/audit/events?operation=', 'migrate-up', 'migrate_up'],
    ['/api/audit/export?event_type=', 'request.aproved', 'request.approved'],
    ['/api/webhook-deliveries?status=', 'ded', 'dead'],
    ['/api/webhook-deliveries?event_type=', 'webhook.tset', 'webhook.test'],
  ])('%s%s is 400, which names them and the one that may be meant', async (path, value, meant) => {
    const get = (text: string) => api.call('GET', path + text, { token: api.tokens.admin });
    const name = /(\w+)=$/.exec(path)![1]!;
    const answer = await get(value);
    expect(answer).toMatchObject({ status: 400, body: { code: 'validation.failed', hint: `query.${name}` } });
    expect(answer.body.error).toMatch(new RegExp(`^${name} must be one of .*; did you mean ${meant}\\?$`));
    expect((await get('nosuch')).body.error).not.toContain('did you mean');
    expect((await get(meant)).status).toBe(200);
  });
});
