import type { ErrorCode, GatewayError } from '../../domain/errors.js';
import { rpcCodes } from '../../domain/json-rpc.js';
import { isRecord } from '../../lib/record.js';

/** The id of a JSON-RPC request as JSON text, so that `1` and `"1"` differ. */
export type RpcId = string;

/** An answer of JSON-RPC that is an error. `data` names an error of our catalogue. */
export class RpcError extends Error {
  readonly rpcCode: number;
  readonly code: ErrorCode;
  readonly hint: string | null;

  constructor(kind: keyof typeof rpcCodes, message: string, { code, hint = null }: { code: ErrorCode; hint?: string | null }) {
    super(message);
    this.name = 'RpcError';
    this.rpcCode = rpcCodes[kind];
    this.code = code;
    this.hint = hint;
  }
}

export const badParams = (message: string, place: string | null) =>
  new RpcError('badParams', message, { code: 'validation.failed', hint: place });
export const invalidRequest = (message: string, hint: string | null = null) =>
  new RpcError('invalidRequest', message, { code: 'validation.failed', hint });

/** What a refusal of ours is where JSON-RPC has no words of its own for it. */
export const rpcErrorOf = ({ code, message, hint }: GatewayError): RpcError => {
  if (code === 'validation.failed') return badParams(message, hint);
  return new RpcError('internal', message, { code, hint });
};

export interface RpcRequest {
  kind: 'request';
  id: RpcId;
  method: string;
  params: Record<string, unknown>;
}

export type RpcMessage =
  | RpcRequest
  | { kind: 'notification'; method: string; params: Record<string, unknown> }
  | { kind: 'response'; id: RpcId; result: unknown; failed: boolean };

/** One message of JSON-RPC. Throws -32600, with its id where it has one that can be answered. */
export function readMessage(value: unknown): RpcMessage {
  if (!isRecord(value)) throw invalidRequest('a message must be an object');
  const { jsonrpc, id, method, params } = value;
  const rpcId = typeof id === 'string' || isExact(id) ? JSON.stringify(id) : null;
  const refuse = (message: string) => new Unanswered(invalidRequest(message), rpcId);
  if (jsonrpc !== '2.0') throw refuse('jsonrpc must be "2.0"');
  if ('id' in value && rpcId === null) throw refuse('id must be a string or a number');
  if (rpcId !== null && Buffer.byteLength(rpcId) > maxIdBytes) throw new Unanswered(invalidRequest('id is too long'), null);
  if (method === undefined) {
    if (rpcId === null) throw refuse('a message must have a method or an id');
    return { kind: 'response', id: rpcId, result: value.result, failed: 'error' in value };
  }
  if (typeof method !== 'string') throw refuse('method must be a string');
  if (rpcId === null) return { kind: 'notification', method, params: isRecord(params) ? params : {} };
  if (params !== undefined && !isRecord(params)) throw new Unanswered(badParams('params must be an object', 'params'), rpcId);
  return { kind: 'request', id: rpcId, method, params: params ?? {} };
}

/** A larger integer was read as another one, so its answer would go to another call. */
const isExact = (id: unknown): id is number =>
  typeof id === 'number' && Number.isFinite(id) && (Number.isSafeInteger(id) || !Number.isInteger(id));

/** Of the JSON text, which an index holds while the call is in flight: PostgreSQL takes 2704 bytes there. A client needs no long ones. */
const maxIdBytes = 1000;

/** A message that got no further than its form; `id` is null if it could not be read. */
export class Unanswered extends Error {
  readonly error: RpcError;
  readonly id: RpcId | null;

  constructor(error: RpcError, id: RpcId | null) {
    super(error.message);
    this.error = error;
    this.id = id;
  }
}
