import { expect, it } from 'vitest';
import type { McpContext } from '../../api/mcp/context.js';
import { resume } from '../../api/mcp/tools/wait-request.js';

it('a call that was cancelled while it waited starts nothing, although its request was approved at that moment (MC-13)', async () => {
  const cancelled = new AbortController();
  const asked: string[] = [];
  const invoke = async ({ operationId }: { operationId: string }) => {
    asked.push(operationId);
    return { body: { kind: 'json', chunks: [JSON.stringify({ id: 'r', status: 'dispatched' })] } };
  };
  const context = {
    signal: cancelled.signal,
    session: null,
    routes: () => [{ operationId: 'resumeRequest' }],
    call: { invoke },
  } as unknown as McpContext;
  await resume(context, 'r').catch(() => {});
  expect(asked).toEqual(['resumeRequest']);
  cancelled.abort();
  await resume(context, 'r');
  expect(asked).toEqual(['resumeRequest']);
});
