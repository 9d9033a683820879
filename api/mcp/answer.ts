import { GatewayError, refusal } from '../../domain/errors.js';
import { errorText, resultText } from '../../domain/json-rpc.js';
import { isRecord } from '../../lib/record.js';
import { errorBody } from '../../runtime/http-errors.js';
import type { McpContext } from './context.js';
import { elicitReason } from './elicit.js';
import { type Flight, send } from './flight.js';
import { perform } from './methods.js';
import { RpcError, type RpcId, type RpcRequest, rpcErrorOf } from './rpc.js';

/** What a call has besides the context: one without a session has neither progress nor questions (MC-12). */
export type BareContext = Omit<McpContext, 'progress' | 'askReason'>;

/** The response to a request of JSON-RPC, whatever happens. */
export async function answer(bare: BareContext, request: RpcRequest, flight: Flight | null): Promise<string> {
  const context = { ...bare, ...talk(bare, request, flight) };
  try {
    return resultText(request.id, await perform(context, request));
  } catch (error) {
    return failure(bare, request.id, error);
  }
}

/** An error response, which the metric counts. */
export function failure({ services, call }: Pick<BareContext, 'services' | 'call'>, id: RpcId | null, error: unknown): string {
  const told =
    error instanceof RpcError ? error : rpcErrorOf(error instanceof GatewayError ? error : unexpected(services, call, error));
  services.metrics.mcpErrors.inc({ code: String(told.rpcCode) });
  const { error: message, hint } = errorBody({ code: told.code, message: told.message, hint: told.hint, reason: null });
  return errorText(id, { ...told, message, hint });
}

function unexpected({ log }: BareContext['services'], { callId }: BareContext['call'], error: unknown): GatewayError {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  log.error({ call_id: callId, path: '/mcp', error: message, stack }, 'unexpected error');
  return refusal('internal', 'internal server error', `request id ${callId}`);
}

const silent = { progress: async () => {}, askReason: async () => null };

function talk(
  { services, call, session }: BareContext,
  { params }: RpcRequest,
  flight: Flight | null,
): Pick<McpContext, 'progress' | 'askReason'> {
  if (flight === null || session === null) return silent;
  const token = progressToken(params);
  const asks = session.elicits && session.active;
  return {
    progress: token === null ? silent.progress : progressTo({ services, flight, token }),
    askReason: asks ? () => elicitReason(services, call, flight) : silent.askReason,
  };
}

const maxTokenLength = 200;

/** The client's name for the progress of a call, as JSON text. */
function progressToken({ _meta: meta }: Record<string, unknown>): string | null {
  const token = isRecord(meta) ? meta.progressToken : undefined;
  if (typeof token === 'string' && token.length <= maxTokenLength) return JSON.stringify(token);
  return Number.isSafeInteger(token) ? String(token) : null;
}

function progressTo({ services, flight, token }: { services: McpContext['services']; flight: Flight; token: string }) {
  let done = 0;
  return async (message: string) => {
    done += 1;
    const params = `{"progressToken":${token},"progress":${done},"message":${JSON.stringify(message)}}`;
    await send(services, flight, `{"jsonrpc":"2.0","method":"notifications/progress","params":${params}}`);
  };
}
