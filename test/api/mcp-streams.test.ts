import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { callsToml } from './calls-toml.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';
import { type McpCalls, type McpHeaders, mcpCalls } from './mcp-calls.js';

let api: TestApi;
let other: TestApi;
let calls: GatewayCalls;
let tokens: Record<'owner' | 'dba', string>;
let mcp: McpCalls;
/** The same client through the other server. */
let there: McpCalls;
const toml = `${callsToml}\n[mcp]\ndefault_environment = "production"\nelicitation_timeout_secs = 10\nreplay_buffer_size = 2\n`;
beforeAll(async () => {
  api = await startTestApi({ toml });
  other = await api.another();
  calls = gatewayCalls(api);
  tokens = await api.createUsers({ owner: { roles: ['requester'] }, dba: { groups: ['dba-team', 'leads'] } });
  mcp = mcpCalls(api, tokens.owner);
  there = mcpCalls(other, tokens.owner);
  await calls.poll(['shop/production', 'shop/qa']);
});
afterAll(async () => {
  await other?.close();
  await api?.close();
});

const wait = (id: unknown, request_id: string, more: object = {}) => ({
  id,
  method: 'tools/call',
  params: { name: 'svc_wait_request', arguments: { request_id, timeout: 60, include_result: false }, ...more },
});

const draft = { method: 'prompts/get', params: { name: 'draft_migration', arguments: { description: 'x' } } };

