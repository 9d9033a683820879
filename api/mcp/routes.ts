import { z } from 'zod';
import { oneOf, text, uuid } from '../http/fields.js';
import { empty } from '../http/reply.js';
import { type Route, route } from '../http/route.js';
import { allowOfGet, checkMcp, corsHeaders, protocolVersions } from './headers.js';
import { post } from './post.js';
import { endSession, resumeStream } from './resume.js';

const message = z
  .looseObject({ jsonrpc: z.literal('2.0').meta({ description: 'The version of JSON-RPC.' }) })
  .meta({ id: 'JsonRpcMessage', description: 'A message of JSON-RPC.' });
const toolsAsk = 'Each tool then needs what the call needs that it makes.';
const messages = z
  .union([message, z.array(message)])
  .meta({ id: 'JsonRpc', description: 'A message of JSON-RPC, or a batch of them.' });

const ofSession = { 'Mcp-Session-Id': uuid('The session, as the answer to `initialize` named it.') };
const ofVersion = {
  'Mcp-Protocol-Version': oneOf(protocolVersions, "The session's version of MCP.").optional(),
};
const ofStream = {
  'Last-Event-Id': text('The last event that arrived: the stream goes on after it.', { pattern: '^[0-9a-f-]{36}:[0-9]{1,9}$' }),
};

/**
 * MCP over streamable HTTP (mcp.md). Our own protocol layer: the one of `@modelcontextprotocol/server` keeps sessions, open calls and questions to the
 * client in the memory of one process, and its order of checks and its errors are not those of our API. Its client is what our tests call with.
 */
export function mcpRoutes(routes: () => readonly Route[], { commentMs }: { commentMs: number }): Route[] {
  const shared = {
    path: '/mcp',
    tag: 'mcp',
    headersFor: corsHeaders,
    checkOn: checkMcp,
  } as const;
  const errors = ['mcp.not_found', 'auth.forbidden', 'mcp_session.not_found', 'validation.failed'] as const;
  return [
    route({
      ...shared,
      operationId: 'postMcp',
      method: 'post',
      summary: 'Send a message of MCP',
      description:
        'It is answered as JSON, or in a session as a stream of events. The answer to `initialize` has the header `Mcp-Session-Id`; send it with each later message of the session.',
      accessRule: toolsAsk,
      access: 'authenticated',
      documentedHeaders: z.object({ ...ofSession, ...ofVersion }).partial(),
      rawJson: messages,
      status: 200,
      alsoEmpty: { 202: 'A notification or a response of the client was taken; it has no answer.' },
      response: messages,
      mediaTypes: ['application/json', 'text/event-stream'],
      errors: [...errors, 'validation.not_acceptable', 'mcp.conflict'],
      longPoll: 'mcp',
      handle: (call, services) => post(call, services, { routes, commentMs }),
    }),
    route({
      ...shared,
      operationId: 'resumeMcpStream',
      method: 'get',
      summary: 'Resume an MCP stream',
      access: 'authenticated',
      documentedHeaders: z.object({ ...ofSession, ...ofStream, ...ofVersion }),
      status: 200,
      response: z.string(),
      mediaTypes: ['text/event-stream'],
      errors: [...errors, 'validation.not_acceptable', 'route.method_not_allowed', 'mcp_stream.not_found'],
      longPoll: 'mcp',
      headersFor: (services, request) => ({ ...corsHeaders(services, request), ...allowOfGet(request) }),
      handle: (call, services) => resumeStream(call, services, commentMs),
    }),
    route({
      ...shared,
      operationId: 'endMcpSession',
      method: 'delete',
      summary: 'End an MCP session',
      access: 'authenticated',
      documentedHeaders: z.object(ofSession),
      status: 200,
      response: z.string(),
      mediaTypes: [],
      errors,
      handle: endSession,
    }),
    route({
      ...shared,
      operationId: 'allowMcpOrigin',
      method: 'options',
      summary: 'Tell a browser which pages may call /mcp',
      access: 'public',
      status: 204,
      response: z.undefined(),
      errors: ['mcp.not_found', 'auth.forbidden'],
      handle: () => empty(204),
    }),
  ];
}
