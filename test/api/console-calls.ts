import { request } from 'node:http';
import type { Loose, TestApi } from '../support/api.js';

export interface RawAnswer {
  status: number;
  /** Lower-case names. */
  headers: Record<string, string | string[] | undefined>;
  bytes: Buffer;
  text: string;
  body: Loose;
}

/** One call with exactly these headers, also those that `fetch` keeps for itself. */
export function rawCall(
  { url }: Pick<TestApi, 'url'>,
  method: string,
  path: string,
  { headers = {}, body }: { headers?: Record<string, string | string[]>; body?: unknown } = {},
): Promise<RawAnswer> {
  const sent = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  const type = sent === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) };
  return new Promise((resolve, reject) => {
    const call = request(`${url}${path}`, { method, headers: { ...type, ...headers }, agent: false }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.once('error', reject);
      response.once('end', () => {
        const bytes = Buffer.concat(parts);
        const text = bytes.toString();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes, text, body: parsed(text) });
      });
    });
    call.once('error', reject);
    call.end(sent);
  });
}

function parsed(text: string): Loose {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** What a browser says of a call from a page of the server itself. */
export const fromOwnPage = { 'sec-fetch-site': 'same-origin' };

/** Signs in, and returns the cookie as a browser would send it back. */
export async function signedIn(api: Pick<TestApi, 'url'>, token: string): Promise<string> {
  const answer = await rawCall(api, 'POST', '/api/console/session', { headers: fromOwnPage, body: { token } });
  if (answer.status !== 204) throw new Error(`sign-in: ${answer.status} ${answer.text}`);
  return cookieOf(answer);
}

export const setCookieOf = ({ headers }: RawAnswer): string => headers['set-cookie']?.[0] ?? '';
export const cookieOf = (answer: RawAnswer): string => setCookieOf(answer).split(';')[0] ?? '';
