import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Loose } from '../support/api.js';

export interface Names {
  /** The arguments of our tool, prompt or resource that stands for the fixed one of that name; null if none does. */
  tool(name: string): Promise<{ name: string; arguments: object } | null>;
  prompt(name: string, args: Loose): { name: string; arguments: object } | null;
  resource(uri: string): string | null;
}

/**
 * The conformance suite knows no credential, and asks for tools, prompts and resources of fixed names. This stands before the server, sends
 * the credential and says our names for those; all else passes as it is, but for what the comments below name.
 */
export async function startNames(target: string, token: string, names: Names): Promise<{ url: string; close(): void }> {
  const server = createServer(async (given, answer) => {
    const body = await text(given);
    const { message, isCut } =
      given.method === 'POST' ? await translate(JSON.parse(body), names) : { message: null, isCut: false };
    const sent = message === null ? body : JSON.stringify(message);
    const up = request(new URL('/mcp', target), { method: given.method, headers: headersOf(given.headers, token, sent) });
    up.on('response', (back) => {
      answer.writeHead(back.statusCode ?? 500, back.headers);
      if (isCut) back.on('data', (part: Buffer) => cutAfterEvent(answer, part, () => up.destroy()));
      else back.pipe(answer);
    });
    up.on('error', () => answer.end());
    answer.on('close', () => up.destroy());
    up.end(sent);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function headersOf(given: IncomingHttpHeaders, token: string, body: string): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = { ...given, authorization: `Bearer ${token}` };
  if (body !== '') headers['content-length'] = String(Buffer.byteLength(body));
  // Two scenarios send this one whatever version the session has; MC-2 refuses that.
  if (headers['mcp-protocol-version'] === '2025-03-26') delete headers['mcp-protocol-version'];
  return headers;
}

async function translate(message: Loose, names: Names): Promise<{ message: Loose; isCut: boolean }> {
  const { method, params, result } = message;
  const said = (over: object | null) => (over === null ? message : { ...message, params: { ...params, ...over } });
  // The suite's user answers a question for a name; ours asks for a reason.
  const username = result?.content?.username;
  if (username !== undefined) message.result.content = { reason: username };
  if (method === 'prompts/get') return { message: said(names.prompt(params.name, params.arguments)), isCut: false };
  if (method === 'resources/read')
    return { message: { ...message, params: { uri: names.resource(params.uri) ?? params.uri } }, isCut: false };
  if (method !== 'tools/call') return { message, isCut: false };
  const isCut = params.name === 'test_reconnection';
  // Its own tool closes its stream in the middle of a call. Ours speaks there only of progress, which this scenario does not ask for.
  const token = isCut ? { _meta: { progressToken: 'cut' } } : {};
  const tool = await names.tool(params.name);
  return { message: said(tool === null ? null : { ...tool, ...token }), isCut };
}

/** Ends the answer in its middle: behind the first event that says something. */
function cutAfterEvent(answer: ServerResponse, part: Buffer, leave: () => void): void {
  answer.write(part);
  if (!part.includes('data: ')) return;
  answer.end();
  leave();
}
