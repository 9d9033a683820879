import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { TestApi } from '../support/api.js';
import { share } from '../support/share.js';
import { ownerAndApprover, startCallsOnTwo } from './calls-api.js';
import type { GatewayCalls } from './gateway-calls.js';
import { type McpHeaders, mcpCalls } from './mcp-calls.js';
import { patiently } from './mcp-patient.js';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 120_000 });

const sessions = share(6, 16);
const callsOfSession = 50;
/** Fifty calls at once: of more, a busy machine answers many with 503, and their repetition takes most of the time. */
const sessionsAtOnce = 5;
/** Ids in use at a time; each is used again once it is free. */
const ids = ['1', '"1"', '2', '"x"', '-3', '4.5', '"\\u2028"', '8', '9', '10'].map((text) => JSON.parse(text) as string | number);

let api: TestApi;
let other: TestApi;
let calls: GatewayCalls;
let close: () => Promise<void>;
let tokens: Record<'owner' | 'approver', string>;
beforeAll(async () => {
  ({ api, other, calls, tokens, close } = await startCallsOnTwo(ownerAndApprover, ['shop/production']));
});
afterAll(() => close?.());

/** What a call asks for by its number, so that an answer to another call is seen. */
const prompt = (of: string) => ({ method: 'prompts/get', params: { name: 'draft_migration', arguments: { description: of } } });

describe(`${sessions} sessions with ${callsOfSession} calls each, on two servers`, () => {
  it('each call gets its own answer, once, though ids are used again (MC-I1)', async () => {
    const servers = [mcpCalls(api, tokens.owner), mcpCalls(other, tokens.owner)];
    /** One line of calls under one id, each through another server, as JSON and as a stream in turns. */
    const line = async (session: McpHeaders, id: string | number, rounds: number, name: string) => {
      for (let round = 0; round < rounds; round += 1) {
        const mcp = servers[round % 2]!;
        const of = `${name} ${id} ${round}`;
        const answers = await patiently(mcp, session, { id, ...prompt(of) }, round % 3 === 0);
        expect(answers.map((answer) => answer.id)).toEqual([id]);
        expect(answers[0]).toHaveProperty('result');
        expect(JSON.stringify(answers[0].result.messages)).toContain(JSON.stringify(JSON.stringify(of)).slice(1, -1));
      }
    };
    const opened: McpHeaders[] = [];
    for (let n = 0; n < sessions; n += 1) opened.push(await servers[n % 2]!.open());
    // All have come to their end before one fails the test, so that the next one has the servers to itself.
    const settled: PromiseSettledResult<void>[] = [];
    const rest = opened.entries();
    const callsOfSome = async () => {
      for (const [n, session] of rest) {
        const lines = ids.map((id) => line(session, id, callsOfSession / ids.length, `session ${n}`));
        settled.push(...(await Promise.allSettled(lines)));
      }
    };
    await Promise.all(Array.from({ length: sessionsAtOnce }, callsOfSome));
    expect(settled).toHaveLength(sessions * ids.length);
    expect(settled.filter(({ status }) => status === 'rejected')).toEqual([]);
    expect(await calls.sql('select 1 from mcp_calls where ended_at is null')).toEqual([]);
    const kept = await calls.sql<{ n: number }>(
      'select max(n) as n from (select count(*) as n from mcp_calls group by session_id) as c',
    );
    expect(kept[0]?.n).toBeLessThanOrEqual(50);
    const ended = await Promise.all(opened.map((headers) => other.call('DELETE', '/mcp', { token: tokens.owner, headers })));
    expect(ended.every(({ status }) => status === 200)).toBe(true);
  });

  it('of calls that have one id at the same time, one is answered and the others are 409', async () => {
    const servers = [mcpCalls(api, tokens.owner), mcpCalls(other, tokens.owner)];
    const session = await servers[0]!.open();
    const id = await calls.created(tokens.owner);
    const wait = { name: 'svc_wait_request', arguments: { request_id: id, include_result: false } };
    const message = { jsonrpc: '2.0', id: 'same', method: 'tools/call', params: wait };
    const all = Array.from({ length: 20 }, (_, n) => servers[n % 2]!.post(message, session));
    const settled: number[] = [];
    for (const one of all) void one.then(({ status }) => settled.push(status));
    await expect.poll(() => settled.length).toBe(19);
    expect(settled).toEqual(Array(19).fill(409));
    await calls.act(tokens.approver, id, 'reject');
    const answers = await Promise.all(all);
    expect(answers.filter(({ status }) => status === 200).map(({ body }) => body.id)).toEqual(['same']);
    // The id is free again.
    expect((await servers[1]!.post({ jsonrpc: '2.0', id: 'same', method: 'ping' }, session)).body.result).toEqual({});
  });
});
