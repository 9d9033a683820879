import { randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApi } from '../support/api.js';
import { type Agent, type AgentCalls, type Body, coded, startAgentApi } from './agent-calls.js';

let api: TestApi;
let calls: AgentCalls;
let agent: Agent;
beforeAll(async () => {
  ({ api, calls } = await startAgentApi({ times: { cancelWaitMs: 20 } }));
  agent = await calls.known();
});
afterAll(() => api?.close());

const write = 'delete from t where id = 1';
const limit = 20_000;

interface Started {
  id: string;
  executionId: string;
}

async function started(detail = 'select 1', over: Body = {}): Promise<Started> {
  const id = await calls.dispatched(detail, over);
  return { id, executionId: await agent.run(id) };
}

const raw = (executionId: string, text: string | Uint8Array) =>
  api.call('POST', `/api/agent/jobs/${executionId}/result`, {
    token: agent.token,
    raw: text,
    headers: { 'content-type': 'application/json' },
  });

describe('the body of a result (section 15)', () => {
  it.each<[string, unknown]>([
    ['success missing', {}],
    ['success null', { success: null }],
    ['success as text', { success: 'true' }],
    ['result_data an object', { success: true, result_data: {} }],
    ['error_message a number', { success: false, error_message: 1 }],
    ['an unknown outcome', { success: true, outcome: 'done' }],
    ...['rolled_back', 'not_started', 'partial', 'unknown'].map((outcome): [string, Body] => [
      `success with ${outcome}`,
      { success: true, outcome },
    ]),
    ...['committed', 'already_applied'].map((outcome): [string, Body] => [
      `failure with ${outcome}`,
      { success: false, outcome },
    ]),
    ['another fence', { success: true, fence: 2 }],
    ['fence 0', { success: true, fence: 0 }],
    ...['rows_affected', 'duration_ms', 'total_rows', 'applied_fence'].flatMap((key) =>
      [-1, 1.5, 'x'].map((value): [string, Body] => [`${key} ${value}`, { success: true, [key]: value }]),
    ),
    ['an applied_fence that is none', { success: true, outcome: 'already_applied', applied_fence: 2 ** 31 }],
    ['truncated as text', { success: true, truncated: 'no' }],
  ])('is 400 with %s, and the run goes on', async (_, body) => {
    const { id, executionId } = await started();
    expect(coded(await agent.submit(executionId, body))).toEqual([400, 'validation.failed']);
    expect((await agent.heartbeat(executionId)).body).toMatchObject({ cancelled: false });
    expect(await calls.statusOf(id)).toBe('running');
  });

  it('is 400 or 415 when it is no JSON or of another type', async () => {
    const { executionId } = await started();
    const deep = `${'['.repeat(64)}${']'.repeat(64)}`;
    const bodies = [
      ...[
        '',
        '{',
        '[]',
        'null',
        '\ufeff{"success":true}',
        '{"success":true,"result_data":"1"',
        '{"success":true,"result_data":"1"} 1',
      ],
      ...['\\x', '\\u00g0', '\n', '\0', '"'].map((text) => `{"success":true,"result_data":"${text}"}`),
      `{"success":true,"result_data":"1","more":${deep}}`,
      Buffer.from('{"success":true,"result_data":"\xff"}', 'latin1'),
      Buffer.from('{"success":true,"result_data":"\xed\xa0\x80"}', 'latin1'),
    ];
    for (const body of bodies) expect(coded(await raw(executionId, body)), String(body)).toEqual([400, 'validation.failed']);
    const answer = await api.call('POST', `/api/agent/jobs/${executionId}/result`, {
      token: agent.token,
      raw: '{"success":true}',
      headers: { 'content-type': 'text/plain' },
    });
    expect(coded(answer)).toEqual([415, 'validation.unsupported_media_type']);
  });

  it('leaves nothing behind when it is refused: the next one may hold other data', async () => {
    const { id, executionId } = await started();
    expect((await agent.submit(executionId, { success: true, result_data: '{"a":1}', fence: 9 })).status).toBe(400);
    expect((await agent.submit(executionId, { success: true, result_data: '{"b":2}', fence: 1 })).status).toBe(200);
    expect((await calls.content(calls.requester, id)).body.result_data).toEqual({ b: 2 });
  });
});

