import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApi } from '../support/api.js';
import { type Collector, openCollector } from '../support/collector.js';
import { eventually } from '../support/processes.js';
import { ownerAndApprover, startCalls } from './calls-api.js';
import { callsToml } from './calls-toml.js';
import type { GatewayCalls } from './gateway-calls.js';

let collector: Collector;
let api: TestApi;
let calls: GatewayCalls;
let tokens: Record<'admin' | 'owner' | 'approver', string>;
beforeAll(async () => {
  collector = await openCollector();
  const toml = `${callsToml}\n[telemetry]\notlp_endpoint = "${collector.url}"\n`;
  const started = await startCalls(ownerAndApprover, ['shop/staging', 'shop/production'], { toml });
  ({ api, calls, tokens } = started);
});
afterAll(async () => {
  await api?.close();
  await collector?.kill();
});

const collected = (id: string, count: number) => eventually(() => collector.of(id).length >= count && collector.of(id));
const namesOf = (id: string) => collector.of(id).map(({ name }) => name);

/** Long enough for whatever was recorded before a span that has arrived. */
const settled = async () => {
  const id = await calls.created(tokens.owner);
  await collected(id, 1);
};

describe('the trace of a request at the API (OP-94)', () => {
  it('has its id from the request, the creation as its first span, and each call that moved it', async () => {
    const write = { operation: 'execute_dml', detail: 'delete from parts where id = 1' };
    const id = await calls.created(tokens.owner, write);
    expect((await calls.act(tokens.approver, id, 'approve')).status).toBe(200);
    expect((await calls.act(tokens.owner, id, 'resume')).status).toBe(200);
    const { executionId } = await calls.claimed(id);
    const result = { success: true, result_data: '{"rows_affected":1}', rows_affected: 1, fence: 1, outcome: 'committed' };
    expect((await calls.submit(executionId, result)).status).toBe(200);
    const spans = await collected(id, 5);
    expect(spans.map(({ name, parentSpanId, attributes }) => [name, parentSpanId, attributes['svc.status']])).toEqual([
      ['POST /api/requests', '', 'pending'],
      ['POST /api/requests/:id/approve', spans[0]!.spanId, 'approved'],
      ['POST /api/requests/:id/resume', spans[0]!.spanId, 'dispatched'],
      ['claim', spans[0]!.spanId, 'running'],
      ['POST /api/agent/jobs/:id/result', spans[0]!.spanId, 'executed'],
    ]);
    expect(spans[0]).toMatchObject({ traceId: id.replaceAll('-', ''), service: 'svc-server', kind: 2, error: null, links: [] });
    expect(spans[0]!.attributes).toEqual({
      'svc.request_id': id,
      'svc.database': 'shop',
      'svc.environment': 'production',
      'svc.operation': 'execute_dml',
      'svc.status': 'pending',
      'http.request.method': 'POST',
      'http.route': '/api/requests',
      'http.response.status_code': 201,
    });
    expect(spans[3]!.attributes).toMatchObject({ 'svc.execution_id': executionId, 'svc.fence': 1 });
  });

  it('has a repeated creation as a further span, not as a second first one', async () => {
    const over = { idempotency_key: randomUUID() };
    const id = await calls.created(tokens.owner, over);
    expect((await calls.create(tokens.owner, over)).status).toBe(200);
    await settled();
    expect(namesOf(id)).toEqual(['POST /api/requests']);
  });

  it('has neither reads nor calls that were refused', async () => {
    const id = await calls.created(tokens.owner);
    await calls.show(tokens.owner, id);
    expect((await calls.act(tokens.owner, id, 'approve')).status).toBe(403);
    expect((await calls.act(tokens.owner, id, 'resume')).status).toBe(409);
    expect((await calls.act(tokens.approver, id, 'cancel')).status).toBe(403);
    await settled();
    expect(namesOf(id)).toEqual(['POST /api/requests']);
  });
});

