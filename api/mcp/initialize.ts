import { resultText } from '../../domain/json-rpc.js';
import { Reply } from '../http/reply.js';
import { type BareContext, failure } from './answer.js';
import { RpcError, type RpcRequest } from './rpc.js';
import { openSession } from './session.js';

const instructions = 'Databases are reached through change requests. Writes may need approval; use svc_wait_request.';

/** `initialize` (MC-11): always a new session, always answered as JSON. */
export async function initialize(context: BareContext, { id, params }: RpcRequest): Promise<Reply> {
  const { services, call } = context;
  try {
    const session = await openSession(services, call.caller, params);
    services.metrics.mcpSessionsCreated.inc();
    const result = {
      protocolVersion: session.protocolVersion,
      capabilities: { tools: {}, resources: {}, prompts: {} },
      serverInfo: { name: 'svc', version: services.version },
      instructions,
    };
    const headers = { 'Mcp-Session-Id': session.id, 'Mcp-Protocol-Version': session.protocolVersion };
    return new Reply(200, { kind: 'json', chunks: [resultText(id, result)] }, headers);
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return new Reply(200, { kind: 'json', chunks: [failure(context, id, error)] });
  }
}
