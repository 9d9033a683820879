import { Agent, type IncomingHttpHeaders, request } from 'node:http';

/** Longer than the longest wait that a bench asks for. */
const callWaitMs = 130_000;

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  /** The parsed body: benches read few fields of many shapes. A body that is not JSON stays a text. */
  body: ReturnType<typeof JSON.parse>;
}

/** One user's calls over connections that are kept alive. */
export interface Caller {
  /** The credential, for calls that are made in another way. */
  headers: Readonly<Record<string, string>>;
  call(method: 'GET' | 'POST', path: string, body?: object, headers?: Record<string, string>): Promise<Answer>;
  close(): void;
}

export function createCaller(serverUrl: string, token: string): Caller {
  const url = new URL(serverUrl);
  const agent = new Agent({ keepAlive: true, maxSockets: 4096 });
  const base = { agent, host: '127.0.0.1', port: url.port, timeout: callWaitMs };
  const credential = { authorization: `Bearer ${token}` };
  const call: Caller['call'] = (method, path, body, more = {}) =>
    new Promise((resolve, reject) => {
      const text = body === undefined ? '' : JSON.stringify(body);
      const headers = {
        ...credential,
        ...more,
        ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      };
      const sent = request({ ...base, method, path, headers }, (response) => {
        let answer = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
        response.once('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: parsed(response.headers, answer) }),
        );
        response.once('error', reject);
      });
      sent.once('timeout', () => sent.destroy(new Error(`${method} ${path}: no answer within ${callWaitMs} ms`)));
      sent.once('error', reject);
      sent.end(text);
    });
  return { headers: credential, call, close: () => agent.destroy() };
}

function parsed({ 'content-type': type = '' }: IncomingHttpHeaders, text: string): Answer['body'] {
  if (text === '') return null;
  return type.startsWith('application/json') ? JSON.parse(text) : text;
}

/** The body of an answer with the expected status; throws any other answer. */
export async function expectStatus(status: number, answer: Promise<Answer>) {
  const { status: got, body } = await answer;
  if (got !== status) throw new Error(`expected ${status}, got ${got}: ${JSON.stringify(body)}`);
  return body;
}
