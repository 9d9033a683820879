import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openApiDocument } from '../../api/http/openapi.js';
import { allRoutes, defaultTimes } from '../../api/routes.js';
import { type ErrorCode, type Reason, reasons } from '../../domain/errors.js';
import { httpStatus } from '../../runtime/http-errors.js';
import type { Answer, CallOptions, TestApi } from '../support/api.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { groupToml, needsDbaToml, workflowToml } from '../support/toml.js';
import { type AgentCalls, agentToml, pollBody, scope, startAgentApi } from './agent-calls.js';
import { reach } from './reach-status.js';

/** `guarded` asks for a reason; on `two` one approver may fit two selectors. */
const dba = { group: 'dba-team' };
const toml = [
  'trusted_proxies = ["127.0.0.1"]\n',
  agentToml.replace('"brief"]', '"brief", "guarded", "two"]'),
  '[rate_limits]\nauth_failures_per_address = 20\n',
  groupToml('leads', ['approver']),
  needsDbaToml('production'),
  needsDbaToml('guarded', 'require_reason = true'),
  workflowToml({ environment: 'two', steps: [[dba, { group: 'leads' }]] }),
].join('');

let api: TestApi;
let calls: AgentCalls;
let who: { owner: string; approver: string };
let agent: Awaited<ReturnType<AgentCalls['known']>>;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi({ toml }));
  who = {
    owner: await api.createUser('owner', { roles: ['requester'] }),
    approver: await api.createUser('approver', { roles: ['requester'], groups: ['dba-team', 'leads'] }),
  };
  await calls.poll(['shop/production', 'shop/staging']);
  const scopes = ['staging', 'production', 'guarded', 'two'].map((name) => scope('shop', name));
  agent = await calls.known(pollBody({ limit: 0 }, { scopes: [...scopes, scope('ghost', 'staging')] }));
});
afterAll(() => api?.close());

const admin = (method: string, path: string, options: CallOptions = {}) =>
  api.call(method, path, { token: api.tokens.admin, ...options });
const me = (token: string | null, address = '203.0.113.1') =>
  api.call('GET', '/api/me', { token, headers: { 'x-forwarded-for': address } });
const created = () => calls.created(who.owner, { environment: 'production' });
const nothing = '00000000-0000-4000-8000-000000000000';
const guess = `svc_${'0'.repeat(32)}`;

/** A user of that name whom one statement has changed. */
async function changed(id: string, statement: string): Promise<Answer> {
  const token = await api.createUser(id, { roles: ['requester'] });
  await calls.sql(statement);
  return me(token);
}

/** The answer of another server on the same database, of which `act` makes something. */
async function besides(options: object, act: (other: TestApi) => Promise<Answer>): Promise<Answer> {
  const other = await api.another(options);
  return act(other).finally(() => other.close());
}

async function withoutDatabase(): Promise<Answer> {
  const proxy = await startTcpProxy(api.database.url);
  const answer = await besides({ databaseUrl: proxy.url }, async (other) => {
    proxy.cut();
    return other.call('GET', '/api/me', { token: api.tokens.admin }).finally(() => proxy.heal());
  });
  await proxy.close();
  return answer;
}

async function unforeseen(): Promise<Answer> {
  await calls.sql('alter table users rename column display_name to hidden');
  return admin('GET', '/api/users').finally(() => calls.sql('alter table users rename column hidden to display_name'));
}

/** An execution of a request that runs again since. */
async function overtaken(): Promise<string> {
  const id = await calls.dispatched();
  const first = await agent.run(id);
  await calls.fireClock(id, 'lease');
  await calls.resume(id);
  await agent.run(id);
  return first;
}

async function explained(): Promise<string> {
  const id = await calls.created(who.owner, { environment: 'production', detail: 'select * from parts' });
  const [job] = await calls.sql<{ id: string }>('select id from dry_run_jobs where request_id = $1', [id]);
  return job!.id;
}

