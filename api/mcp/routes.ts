import { z } from 'zod';
import type { Services } from '../context.js';
import { empty } from '../http/reply.js';
import { type Route, route } from '../http/route.js';
import { checkMcp, corsHeaders } from './headers.js';
import { post } from './post.js';
import { endSession, resumeStream } from './resume.js';

/**
 * MCP over streamable HTTP (mcp.md). Our own protocol layer: the one of `@modelcontextprotocol/server` keeps sessions, open calls and questions to the
 * client in the memory of one process, and its order of checks and its errors are not those of our API. Its client is what our tests call with.
 */
export function mcpRoutes(routes: () => readonly Route[], { commentMs }: { commentMs: number }): Route[] {
  const shared = {
    path: '/mcp',
    tag: 'mcp',
    headersFor: (services: Services, request: Parameters<typeof corsHeaders>[1]) => corsHeaders(services, request),
    checkOn: checkMcp,
  } as const;
  const errors = ['mcp.not_found', 'auth.forbidden', 'mcp_session.not_found', 'validation.failed'] as const;
  const message = z.looseObject({ jsonrpc: z.literal('2.0') });
  return [
    route({
      ...shared,
      operationId: 'postMcp',
      method: 'post',
      summary: 'For MCP clients: one message of JSON-RPC, or a batch; answered as JSON, or in a session as a stream of events',
      access: 'authenticated',
      rawJson: z.union([message, z.array(message)]),
      status: 200,
      alsoStatuses: [202],
      response: z.union([message, z.array(message)]),
      errors: [...errors, 'validation.not_acceptable', 'mcp.conflict'],
      longPoll: 'mcp',
      handle: (call, services) => post(call, services, { routes, commentMs }),
    }),
    route({
      ...shared,
      operationId: 'resumeMcpStream',
      method: 'get',
      summary: 'For MCP clients: go on with a stream after the event named by last-event-id',
      access: 'authenticated',
      status: 200,
      response: z.string().meta({ description: 'not JSON' }),
      errors: [...errors, 'validation.not_acceptable', 'route.method_not_allowed', 'mcp_stream.not_found'],
      longPoll: 'mcp',
      handle: (call, services) => resumeStream(call, services, commentMs),
    }),
    route({
      ...shared,
      operationId: 'endMcpSession',
      method: 'delete',
      summary: 'For MCP clients: end a session',
      access: 'authenticated',
      status: 200,
      response: z.string().meta({ description: 'not JSON' }),
      errors,
      handle: endSession,
    }),
    route({
      ...shared,
      operationId: 'allowMcpOrigin',
      method: 'options',
      summary: 'For browsers: which pages may call /mcp',
      access: 'public',
      status: 204,
      response: z.undefined(),
      errors: ['mcp.not_found', 'auth.forbidden'],
      handle: () => empty(204),
    }),
  ];
}
