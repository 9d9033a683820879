import { expect, it } from 'vitest';
import type { McpContext } from '../../api/mcp/context.js';
import { resume } from '../../api/mcp/tools/wait-request.js';

function contextOf(signal: AbortSignal) {
  const asked: [operation: string, body: unknown][] = [];
  const invoke = async ({ operationId }: { operationId: string }, { body }: { body: unknown }) => {
    asked.push([operationId, body]);
    return { body: { kind: 'json', chunks: [JSON.stringify({ id: 'r', status: 'dispatched' })] } };
  };
  const routes = () => [{ operationId: 'resumeRequest' }];
  return { asked, context: { signal, session: null, routes, call: { invoke } } as unknown as McpContext };
}

it('a call that was cancelled while it waited starts nothing, although its request was approved at that moment (MC-13)', async () => {
  const cancelled = new AbortController();
  const { asked, context } = contextOf(cancelled.signal);
  await resume(context, 'r', 0).catch(() => {});
  expect(asked).toHaveLength(1);
  cancelled.abort();
  await resume(context, 'r', 0);
  expect(asked).toHaveLength(1);
});

it('a call that waited starts what it has seen approved, and nothing that somebody else has started since (RQ-88)', async () => {
  const { asked, context } = contextOf(new AbortController().signal);
  await resume(context, 'r', 4).catch(() => {});
  expect(asked).toEqual([['resumeRequest', { expected_fence: 4 }]]);
});