describe('who may submit (AG-42)', () => {
  it('nobody for an unknown execution, and only its own agent for a known one, before its body counts', async () => {
    const { id, executionId } = await started();
    const other = await calls.known();
    for (const unknown of [randomUUID(), 'x', id])
      expect(coded(await agent.submit(unknown, { success: true }))).toEqual([404, 'execution.not_found']);
    expect(coded(await other.submit(executionId, { success: true, fence: 7 }))).toEqual([403, 'auth.forbidden']);
    expect(await calls.statusOf(id)).toBe('running');
  });
});

describe('a result that is accepted (AG-45, AG-46, AG-49)', () => {
  const wish = (id: string) => calls.cancel(id);
  const lose = (id: string) => calls.fireClock(id, 'lease');
  const before: Record<string, (id: string) => Promise<unknown>> = {
    running: async () => {},
    'running, asked': wish,
    lost: lose,
    'lost, asked': async (id) => wish(id).then(() => lose(id)),
    'cancelled, lost': async (id) => lose(id).then(() => wish(id)),
  };
  const table: [string, string, ...string[]][] = [
    ['running', 'committed', 'executed', 'execution.completed'],
    ['running', 'already_applied', 'executed', 'execution.completed'],
    ['running', 'rolled_back', 'failed', 'execution.failed'],
    ['running', 'not_started', 'failed', 'execution.failed'],
    ['running', 'partial', 'failed', 'execution.failed'],
    ['running', 'unknown', 'execution_lost', 'execution.lost'],
    ['running, asked', 'committed', 'executed', 'execution.completed'],
    ['running, asked', 'rolled_back', 'cancelled', 'execution.cancelled', 'request.cancelled'],
    ['running, asked', 'rolled_back not cancelled', 'failed', 'execution.failed'],
    ['running, asked', 'not_started', 'cancelled', 'execution.cancelled', 'request.cancelled'],
    ['running, asked', 'partial', 'failed', 'execution.failed'],
    ['running, asked', 'unknown', 'execution_lost', 'execution.lost'],
    ['lost', 'committed', 'executed', 'execution.completed'],
    ['lost', 'rolled_back', 'failed', 'execution.failed'],
    ['lost', 'unknown', 'execution_lost', 'execution.lost'],
    ['lost, asked', 'committed', 'executed', 'execution.completed'],
    ['lost, asked', 'rolled_back', 'cancelled', 'execution.cancelled', 'request.cancelled'],
    ['lost, asked', 'rolled_back not cancelled', 'failed', 'execution.failed'],
    ['cancelled, lost', 'committed', 'executed', 'execution.completed'],
    ['cancelled, lost', 'rolled_back', 'cancelled', 'execution.late_result'],
    ['cancelled, lost', 'partial', 'cancelled', 'execution.late_result'],
    ['cancelled, lost', 'unknown', 'cancelled', 'execution.late_result'],
  ];
  it.each(table)('of a write that is %s with %s ends %s', async (state, reported, status, ...events) => {
    const { id, executionId } = await started(write);
    await before[state]!(id);
    const earlier = (await calls.eventTypes(id)).length;
    const [outcome, not] = reported.split(' ');
    const success = outcome === 'committed' || outcome === 'already_applied';
    const body = { success, outcome, fence: 1, error_message: success ? null : 'why', ...(not ? { cancelled: false } : {}) };
    expect((await agent.submit(executionId, body)).body).toEqual({ request_id: id, status });
    expect((await calls.eventTypes(id)).slice(earlier)).toEqual(events);
    const shown = (await calls.show(calls.requester, id)).body;
    expect([shown.status, shown.lost_reason]).toEqual([
      status,
      outcome === 'unknown' && status !== 'cancelled' ? 'why' : shown.lost_reason,
    ]);
    expect(await calls.runsOf(id)).toMatchObject([{ status: success ? 'completed' : 'failed', outcome }]);
  });

  it('without outcome counts as committed or rolled back, from an agent that knows nothing of fences', async () => {
    for (const [success, status, outcome] of [
      [true, 'executed', 'committed'],
      [false, 'failed', 'rolled_back'],
    ] as const) {
      const { id, executionId } = await started(write);
      expect((await agent.submit(executionId, { success })).body.status).toBe(status);
      expect(await calls.runsOf(id)).toMatchObject([{ outcome, applied_fence: null }]);
    }
  });

  it('wakes a waiting reader of the status and of the result, and shows counts and the fence that did the work', async () => {
    const { id, executionId } = await started(write);
    const waits = async () =>
      (await api.services.metrics.longPolls.get()).values.filter(({ value, labels }) => value > 0 && labels.kind !== 'agent')
        .length;
    const status = calls.show(calls.requester, id, '?wait=60');
    const stream = calls.stream(calls.requester, id);
    await expect.poll(waits).toBe(2);
    const body = { success: true, rows_affected: 3, duration_ms: 41, outcome: 'already_applied', applied_fence: 1 };
    await agent.submit(executionId, body);
    expect((await status).body.status).toBe('executed');
    expect((await stream).body).toMatchObject({ success: true, rows_affected: 3 });
    expect(await calls.runsOf(id)).toMatchObject([{ rows_affected: 3, duration_ms: 41, applied_fence: 1 }]);
    expect(await calls.events(id, 'execution.completed')).toMatchObject([
      {
        actor_type: 'agent',
        outcome: 'success',
        metadata: { fence: 1, outcome: 'already_applied', rows_affected: 3, duration_ms: 41 },
      },
    ]);
  });
});