/** A call that answers the code, for every code that this version can answer. */
const seen: Partial<Record<ErrorCode, () => Promise<Answer>>> = {
  'validation.failed': () => admin('GET', '/api/requests?limit=x'),
  'validation.unsupported_media_type': () =>
    admin('POST', '/api/users', { raw: '{}', headers: { 'content-type': 'text/plain' } }),
  'auth.missing_token': () => me(null),
  'auth.invalid_token': () => me(guess),
  'auth.oidc_not_configured': () => me('eyJhbGciOiJub25lIn0.e30.'),
  'auth.token_expired': () =>
    changed('late', `update tokens set expires_at = clock_timestamp() - interval '1 s' where subject_id = 'late'`),
  'auth.user_suspended': () => changed('off', `update users set status = 'suspended' where id = 'off'`),
  'auth.no_roles_resolved': () => changed('bare', `update users set roles = '{}' where id = 'bare'`),
  'auth.insufficient_scope': () => changed('thin', `update users set roles = '{approver}' where id = 'thin'`),
  'auth.forbidden': () => api.call('GET', '/api/users', { token: who.owner }),
  'route.not_found': () => admin('GET', '/api/nothing'),
  'route.method_not_allowed': () => admin('PATCH', '/api/requests'),
  'config.read_only': () => admin('POST', '/api/workflows'),
  'payload.too_large': () =>
    admin('POST', '/api/users', { raw: ' '.repeat(3 << 20), headers: { 'content-type': 'application/json' } }),
  'rate.limited': async () => {
    const answers: Answer[] = [];
    for (let n = 0; n < 22; n += 1) answers.push(await me(guess, '203.0.113.2'));
    return answers.at(-1)!;
  },
  'service.draining': () =>
    besides({ drainSecs: 1 }, (other) => {
      other.drain();
      return other.call('POST', '/api/requests', {
        token: who.owner,
        body: { database: 'shop', environment: 'staging', detail: 'select 1' },
      });
    }),
  'service.unavailable': withoutDatabase,
  internal: unforeseen,
  'request.not_found': () => admin('GET', `/api/requests/${nothing}`),
  'request.conflict': async () => {
    const id = await reach.rejected!(calls, who);
    return calls.act(who.approver, id, 'approve');
  },
  'request.gone': async () => calls.act(who.approver, await reach.expired!(calls, who), 'approve'),
  'execution.not_found': () => agent.heartbeat(nothing),
  'execution.conflict': async () => {
    const execution = await agent.run(await calls.dispatched());
    await agent.submit(execution, { success: true, result_data: '{"rows":[]}' });
    return agent.submit(execution, { success: false, error_message: 'x' });
  },
  'execution.gone': async () => agent.submit(await overtaken(), { success: true, result_data: '{"rows":[]}' }),
  'result.not_found': async () => calls.content(who.owner, await created()),
  'result.conflict': async () => {
    const id = await reach.running!(calls, who);
    const [run] = (await calls.executions(who.owner, id)).body.executions;
    return calls.content(who.owner, id, `?execution_id=${run.id}`);
  },
  'result.gone': async () => {
    const id = await reach.executed!(calls, who);
    await calls.sql('delete from results where request_id = $1', [id]);
    return calls.content(who.owner, id);
  },
  'dry_run_job.not_found': () => agent.post(`dry-run/${nothing}/claim`),
  'dry_run_job.conflict': async () => {
    const job = await explained();
    await agent.post(`dry-run/${job}/claim`);
    return agent.post(`dry-run/${job}/claim`);
  },
  'preflight_job.gone': () =>
    agent.post('preflight-result', { job_id: nothing, claim_token: nothing, outcome: 'error', error: 'x' }),
  'agent.not_found': async () => (await calls.newAgent()).claim(await calls.dispatched()),
  'user.not_found': () => admin('GET', '/api/users/nobody-here'),
  'user.conflict': () => admin('POST', '/api/users', { body: { id: 'owner' } }),
  'user.gone': async () => {
    await api.createUser('left', { roles: ['requester'] });
    await calls.sql(`update users set status = 'deleted' where id = 'left'`);
    return admin('POST', '/api/users/left/reissue-initial-token');
  },
  'token.not_found': () => admin('DELETE', `/api/tokens/${nothing}`),
  'role.not_found': () => admin('GET', '/api/roles/none'),
  'schema.not_found': () => admin('GET', '/api/schemas/shop?environment=staging'),
};

