import { heads, readRequestHeads } from '../../requests/heads.js';
import { ask } from '../ask.js';
import type { McpContext } from '../context.js';
import { reads, type Tool, text } from './tool.js';

const shownFields = ['id', 'operation', 'database', 'environment', 'requester', 'status', 'created_at'] as const;

/** At most 20 requests whose current step the caller can approve, without their SQL. */
export async function pendingRequests(context: McpContext): Promise<{ requests: object[] }> {
  const query = { pending_for_me: 'true', limit: '20' };
  const { requests } = await ask(context, readRequestHeads, { query }, heads);
  return { requests: requests.map((one) => Object.fromEntries(shownFields.map((field) => [field, one[field]]))) };
}

export const listPending: Tool = {
  name: 'svc_list_pending',
  description:
    'List up to 20 requests of other people that the user may approve now. It approves nothing: approving is for the person, with `svc request approve`, Slack or the API. ' +
    'For the state of one request use svc_wait_request with timeout 0 and include_result false.',
  annotations: reads,
  inputSchema: { type: 'object', properties: {} },
  outputSchema: {
    type: 'object',
    properties: {
      requests: {
        type: 'array',
        items: {
          type: 'object',
          properties: Object.fromEntries(shownFields.map((field) => [field, text])),
          required: [...shownFields],
        },
      },
    },
    required: ['requests'],
  },
  run: async (context) => ({ structured: await pendingRequests(context) }),
};
