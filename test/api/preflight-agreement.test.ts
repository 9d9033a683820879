import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postgresqlVectors } from '../sql/vectors.js';
import { type Answer, startTestApi, type TestApi } from '../support/api.js';
import { isFull } from '../support/share.js';
import { noUserCode, table } from '../support/snapshots.js';
import { databaseToml, dbaTeamToml, needsDbaToml, roleToml, workflowToml } from '../support/toml.js';
import { agentCalls, type Body, scope } from './agent-calls.js';

const toml = [
  databaseToml('shop', ['staging', 'guided']),
  dbaTeamToml,
  roleToml('no-ddl', ['request.preflight', 'request.query', 'request.dml']),
  roleToml('reader', ['request.preflight', 'request.query']),
  needsDbaToml(undefined, 'auto_approve = { mode = "risk_based", risk = "medium" }\nrequire_reason = true'),
  workflowToml({ environment: 'guided', auto: '{ mode = "always", channels = ["mcp"] }' }),
].join('');

let api: TestApi;
const tokens = new Map<string, string>();
beforeAll(async () => {
  api = await startTestApi({ toml });
  const calls = await agentCalls(api);
  const agent = await calls.known({ limit: 0, capabilities: { scopes: [scope('shop', 'staging')], features: ['fence'] } });
  const tables = [table('t'), table('u', { estimated_rows: 9000 }), table('users', { estimated_rows: -1 })];
  const snapshot = { tables, user_code: noUserCode };
  const body = { database: 'shop', environment: 'staging', dialect: 'postgresql', status: 'ready', snapshot };
  expect((await agent.post('schema-sync', body)).status).toBe(200);
  for (const role of ['dba', 'no-ddl', 'reader']) tokens.set(role, await api.createUser(`user-${role}`, { roles: [role] }));
});
afterAll(() => api?.close());

const pair = { database: 'shop', environment: 'staging' };
const post = (path: string, role: string, body: Body) =>
  api.call('POST', path, { token: tokens.get(role)!, body: { ...pair, ...body } });
const preflight = (role: string, sql: string) => post('/api/preflight', role, { sql, include_explain: false });
const create = (role: string, detail: string, over: Body = {}) =>
  post('/api/requests', role, { detail, reason: 'because', ...over });

/** What a creation must come to by the words of a preflight (PF-I1, SQ-I8). */
function expectAgreement(said: Answer, made: Answer): void {
  const { status, review, retryable, policy } = said.body;
  if (status !== 'blocked') expect(made.status).toBe(201);
  else if (review.blocked && retryable) expect(made.status).toBe(400);
  else expect([400, 403]).toContain(made.status);
  if (made.status !== 201) return;
  expect([policy.would_auto_approve, policy.requires_approval]).toEqual([
    made.body.status === 'dispatched',
    made.body.status === 'pending',
  ]);
}

describe('a preflight and the creation of the same text at once', () => {
  const texts = postgresqlVectors
    .flatMap(({ id, texts }) => texts.map((text) => [id, text] as const))
    .map(([id, text], n) => [id, text, n] as const);

  it.each(texts)('agree for every caller (PF-I1, PF-I3, SQ-I8): %s %j', async (_id, sql, n) => {
    const said = await preflight('dba', sql);
    if (said.status !== 200) {
      expect([said.status, (await create('dba', sql)).status]).toEqual([400, 400]);
      return;
    }
    expectAgreement(said, await create('dba', sql));
    if (!isFull && n % 4 !== 0) return;
    for (const role of ['no-ddl', 'reader']) {
      const [told, made] = await Promise.all([preflight(role, sql), create(role, sql)]);
      expectAgreement(told, made);
      expect(told.body.policy.caller_can_submit && !told.body.review.blocked).toBe(made.status === 201);
      if (role === 'no-ddl' && !told.body.review.blocked) expect(made.status).toBe(told.body.requires_ddl_permission ? 403 : 201);
    }
    const emergency = await create('dba', sql, { emergency: true, ...(said.body.review.blocked ? { allow_ddl: true } : {}) });
    expect(emergency.status === 201).toBe(said.body.policy.break_glass_allowed);
  });

  it.each<[string, string, string]>([
    ['a text of one byte more than a request may have', 'staging', `select 1 -- ${'é'.repeat(49_994)}x`],
    ['a workflow policy without steps that takes nothing from the API', 'guided', 'select 1'],
  ])('agree on %s (PF-I1)', async (_, environment, sql) => {
    const said = await post('/api/preflight', 'dba', { environment, sql, include_explain: false });
    const made = await create('dba', sql, { environment });
    expect([said.body.status, made.status]).toEqual(['blocked', 400]);
    expect(said.body.review.findings).toEqual([
      { code: 'rejected', action: 'block', message: made.body.error, statement_index: 0 },
    ]);
    expect((await post('/api/preflight', 'dba', { sql: sql.slice(0, -1), include_explain: false })).body.status).not.toBe(
      'blocked',
    );
  });

  it('has no plan limit: a preflight of a database beyond the plan is answered (PF-13)', async () => {
    const names = ['a', 'b', 'c', 'd'].map((name) => `[[databases]]\nname = "${name}"\nenvironments = ["qa"]\n`).join('\n');
    const other = await startTestApi({ toml: `${names}\n[[workflows]]\nauto_approve = { mode = "always" }\n` });
    const where = { database: 'd', environment: 'qa' };
    const call = (path: string, body: Body) =>
      other.call('POST', path, { token: other.tokens.admin, body: { ...where, ...body } });
    const answers = [
      await call('/api/preflight', { sql: 'select 1', include_explain: false }),
      await call('/api/requests', { detail: 'select 1' }),
    ];
    await other.close();
    expect(answers.map(({ status }) => status)).toEqual([200, 402]);
  });
});
