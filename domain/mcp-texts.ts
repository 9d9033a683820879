/** The response to a call whose process died (MC-24). `id` is JSON text. */
export const interruptedText = (id: string): string =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":-32603,"message":"interrupted; check the request before calling again","data":{"code":"internal","hint":null}}}`;
