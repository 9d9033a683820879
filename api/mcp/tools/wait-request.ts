import { z } from 'zod';
import { GatewayError } from '../../../domain/errors.js';
import { FINAL, type Status } from '../../../domain/request/types.js';
import { outcome as plain } from '../../requests/schemas.js';
import { ask } from '../ask.js';
import type { McpContext } from '../context.js';
import { follow, type ShownRequest } from './follow.js';
import { outcomeOf, outcomeProperties } from './outcome.js';
import { type Tool, textArgument } from './tool.js';

const longestSecs = 300;

export const waitRequest: Tool = {
  name: 'svc_wait_request',
  description:
    'Wait for a request that svc_execute_query or svc_migrate_status made: for its approval, its run and its result. With include_result (the default) an approved request is started, then awaited; ' +
    'with include_result false nothing is started, and the wait ends when the request is approved or over. When the time is up the answer has timed_out true and the present status; call it again.',
  annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: false },
  inputSchema: {
    type: 'object',
    properties: {
      request_id: { type: 'string' },
      timeout: { type: 'integer', minimum: 0, default: 60, description: 'seconds, at most 300' },
      include_result: { type: 'boolean', default: true },
    },
    required: ['request_id'],
  },
  outputSchema: {
    type: 'object',
    properties: { ...outcomeProperties, timed_out: { type: 'boolean' } },
    required: ['request_id', 'status', 'timed_out'],
  },
  async run(context, args) {
    const id = textArgument(args, 'request_id') ?? '';
    const secs = Math.min(z.number().parse(args.timeout), longestSecs);
    const runs = args.include_result !== false;
    const { request, timedOut } = await (runs ? runAndFollow : followOnly)(context, id, secs * 1000);
    const { outcome, sentence } = await outcomeOf(context, request, { approvers: nextApprovers(request) });
    return { structured: { ...outcome, timed_out: timedOut }, sentence };
  },
};

const isDecided = (status: Status) => status === 'approved' || FINAL.has(status);

const followOnly = (context: McpContext, id: string, ms: number) => follow(context, id, { ms, isThere: isDecided });

/** Starts the request once it is approved; refusals to start it are the tool's (MC-42). */
async function runAndFollow(context: McpContext, id: string, ms: number) {
  const deadline = performance.now() + ms;
  const leftMs = () => Math.max(0, deadline - performance.now());
  const decided = await follow(context, id, { ms, isThere: isDecided });
  if (decided.request.status !== 'approved') return decided;
  await resume(context, id, decided.request.fence);
  // A run that nobody took up in time is approved again; one call does not start it twice.
  return follow(context, id, { ms: leftMs(), isThere: isDecided });
}

const startedElsewhere = new Set(['already_dispatched', 'wrong_status']);

/** Starts nothing for a call that was cancelled meanwhile, and what was started elsewhere since it had this fence not again (RQ-88). */
export async function resume(context: McpContext, id: string, fence: number): Promise<void> {
  if (context.signal.aborted) return;
  try {
    await ask(context, 'resumeRequest', { params: { id }, body: { expected_fence: fence } }, plain.plain);
  } catch (error) {
    if (!(error instanceof GatewayError) || !startedElsewhere.has(error.reason ?? '')) throw error;
  }
}

/** Who has to act next. */
function nextApprovers({ approval_progress: progress }: ShownRequest): string[] {
  const step = progress?.steps[progress.current_step];
  return step?.approvers_required.map(({ selector }) => selector) ?? [];
}