describe('the same submission again (AG-43, AG-I6)', () => {
  const failure = { success: false, error_message: 'no such table', outcome: 'rolled_back' };
  it.each<[string, string, Body]>([
    ['a success with data', 'select 1', { success: true, result_data: '{"rows":[[1]]}' }],
    ['a failure', write, failure],
    ['an unknown outcome', write, { success: false, outcome: 'unknown' }],
  ])('of %s is 200 each time, one after the other and at once, with one event', async (_, detail, body) => {
    const { id, executionId } = await started(detail);
    const first = await Promise.all(Array.from({ length: 8 }, () => agent.submit(executionId, body)));
    const later = [await agent.submit(executionId, body), await agent.submit(executionId, { ...body, duration_ms: 5 })];
    expect(new Set([...first, ...later].map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(first[0]!.status).toBe(200);
    expect((await calls.eventTypes(id)).filter((type) => type.startsWith('execution.'))).toHaveLength(2);
    expect(await calls.sql('select 1 from results where request_id = $1', [id])).toHaveLength(body.result_data ? 1 : 0);
  });

  it('after a newer dispatch tells what was recorded then, not the status of now (AG-49)', async () => {
    const ends: [Body, string][] = [
      [failure, 'failed'],
      [{ success: true }, 'executed'],
      [{ success: false, outcome: 'unknown' }, 'execution_lost'],
    ];
    for (const [body, status] of ends) {
      const { id, executionId } = await started(write);
      expect((await agent.submit(executionId, body)).body.status).toBe(status);
      expect((await calls.resume(id)).status).toBe(200);
      const again = await agent.submit(executionId, body);
      expect([again.status, again.body]).toEqual([200, { request_id: id, status }]);
      await agent.run(id);
      expect((await agent.submit(executionId, body)).body.status).toBe(status);
      expect(await calls.statusOf(id)).toBe('running');
    }
  });

  it('with any other content is 409 and changes nothing', async () => {
    const { id, executionId } = await started(write);
    await agent.submit(executionId, failure);
    const others = [{ success: true }, { ...failure, error_message: 'other' }, { ...failure, outcome: 'partial' }];
    for (const body of [
      ...others,
      { ...failure, cancelled: true },
      { ...failure, rows_affected: 1 },
      { ...failure, result_data: '1' },
    ])
      expect(coded(await agent.submit(executionId, body))).toEqual([409, 'execution.conflict']);
    expect(await calls.runsOf(id)).toMatchObject([{ status: 'failed', error_message: 'no such table' }]);
  });

  it('of a result that was too large is 200 with the recorded status: duplicates come before sizes (AG-42)', async () => {
    const { id, executionId } = await started();
    const body = { success: true, result_data: JSON.stringify('x'.repeat(limit)) };
    expect((await agent.submit(executionId, body)).status).toBe(413);
    expect((await agent.submit(executionId, body)).body).toEqual({ request_id: id, status: 'failed' });
  });
});

describe('a result that is too large (AG-47, RS-51, RS-55, RS-57)', () => {
  const text = (bytes: number) => JSON.stringify('x'.repeat(bytes - 2));
  const tooLarge = (bytes: number) => `result too large: ${bytes} bytes, limit ${limit}`;

  it('is one byte above the limit, in bytes of UTF-8', async () => {
    for (const data of [text(limit), JSON.stringify('é'.repeat(limit / 2 - 1))]) {
      const { executionId } = await started();
      expect((await agent.submit(executionId, { success: true, result_data: data })).body.status).toBe('executed');
    }
    const { id, executionId } = await started();
    const data = JSON.stringify('é'.repeat(limit / 2));
    expect(coded(await agent.submit(executionId, { success: true, result_data: data }))).toEqual([413, 'payload.too_large']);
    expect(await calls.runsOf(id)).toMatchObject([{ status: 'failed', error_message: tooLarge(limit + 2) }]);
  });

  it('fails a read at once, also one whose result is not stored', async () => {
    for (const over of [{}, { no_result_store: true }]) {
      const { id, executionId } = await started('select 1', over);
      expect((await agent.submit(executionId, { success: true, result_data: text(limit + 1) })).status).toBe(413);
      expect(await calls.statusOf(id)).toBe('failed');
      expect(await calls.runsOf(id)).toMatchObject([{ error_message: tooLarge(limit + 1) }]);
    }
  });

  it('may be 1 MiB more for a read that the agent has cut, and not for a write (RS-52, RS-56)', async () => {
    const cut = { success: true, truncated: true, result_data: text(limit + 2 ** 20) };
    const read = await started();
    expect((await agent.submit(read.executionId, cut)).status).toBe(200);
    const more = await started();
    expect((await agent.submit(more.executionId, { ...cut, result_data: text(limit + 2 ** 20 + 1) })).status).toBe(413);
    const dml = await started(write);
    expect((await agent.submit(dml.executionId, { ...cut, result_data: text(limit + 1) })).status).toBe(413);
  });

  it('keeps a write that happened, with its row count in place of its data', async () => {
    const { id, executionId } = await started(write);
    const body = { success: true, result_data: text(limit + 1), rows_affected: 12 };
    expect(coded(await agent.submit(executionId, body))).toEqual([413, 'payload.too_large']);
    expect(await calls.statusOf(id)).toBe('executed');
    expect((await calls.content(calls.requester, id)).body).toMatchObject({
      success: true,
      rows_affected: 12,
      result_data: { rows_affected: 12 },
      error_message: tooLarge(limit + 1),
    });
  });

  it('whose body is above the limit of the route is noticed before it is read; a write then ends as unknown', async () => {
    const bodyLimit = 2 * limit + 2 * 2 ** 20;
    for (const [detail, status] of [
      ['select 1', 'failed'],
      [write, 'execution_lost'],
    ] as const) {
      const { id, executionId } = await started(detail);
      expect(await declared(executionId, bodyLimit + 1)).toBe(413);
      expect(await calls.statusOf(id)).toBe(status);
      expect(await calls.runsOf(id)).toMatchObject([{ status: 'failed', error_message: tooLarge(bodyLimit + 1) }]);
    }
    const { id, executionId } = await started();
    expect((await raw(executionId, JSON.stringify({ success: true, pad: 'x'.repeat(bodyLimit) }))).status).toBe(413);
    expect(await calls.statusOf(id)).toBe('failed');
  });

  it('of another agent is refused as such and changes nothing', async () => {
    const { id, executionId } = await started(write);
    const other = await calls.known();
    expect(await declared(executionId, 100_000_000, other.token)).toBe(403);
    expect(await calls.statusOf(id)).toBe('running');
  });

  /** Sends the head of a call and none of its body. */
  function declared(executionId: string, bytes: number, token = agent.token): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'content-length': bytes };
      const call = httpRequest(`${api.url}/api/agent/jobs/${executionId}/result`, { method: 'POST', headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
        call.destroy();
      });
      call.on('error', reject);
      call.flushHeaders();
    });
  }
});

