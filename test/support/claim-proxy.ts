import * as http from 'node:http';
import type { AddressInfo } from 'node:net';

export type ClaimBody = Record<string, unknown> & { execution_token: string; request_id: string; detail: string };

/** Stands between an agent and a real gateway, passes everything on, and can change the answer to a claim. */
export interface ClaimProxy {
  url: string;
  /** Every claim answer as the gateway gave it, by a poll or a call of its own, oldest first. */
  claims: ClaimBody[];
  /** Paths of all calls, oldest first. */
  paths: string[];
  /** What the agent gets instead; null passes the bytes of the gateway on. */
  onClaim: ((claim: ClaimBody) => unknown) | null;
  /** The same for every other answer with status 200: to a poll, after its claims, to the claim of an EXPLAIN job, the public keys. */
  onAnswer: ((path: string, body: Record<string, unknown>) => unknown) | null;
  close(): Promise<void>;
}

export async function startClaimProxy(gatewayUrl: string): Promise<ClaimProxy> {
  const server = http.createServer((request, response) => {
    proxy.paths.push(request.url ?? '');
    const { method, headers } = request;
    const upstream = http.request(`${gatewayUrl}${request.url}`, { method, headers }, (answer) => {
      const isClaim = /^\/api\/agent\/jobs\/[^/]+\/claim$/.test(request.url ?? '') && answer.statusCode === 200;
      if (isClaim) changeClaim(answer, response).catch(() => response.destroy());
      else if ((proxy.onAnswer !== null || request.url === '/api/agent/poll') && answer.statusCode === 200)
        changeAnswer(request.url ?? '', answer, response).catch(() => response.destroy());
      else answer.pipe(response.writeHead(answer.statusCode ?? 502, answer.headers));
    });
    upstream.on('error', () => response.destroy());
    response.on('close', () => upstream.destroy());
    request.pipe(upstream);
  });
  const noted = async (claim: ClaimBody): Promise<unknown> => {
    proxy.claims.push(claim);
    return proxy.onClaim === null ? claim : await proxy.onClaim(claim);
  };
  const changeClaim = async (answer: http.IncomingMessage, response: http.ServerResponse) => {
    let text = '';
    for await (const chunk of answer.setEncoding('utf8')) text += chunk;
    const claim = JSON.parse(text) as ClaimBody;
    const changed = await noted(claim);
    const given = changed === claim ? text : JSON.stringify(changed);
    response.writeHead(200, { 'content-type': 'application/json' }).end(given);
  };
  const changeAnswer = async (path: string, answer: http.IncomingMessage, response: http.ServerResponse) => {
    let text = '';
    for await (const chunk of answer.setEncoding('utf8')) text += chunk;
    const body = JSON.parse(text);
    if (body.claims?.length > 0) body.claims = await Promise.all(body.claims.map(noted));
    const given = proxy.onAnswer === null ? body : await proxy.onAnswer(path, body);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(given));
  };
  const proxy: ClaimProxy = {
    url: '',
    claims: [],
    paths: [],
    onClaim: null,
    onAnswer: null,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return proxy;
}
