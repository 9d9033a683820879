import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, TestApi } from '../support/api.js';
import { needsDbaToml } from '../support/toml.js';
import { type AgentCalls, agentToml, pollBody, scope, startAgentApi } from './agent-calls.js';
import { type Operation, operationsOf } from './openapi-input.js';

const toml = agentToml + needsDbaToml('production');

let api: TestApi;
let calls: AgentCalls;
let approver: string;
/** An executed request, a pending one with an EXPLAIN job, and what hangs on them. */
let made: { request: string; execution: string; token: string };
beforeAll(async () => {
  ({ api, calls } = await startAgentApi({ toml }));
  approver = await api.createUser('approver', { groups: ['dba-team'] });
  const agent = await calls.known(pollBody({ limit: 0 }, { scopes: [scope('shop', 'staging'), scope('shop', 'production')] }));
  const request = await calls.created(calls.requester, { environment: 'production', detail: 'select * from parts' });
  await calls.act(approver, request, 'approve', { comment: 'fine' });
  await calls.act(calls.requester, request, 'resume');
  const execution = await agent.run(request);
  await agent.submit(execution, { success: true, result_data: '{"rows":[{"b":1,"a":2}]}' });
  await calls.created(calls.requester, { environment: 'production', detail: 'select * from parts' });
  made = { request, execution, token: agent.tokenId };
});
afterAll(() => api?.close());

const get = (path: string, token = api.tokens.admin) => api.call('GET', path, { token });
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('ids, names and times (section 5 of the HTTP rules)', () => {
  it('HT-70: ids of requests, executions, approvals, jobs, tokens and audit events are UUIDs of version 4 in lower case', async () => {
    const { executions } = (await calls.executions(calls.requester, made.request)).body;
    const { tokens } = (await get('/api/tokens')).body;
    const { events } = (await get('/api/audit/events')).body;
    const jobs = await calls.sql<{ id: string }>('select id from dry_run_jobs');
    const decisions = await calls.sql<{ id: string }>('select id from decisions');
    const lists = [executions, tokens, events, jobs, decisions];
    expect(lists.map(({ length }) => length).every((length) => length > 0)).toBe(true);
    const ids = [made.request, made.execution, made.token, ...lists.flat().map(({ id }) => id)];
    expect(ids.filter((id) => !uuid.test(id))).toEqual([]);
  });

  const good = ['a', 'z9', 'a-b_c', `a${'b'.repeat(62)}`];
  const bad = ['', '*', 'A', '1a', '_a', '-a', 'a.b', 'a b', 'é', `a${'b'.repeat(63)}`];

  it.each(['database', 'environment'] as const)(
    'HT-71: a %s has 1 to 63 characters of a-z, 0-9, _ and -, from a letter',
    async (field) => {
      const pair = { database: 'shop', environment: 'staging' };
      const create = (name: string) => calls.create(calls.requester, { ...pair, detail: 'select 1', [field]: name });
      for (const name of bad) {
        const { status, body } = await create(name);
        expect([name, status, body.code, body.hint]).toEqual([name, 400, 'validation.failed', `body.${field}`]);
      }
      for (const name of good) expect((await create(name)).body.error, name).toContain('not registered');
      const { status, body } = await get(`/api/policy-resolution?${new URLSearchParams({ ...pair, [field]: '*' })}`);
      expect([status, body.hint]).toEqual([400, `query.${field}`]);
    },
  );

  it('HT-72: a user id has 1 to 128 ASCII letters, digits and -_@., and its case counts', async () => {
    const create = (id: string) => api.call('POST', '/api/users', { token: api.tokens.admin, body: { id } });
    for (const id of ['x', 'X', '0', 'a.b-c_d@example.net', 'n'.repeat(128)]) expect((await create(id)).status, id).toBe(201);
    for (const id of ['', 'n'.repeat(129), 'a b', 'a/b', 'é', 'a+b', 'a\n', 'а']) {
      const { status, body } = await create(id);
      expect([id, status, body.hint]).toEqual([id, 400, 'body.id']);
    }
  });

  it('HT-73: every time of every answer is UTC with Z and three digits, of audit events with six, and reads back equal', async () => {
    const ids = { '/api/requests': made.request, '/api/tokens': made.token, '/api/users': 'approver', '/api/groups': 'dba-team' };
    const paths = operationsOf((await get('/openapi.json')).body)
      .filter(
        ({ method, forAgents, path }) => method === 'GET' && !forAgents && !/stream|docs|metrics|^\/api\/events$/.test(path),
      )
      .map((operation) => filled(operation, ids));
    const answers = await Promise.all(paths.map(async (path) => ({ path, answer: await get(path) })));
    let times = 0;
    for (const { path, answer } of answers) {
      const digits = path.startsWith('/api/audit') ? 6 : 3;
      for (const text of instantsOf(answer.body)) {
        times += 1;
        expect([path, text]).toEqual([
          path,
          expect.stringMatching(new RegExp(`^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{${digits}}Z$`)),
        ]);
      }
    }
    expect(times).toBeGreaterThan(20);
    const expires = '2099-03-04T05:06:07.089Z';
    const body = { subject_id: 'clock', subject_type: 'agent', expires_at: expires };
    const token = await api.call('POST', '/api/tokens', { token: api.tokens.admin, body });
    expect(token.body.expires_at).toBe(expires);
    const { tokens } = (await get('/api/tokens')).body;
    expect(tokens.find(({ id }: { id: string }) => id === token.body.id).expires_at).toBe(expires);
  });

  it.each(['2099-06-01T00:00:00', '2099-06-01', '1780000000', 'tomorrow'])(
    'HT-74: the time %s is 400, for want of an offset or form',
    async (text) => {
      const body = { subject_id: 'clock', subject_type: 'agent', expires_at: text };
      const { status, body: refused } = await api.call('POST', '/api/tokens', { token: api.tokens.admin, body });
      expect([status, refused.hint]).toEqual([400, 'body.expires_at']);
      expect((await get(`/api/audit/events?since=${text}`)).body.hint).toBe('query.since');
    },
  );

  it('HT-75, RS-15: rows keep the order of their keys', async () => {
    const content = await calls.content(calls.requester, made.request);
    expect(content.text).toContain('"result_data":{"rows":[{"b":1,"a":2}]}');
    expect((await calls.stream(calls.requester, made.request)).text).toBe(content.text);
  });
});

/** The path with ids of what is stored, and the query parameters that it insists on. */
function filled({ path, parameters }: Operation, ids: Record<string, string>): string {
  const id = Object.entries(ids).find(([start]) => path.startsWith(start))?.[1] ?? 'shop';
  const named = path.replace(/\{[^}]+\}/g, encodeURIComponent(id));
  const pair =
    parameters.some(({ name, in: place }) => place === 'query' && name === 'database') && !path.startsWith('/api/requests');
  return pair && !path.startsWith('/api/audit') ? `${named}?database=shop&environment=production` : named;
}

function instantsOf(value: Answer['body']): string[] {
  if (typeof value === 'string') return /^\d{4}-\d\d-\d\d[T ]/.test(value) ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(instantsOf) : [];
}