describe('the form of what was submitted (AG-50a, RS-54)', () => {
  it('U+0000 and unpaired surrogates become U+FFFD in the message and in the data', async () => {
    const bad = await started();
    await raw(bad.executionId, '{"success":false,"error_message":"a\\u0000b\\ud800c\\udc00d \\ud83d\\ude00"}');
    expect(await calls.runsOf(bad.id)).toMatchObject([{ status: 'failed', error_message: 'a\ufffdb\ufffdc\ufffdd 😀' }]);
    const good = await started();
    const data = '{"rows":[["\\u0000 \\ud800"]],"raw":"😀"}';
    await raw(good.executionId, `{"success":true,"result_data":${JSON.stringify(data)}}`);
    expect((await calls.content(calls.requester, good.id)).text, 'escapes inside JSON text stay').toContain(
      `"result_data":${data}}`,
    );
    const odd = await started();
    await raw(odd.executionId, '{"success":true,"result_data":"\\"\\u0000\\ud800\\""}');
    expect((await calls.content(calls.requester, odd.id)).body.result_data).toBe('\ufffd\ufffd');
  });

  it('an error message is cut to 4096 bytes at a character, and a missing one has a text', async () => {
    const long = await started();
    await agent.submit(long.executionId, { success: false, error_message: `a${'é'.repeat(3000)}` });
    expect(await calls.runsOf(long.id)).toMatchObject([{ error_message: `a${'é'.repeat(2047)}` }]);
    const none = await started();
    await agent.submit(none.executionId, { success: false });
    expect((await calls.runsOf(none.id))[0]!.error_message).toEqual(expect.stringMatching(/./));
  });

  it.each(['9007199254740993', '18446744073709551615'])('counts rows exactly up to %s', async (count) => {
    const { id, executionId } = await started(write);
    const body = `{"success":true,"rows_affected":${count},"total_rows":${count},"duration_ms":${count}}`;
    expect((await raw(executionId, body)).status).toBe(200);
    expect((await raw(executionId, body)).status).toBe(200);
    expect((await calls.content(calls.requester, id)).text).toContain(`"rows_affected":${count},`);
    expect((await calls.executions(calls.requester, id)).text).toContain(`"rows_affected":${count},`);
    const query = `/api/audit/events?request_id=${id}&event_type=execution.completed`;
    const { events } = (await api.call('GET', query, { token: api.tokens.admin })).body;
    expect(events[0].metadata_json).toContain(`"rows_affected":${count},`);
  });

  it('of several result_data the last counts, however its name is spelled (HT-49)', async () => {
    const kept = await started();
    await raw(kept.executionId, '{"result_data":1,"success":true,"r\\u0065sult_data":"[1]","more":{"result_data":"[2]"}}');
    expect((await calls.content(calls.requester, kept.id)).body.result_data).toEqual([1]);
    const none = await started();
    await raw(none.executionId, '{"result_data":"[1]","success":true,"result_data":null}');
    expect((await calls.content(calls.requester, none.id)).body).toMatchObject({ success: true, result_data: null });
    const wrong = await started();
    expect((await raw(wrong.executionId, '{"success":true,"result_data":"[1]","result_data":{}}')).body).toMatchObject({
      code: 'validation.failed',
      hint: 'body.result_data',
    });
  });

  it('data that is no JSON text is kept and shown as a JSON string', async () => {
    const { id, executionId } = await started();
    await agent.submit(executionId, { success: true, result_data: 'three rows' });
    expect((await calls.content(calls.requester, id)).body.result_data).toBe('three rows');
  });
});
