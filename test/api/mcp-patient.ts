import { sleep } from '../../lib/sleep.js';
import type { Loose } from '../support/api.js';
import type { McpCalls, McpHeaders, SseEvent } from './mcp-calls.js';

const pauseMs = 200;

/** The answers to a message, for a client that retries when the server has no room, and resumes a stream that broke. */
export async function patiently(mcp: McpCalls, session: McpHeaders, message: object, asJson: boolean): Promise<Loose[]> {
  let refused = false;
  for (;;) {
    const { status, answers } = await (asJson ? once : streamed)(mcp, session, message).catch(orBroken);
    const busy = status === 503 || answers.some(({ error }) => error?.data.code === 'service.unavailable');
    // A call that was refused in its middle may hold its id for a moment.
    const held = refused && status === 409;
    if (!busy && !held) {
      if (status !== 200) throw new Error(`a call is answered ${status}`);
      return answers;
    }
    refused = true;
    await sleep(pauseMs);
  }
}

/** A connection that broke before anything was answered. Other failures are the test's. */
function orBroken(error: unknown): { status: number; answers: Loose[] } {
  if (error instanceof TypeError && error.message === 'fetch failed') return { status: 503, answers: [] };
  throw error;
}

async function once(mcp: McpCalls, session: McpHeaders, message: object): Promise<{ status: number; answers: Loose[] }> {
  const { status, body } = await mcp.post({ jsonrpc: '2.0', ...message }, session);
  return { status, answers: status === 200 ? [body] : [] };
}

async function streamed(mcp: McpCalls, session: McpHeaders, message: object): Promise<{ status: number; answers: Loose[] }> {
  const stream = await mcp.stream(message, session);
  if (stream.status !== 200) {
    await stream.leave();
    return { status: stream.status, answers: [] };
  }
  const events: SseEvent[] = [];
  const read = async (next: () => Promise<SseEvent | null>) => {
    for (let event = await next(); event !== null; event = await next()) events.push(event);
  };
  await read(stream.next).catch(() => {});
  while (events.at(-1)?.data?.id === undefined) {
    const last = events.at(-1);
    // Nothing has come, not even the number that opens the stream: there is nothing to go on from.
    if (last === undefined) return { status: 503, answers: [] };
    await sleep(pauseMs);
    const resumed = await mcp.resume(last.id, session).catch(() => null);
    if (resumed === null) continue;
    if (resumed.status === 200) await read(resumed.next).catch(() => {});
    else if (resumed.status === 503) await resumed.leave();
    else throw new Error(`the stream is not resumed: ${resumed.status}`);
  }
  return { status: 200, answers: events.flatMap(({ data }) => (data === null ? [] : [data])) };
}
