import { Agent, request } from 'node:http';

/** Longer than the longest wait that a bench asks for. */
const callWaitMs = 130_000;

export interface Answer {
  status: number;
  /** The parsed body: benches read few fields of many shapes. */
  body: ReturnType<typeof JSON.parse>;
}

/** One user's calls over connections that are kept alive. */
export interface Caller {
  call(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer>;
  close(): void;
}

export function createCaller(serverUrl: string, token: string): Caller {
  const url = new URL(serverUrl);
  const agent = new Agent({ keepAlive: true, maxSockets: 4096 });
  const base = { agent, host: '127.0.0.1', port: url.port, timeout: callWaitMs };
  const call: Caller['call'] = (method, path, body) =>
    new Promise((resolve, reject) => {
      const text = body === undefined ? '' : JSON.stringify(body);
      const headers = {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      };
      const sent = request({ ...base, method, path, headers }, (response) => {
        let answer = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
        response.once('end', () =>
          resolve({ status: response.statusCode ?? 0, body: answer === '' ? null : JSON.parse(answer) }),
        );
        response.once('error', reject);
      });
      sent.once('timeout', () => sent.destroy(new Error(`${method} ${path}: no answer within ${callWaitMs} ms`)));
      sent.once('error', reject);
      sent.end(text);
    });
  return { call, close: () => agent.destroy() };
}

/** The body of an answer with the expected status; throws what came instead. */
export async function expectStatus(status: number, answer: Promise<Answer>) {
  const { status: got, body } = await answer;
  if (got !== status) throw new Error(`expected ${status}, got ${got}: ${JSON.stringify(body)}`);
  return body;
}