describe('a stream (MC-22)', () => {
  it('opens with its number 0, tells progress, and ends with its response', async () => {
    const session = await mcp.open();
    const id = await calls.created(tokens.owner);
    const stream = await mcp.stream(wait(1, id, { _meta: { progressToken: 'p' } }), session);
    expect(stream.headers.get('content-type')).toBe('text/event-stream');
    expect(stream.headers.get('cache-control')).toBe('no-cache');
    const opening = await stream.next();
    expect(opening).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}:0$/), data: null });
    const progress = (count: number) => ({ method: 'notifications/progress', params: { progressToken: 'p', progress: count } });
    expect((await stream.next())?.data).toMatchObject(progress(1));
    await calls.act(tokens.dba, id, 'approve');
    const events = await stream.rest();
    expect(events.map((event) => event.id.split(':')[1])).toEqual(['2', '3']);
    expect(events[0]?.data).toMatchObject(progress(2));
    expect(events[1]?.data).toMatchObject({ id: 1, result: { structuredContent: { status: 'approved' } } });
  });

  it('has no other call of its session look whether it goes on: only a cancel or the end of the session does', async () => {
    const session = await mcp.open();
    const id = await calls.created(tokens.owner);
    const waiting = await mcp.stream(wait(1, id), session);
    await waiting.next();
    const query = vi.spyOn(api.services.database, 'query');
    const looks = () => query.mock.calls.filter(([text]) => text.includes('from mcp_calls where id = $1 and ended_at is null'));
    for (const n of [2, 3, 4]) await (await mcp.stream({ id: n, ...draft }, session)).rest();
    expect(looks()).toEqual([]);
    await mcp.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } }, session);
    expect(looks()).toHaveLength(1);
    query.mockRestore();
    await calls.act(tokens.dba, id, 'reject');
    expect(await waiting.rest()).toHaveLength(1);
  });

  it('says every few seconds that its process is alive (MC-24), not at each call of its session', async () => {
    const session = await mcp.open();
    const id = await calls.created(tokens.owner);
    const stream = await mcp.stream(wait(1, id), session);
    const call = (await stream.next())!.id.split(':')[0];
    const startedAt = performance.now();
    const signs = new Set<string>();
    for (let n = 2; n < 30; n += 1) {
      const other = await mcp.stream({ id: n, ...draft }, session);
      await other.rest();
      const [row] = await calls.sql<{ at: string }>('select alive_at::text as at from mcp_calls where id = $1', [call]);
      signs.add(row!.at);
    }
    expect(signs.size).toBeLessThanOrEqual(2 + (performance.now() - startedAt) / 3000);
    await calls.act(tokens.owner, id, 'cancel');
    expect((await stream.rest()).at(-1)?.data).toMatchObject({ id: 1, result: { structuredContent: { status: 'cancelled' } } });
  });

  it('is read on only with the rights of its call, not with every token of its user (MC-21, MC-I5)', async () => {
    const { lead } = await api.createUsers({ lead: { roles: ['requester', 'approver'] } });
    const strong = mcpCalls(api, lead!);
    const session = await strong.open();
    const id = await calls.created(lead!);
    const stream = await strong.stream(wait(1, id), session);
    const opening = await stream.next();
    await stream.leave();
    await calls.act(tokens.dba, id, 'reject');
    const withToken = async (scope_ceiling: object | null) => {
      const { status, body } = await api.call('POST', '/api/tokens', {
        token: lead!,
        body: { subject_id: 'lead', subject_type: 'user', scope_ceiling },
      });
      expect(status).toBe(201);
      return mcpCalls(api, body.token);
    };
    const weak = await withToken({ roles: ['approver'] });
    expect((await weak.resume(opening!.id, session)).status).toBe(403);
    const equal = await withToken(null);
    const [event] = await (await equal.resume(opening!.id, session)).rest();
    expect(event?.data.result.structuredContent.status).toBe('rejected');
  });

  it('a client that left comes back to any server and misses nothing (MC-I2)', async () => {
    const session = await mcp.open();
    const id = await calls.created(tokens.owner);
    const stream = await mcp.stream(wait(1, id), session);
    const opening = await stream.next();
    await stream.leave();
    await calls.act(tokens.dba, id, 'reject');
    const resumed = await there.resume(opening!.id, session);
    const [event] = await resumed.rest();
    expect(event?.data.result.structuredContent.status).toBe('rejected');
    expect(await (await mcp.resume(event!.id, session)).rest()).toEqual([]);
    const beyond = event!.id.replace(/:1$/, ':9');
    expect((await mcp.resume(beyond, session)).status).toBe(404);
    expect((await mcp.resume(opening!.id, await mcp.open())).status).toBe(404);
    const stranger = mcpCalls(api, tokens.dba);
    expect((await stranger.resume(opening!.id, session)).status).toBe(403);
  });

  it('keeps its last events, and is gone for who lacks an older one (MC-23)', async () => {
    const session = await mcp.open();
    const id = await calls.created(tokens.owner, { environment: 'dev' });
    const params = { _meta: { progressToken: 1 }, name: 'svc_wait_request', arguments: { request_id: id, timeout: 60 } };
    const stream = await mcp.stream({ id: 1, method: 'tools/call', params }, session);
    const opening = await stream.next();
    await stream.next();
    await stream.leave();
    await calls.sql(`insert into mcp_events (call_id, seq, message) select $1, n, '{}' from generate_series(2, 4) as n`, [
      opening!.id.split(':')[0],
    ]);
    await calls.sql(`update mcp_calls set last_seq = 4 where id = $1`, [opening!.id.split(':')[0]]);
    await calls.act(tokens.dba, id, 'reject');
    const ended = async () =>
      (await calls.sql(`select 1 from mcp_calls where session_id = $1 and ended_at is not null`, [session['mcp-session-id']]))
        .length;
    await expect.poll(ended).toBe(1);
    expect((await mcp.resume(opening!.id, session)).status).toBe(404);
    const left = await (await there.resume(opening!.id.replace(/:0$/, ':4'), session)).rest();
    expect(left.map((event) => event.id.split(':')[1])).toEqual(['5', '6']);
  });

  it('an id in flight is taken, whichever server is asked; 1 and "1" differ', async () => {
    const session = await mcp.open();
    const id = await calls.created(tokens.owner);
    const stream = await mcp.stream(wait(1, id), session);
    await stream.next();
    const again = await there.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, session);
    expect([again.status, again.body.code]).toEqual([409, 'mcp.conflict']);
    expect((await there.post({ jsonrpc: '2.0', id: '1', method: 'ping' }, session)).body.id).toBe('1');
    await there.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }, session);
    expect(await stream.rest()).toEqual([]);
    expect((await mcp.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, session)).body).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {},
    });
  });

  it('a session has at most 10 in flight, and its end closes them', async () => {
    const session = await mcp.open();
    const id = await calls.created(tokens.owner);
    const streams = await Promise.all(Array.from({ length: 10 }, (_, n) => mcp.stream(wait(n, id), session)));
    const more = await mcp.stream(wait(11, id), session);
    expect(more.status).toBe(429);
    expect((await other.call('DELETE', '/mcp', { token: tokens.owner, headers: session })).status).toBe(200);
    for (const stream of streams) expect((await stream.rest()).filter(({ data }) => data !== null)).toEqual([]);
  });

  it('of a server that drains ends with how things stand, and goes on elsewhere (OP-62)', async () => {
    const leaving = await api.another();
    const session = await mcp.open();
    const id = await calls.created(tokens.owner);
    const stream = await mcpCalls(leaving, tokens.owner).stream(wait(1, id), session);
    const opening = await stream.next();
    leaving.drain();
    const [event] = await stream.rest();
    expect(event?.data.result.structuredContent).toMatchObject({ status: 'pending', timed_out: true });
    expect(await (await there.resume(opening!.id, session)).rest()).toEqual([event]);
    await leaving.close();
  });

  it('whose process died is answered once, by whoever notices (MC-24)', async () => {
    const session = await mcp.open();
    const id = '11111111-2222-4333-8444-555555555555';
    await (await mcp.stream({ id: 6, method: 'ping' }, session)).rest();
    await calls.sql(
      `insert into mcp_calls (id, session_id, rpc_id, streams, rights, alive_at)
       select $1, session_id, '7', true, rights, clock_timestamp() - interval '16 s' from mcp_calls where session_id = $2`,
      [id, session['mcp-session-id']],
    );
    const both = await Promise.all([mcp.resume(`${id}:0`, session), there.resume(`${id}:0`, session)]);
    for (const stream of both) {
      const events = await stream.rest();
      expect(events.map(({ data }) => [data.id, data.error.code])).toEqual([[7, -32603]]);
      expect(events[0]?.data.error.message).toBe('interrupted; check the request before calling again');
    }
  });
});