const tests = fileURLToPath(new URL('..', import.meta.url));
const otherTests = readdirSync(tests, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !/(catalogue|errors)\.test\.ts$/.test(name))
  .map((name) => readFileSync(join(tests, name), 'utf8'))
  .join('\n');

describe('the catalogue of codes (section 7.1 of the HTTP rules)', () => {
  it.each(Object.entries(seen))('%s is answered, with its status and a text of one line (HT-92, HT-97)', async (code, act) => {
    const { status, body } = await act!();
    const { reason: meaning, ...rest } = body;
    expect(rest).toEqual({ error: expect.any(String), code, hint: body.hint });
    if (meaning !== undefined || code === 'request.conflict') expect(reasons).toContain(meaning);
    expect(status).toBe(httpStatus(code as ErrorCode));
    expect(body.error).toMatch(/^[^\n]{1,2000}$/);
    const [resource, reason] = code.split('.');
    const ownText = ['route.not_found', 'result.not_found'].includes(code);
    if (reason === 'not_found' && !ownText) expect(body.error).toBe(`${resource!.replaceAll('_', ' ')} not found`);
  });

  it('has no code in the API document that no test sees (HT-95)', () => {
    const routes = allRoutes(() => Promise.reject(new Error('only described')), defaultTimes);
    const document = JSON.stringify(openApiDocument(routes, '0.0.0').paths);
    const descriptions = [...document.matchAll(/"description":"((?:`[a-z_.]+`(?:, )?)+)"/g)].map(([, text]) => text!);
    const codes = new Set(descriptions.flatMap((text) => [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code!)));
    expect(codes.size).toBeGreaterThan(40);
    expect([...codes].filter((code) => !(code in seen) && !otherTests.includes(`'${code}'`))).toEqual([]);
  });
});

/** Section 7.2: what clients look for in `error`. */
const matched: [text: string, status: number, act: () => Promise<Answer>][] = [
  ['reason is required', 400, () => calls.create(who.owner, { environment: 'guarded' })],
  ['reason is required', 400, () => calls.create(who.owner, { environment: 'guarded', reason: ' ' })],
  ['not registered', 400, () => calls.create(who.owner, { environment: 'nowhere' })],
  [
    'not registered',
    400,
    () =>
      api.call('POST', '/api/preflight', {
        token: who.owner,
        body: { database: 'none', environment: 'staging', sql: 'select 1' },
      }),
  ],
  [
    'not registered',
    400,
    () =>
      agent.post('schema-sync', {
        database: 'ghost',
        environment: 'staging',
        dialect: 'postgresql',
        status: 'ready',
        snapshot: { tables: [] },
      }),
  ],
  [
    'already approved',
    409,
    async () => {
      const id = await calls.created(who.owner, { environment: 'two' });
      await calls.act(who.approver, id, 'approve', { selector: 'group:leads' });
      await calls.act(who.approver, id, 'approve', { selector: 'group:dba-team' });
      return calls.act(who.approver, id, 'approve');
    },
  ],
  ['already dispatched', 409, async () => calls.act(who.approver, await reach.dispatched!(calls, who), 'approve')],
  ['already dispatched', 409, async () => calls.act(who.owner, await reach.running!(calls, who), 'resume')],
  ['ambiguous', 400, async () => calls.act(who.approver, await calls.created(who.owner, { environment: 'two' }), 'approve')],
  ['result not stored for this request', 410, () => seen['result.gone']!()],
  ['forbidden', 403, () => seen['auth.forbidden']!()],
  ['invalid token', 401, () => me(null)],
  ['OIDC not configured', 401, () => seen['auth.oidc_not_configured']!()],
];

describe('texts that clients match (section 7.2 of the HTTP rules)', () => {
  it.each(matched)('%s, in a %d', async (text, status, act) => {
    const answer = await act();
    expect([answer.status, answer.body.error]).toEqual([status, expect.stringContaining(text)]);
    expect(answer.body.reason).toBe(reasonOf[text]);
  });
});

/** What programs go by, where the code has several meanings. */
const reasonOf: Record<string, Reason> = {
  'reason is required': 'reason_required',
  'not registered': 'not_registered',
  'already approved': 'already_approved',
  'already dispatched': 'already_dispatched',
  ambiguous: 'selector_ambiguous',
};