describe("a caller's own traceparent (OP-94)", () => {
  const post = (path: string, token: string, headers: Record<string, string>, body: object) =>
    api.call('POST', path, { token, headers, body });
  const creation = { database: 'shop', environment: 'production', detail: 'select 1' };

  it('becomes a link of the span of its call, and nothing of it becomes its place', async () => {
    const victim = await calls.created(tokens.owner);
    const { traceId, spanId } = (await collected(victim, 1))[0]!;
    const headers = { traceparent: `00-${traceId}-${spanId}-00`, tracestate: 'svc=forged', baggage: 'user=mallory' };
    const { body } = await post('/api/requests', tokens.owner, headers, creation);
    const [span] = await collected(body.id, 1);
    expect(span).toMatchObject({ traceId: body.id.replaceAll('-', ''), parentSpanId: '', links: [{ traceId, spanId }] });
    await post(`/api/requests/${body.id}/cancel`, tokens.owner, headers, {});
    expect((await collected(body.id, 2))[1]).toMatchObject({ parentSpanId: span!.spanId, links: [{ traceId, spanId }] });
    expect(collector.of(victim)).toHaveLength(1);
    expect(collector.bodies.join()).not.toMatch(/forged|mallory/);
  });

  it('that is no traceparent is as none', async () => {
    for (const traceparent of ['x', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`, `00-${"'".repeat(32)}-${'a'.repeat(16)}-01`]) {
      const { body } = await post('/api/requests', tokens.owner, { traceparent }, creation);
      expect((await collected(body.id, 1))[0]!.links).toEqual([]);
    }
  });
});

it('no span holds SQL, a reason, the name of a person, a token or a row, of whatever is sent (OP-94, OP-92)', async () => {
  const secret = 'zq7';
  const token = await api.createUser(`${secret}-owner`, { roles: ['requester'] });
  const judge = await api.createUser(`${secret}-approver`, { groups: ['dba-team'] });
  const created = await calls.created(token, {
    operation: 'execute_dml',
    detail: `delete from parts where name = '${secret}' /* ${secret} */`,
    reason: `${secret} said so`,
    metadata: { [secret]: secret },
    idempotency_key: `${secret}-key`,
    share_with: [`${secret}-approver`],
  });
  await calls.create(token, { database: secret, environment: secret, operation: secret, detail: secret });
  await calls.act(judge, created, 'approve', { comment: `${secret} agrees` });
  await calls.act(token, created, 'resume', { reason: secret });
  const { executionId } = await calls.claimed(created);
  const failed = { success: false, error_message: `ERROR: duplicate key (${secret})`, result_data: `{"rows":["${secret}"]}` };
  expect((await calls.submit(executionId, { ...failed, fence: 1, outcome: 'rolled_back' })).status).toBe(200);
  const other = await calls.created(token);
  await calls.act(token, other, 'cancel', { reason: `${secret} changed its mind` });
  await api.call('POST', `/api/requests/${created}/cancel?${secret}=1`, {
    token,
    headers: { 'x-secret': secret, cookie: secret },
  });
  await collected(created, 5);
  await collected(other, 2);
  const all = collector.bodies.join();
  expect(all).toContain(created);
  for (const word of [secret, 'delete from', 'dba-team', 'owner', 'approver', token, judge, api.tokens.agent, 'svc_'])
    expect([word, all.includes(word)]).toEqual([word, false]);
});

it('a collector that answers nothing holds up no call and no stop (OP-94, OP-I5)', async () => {
  const frozen = await openCollector({ answer: () => {} });
  const toml = `${callsToml}\n[telemetry]\notlp_endpoint = "${frozen.url}"\n`;
  const { api: beside, calls: ask, tokens: people } = await startCalls(ownerAndApprover, [], { toml });
  try {
    const ids = await Promise.all(Array.from({ length: 20 }, () => ask.created(people.owner)));
    await eventually(() => frozen.connections > 0);
    for (const id of ids) expect((await ask.act(people.owner, id, 'cancel')).status).toBe(200);
  } finally {
    await beside.close();
    await frozen.kill();
  }
});

it('spans that no collector got are counted in /metrics (OP-94, OP-I3)', async () => {
  const toml = `${callsToml}\n[telemetry]\notlp_endpoint = "http://127.0.0.1:1"\n`;
  const { api: beside, calls: ask, tokens: people } = await startCalls(ownerAndApprover, [], { toml });
  try {
    await ask.created(people.owner);
    const dropped = async () => {
      const { text } = await beside.call('GET', '/metrics', { token: people.admin });
      return /^svc_trace_spans_dropped_total\{reason="not_sent"\} (\d+)$/m.exec(text)?.[1];
    };
    expect(await eventually(dropped, 60_000)).toBe('1');
    expect(beside.logged.filter((line) => line.includes('traces are not sent'))).toHaveLength(1);
  } finally {
    await beside.close();
  }
});

it('the log line of a call says in which trace it is (OP-90)', async () => {
  const id = await calls.created(tokens.owner);
  const line = await eventually(() => api.logged.find((one) => one.includes(id.replaceAll('-', ''))));
  expect(JSON.parse(line)).toMatchObject({ msg: 'call', trace_id: id.replaceAll('-', ''), path: '/api/requests' });
});