describe('a reason that is missing is asked for (MC-30, MC-31)', () => {
  const query = {
    id: 1,
    method: 'tools/call',
    params: { name: 'svc_execute_query', arguments: { sql: 'select 1', environment: 'qa' } },
  };
  const respond = (client: McpCalls, session: McpHeaders, result: object) =>
    client.post({ jsonrpc: '2.0', id: 'elicit-0', result }, session);

  async function outcomes(): Promise<Record<string, number>> {
    const { values } = await api.services.metrics.mcpElicitations.get();
    return Object.fromEntries(values.map(({ labels, value }) => [String(labels.outcome), value]));
  }

  async function asked() {
    const session = await mcp.open({ capabilities: { elicitation: {} } });
    const stream = await mcp.stream(query, session);
    await stream.next();
    const question = await stream.next();
    expect(question?.data).toMatchObject({ id: 'elicit-0', method: 'elicitation/create' });
    return { session, stream };
  }

  it('the answer may come to another server, and only the first counts (MC-I6)', async () => {
    const { session, stream } = await asked();
    const accept = { action: 'accept', content: { reason: 'a ticket' } };
    const statuses = await Promise.all(
      [mcp, there, mcp, there].map(async (client) => (await respond(client, session, accept)).status),
    );
    expect(statuses.toSorted()).toEqual([202, 400, 400, 400]);
    const [response] = await stream.rest();
    const { request_id: id, status } = response!.data.result.structuredContent;
    expect(status).toBe('pending');
    expect((await calls.show(tokens.owner, id)).body.reason).toBe('a ticket');
  });

  it('a repeat of the call with the same key is the same request, and asks nobody again (MC-44, RQ-31)', async () => {
    const session = await mcp.open({ capabilities: { elicitation: {} } });
    const keyed = (id: number) => ({
      ...query,
      id,
      params: { ...query.params, arguments: { ...query.params.arguments, _idempotency_key: 'asked-once' } },
    });
    const first = await mcp.stream(keyed(1), session);
    await first.next();
    await first.next();
    await respond(mcp, session, { action: 'accept', content: { reason: 'a ticket' } });
    const [made] = await first.rest();
    const again = await mcp.stream(keyed(2), session);
    await again.next();
    const [repeated] = await again.rest();
    const idOf = (event: typeof made) => event!.data.result.structuredContent.request_id;
    expect([made!.data.result.isError, idOf(repeated)]).toEqual([false, idOf(made)]);
  });

  it('an answer whose news is lost is found all the same (HT-102)', async () => {
    const { stream } = await asked();
    await calls.sql(`update mcp_elicitations set action = 'accept', reason = 'told to nobody' where action is null`);
    const [response] = await stream.rest();
    const { request_id: id } = response!.data.result.structuredContent;
    expect((await calls.show(tokens.owner, id)).body.reason).toBe('told to nobody');
  });

  it('an answer to a call that was cancelled since makes no request (MC-13)', async () => {
    const { session, stream } = await asked();
    const before = await outcomes();
    await calls.sql(`update mcp_elicitations set action = 'accept', reason = 'taken back' where action is null`);
    await there.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }, session);
    expect(await stream.rest()).toEqual([]);
    await expect.poll(outcomes, { timeout: 10_000 }).toEqual({ ...before, cancel: (before.cancel ?? 0) + 1 });
    expect(await calls.sql(`select 1 from requests where reason = 'taken back'`)).toEqual([]);
  });

  it.each([[{ action: 'decline' }], [{ action: 'cancel' }]])('%j fails the tool', async (result) => {
    const { session, stream } = await asked();
    expect((await respond(mcp, session, result)).status).toBe(202);
    const [response] = await stream.rest();
    expect(response?.data.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('reason is required') }],
    });
    expect((await respond(mcp, session, { action: 'accept', content: { reason: 'late' } })).status).toBe(400);
  });

  it.each([
    ['a blank reason', { action: 'accept', content: { reason: ' ' } }, 'body.result.content.reason'],
    ['a reason that nobody can see', { action: 'accept', content: { reason: '\u0085\u2060' } }, 'body.result.content.reason'],
    ['a reason above 1024 bytes', { action: 'accept', content: { reason: 'é'.repeat(513) } }, 'body.result.content.reason'],
    ['an unknown action', { action: 'shrug' }, 'body.result.action'],
  ])('%s is 400, and the tool fails at once instead of waiting for a second answer', async (_what, result, field) => {
    const { session, stream } = await asked();
    const refused = await respond(mcp, session, result);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(field)]);
    expect((await respond(mcp, session, { action: 'accept', content: { reason: 'a ticket' } })).status).toBe(400);
    const [response] = await stream.rest();
    expect(response?.data.result.content[0].text).toContain('reason is required');
  });

  it('no answer in time fails the tool, and a late one is refused', async () => {
    const { session, stream } = await asked();
    const [response] = await stream.rest();
    expect(response?.data.result.isError).toBe(true);
    expect((await respond(mcp, session, { action: 'accept', content: { reason: 'late' } })).status).toBe(400);
  }, 20_000);

  it('a client that cannot ask is not asked', async () => {
    const stream = await mcp.stream(query, await mcp.open());
    const events = await stream.rest();
    expect(events.at(-1)?.data.result.isError).toBe(true);
    expect(events).toHaveLength(2);
  });
});
