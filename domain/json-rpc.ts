/** Codes of JSON-RPC errors (MC-5). */
export const rpcCodes = {
  parse: -32700,
  invalidRequest: -32600,
  unknownMethod: -32601,
  badParams: -32602,
  notVisible: -32002,
  internal: -32603,
} as const;

export interface RpcProblem {
  rpcCode: number;
  message: string;
  code: string;
  hint: string | null;
}

/** `id` is JSON text, so that `1` and `"1"` differ. */
export const resultText = (id: string, result: object): string =>
  `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`;

/** `id` is left out if it could not be read. */
export function errorText(id: string | null, { rpcCode, message, code, hint }: RpcProblem): string {
  const error = JSON.stringify({ code: rpcCode, message, data: { code, hint } });
  return id === null ? `{"jsonrpc":"2.0","error":${error}}` : `{"jsonrpc":"2.0","id":${id},"error":${error}}`;
}
