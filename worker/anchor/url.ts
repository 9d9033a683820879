import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import type { Anchor, AnchorOutcome } from '../../activities/anchor.js';
import { stopAfter } from '../../lib/deadline.js';
import { connectGuarded, systemNetwork } from '../../runtime/guarded-connect.js';
import { failed, maxAnswerBytes } from './outcome.js';

export interface UrlOptions {
  url: string;
  token: string | null;
  timeoutMs: number;
}

/** Posts the note. A status of 200 to 299 means that it is anchored; redirects are not followed (AU-91). */
export function urlAnchor({ url, token, timeoutMs }: UrlOptions): Anchor {
  const address = new URL(url);
  return async (note, signal) => {
    const over = new AbortController();
    const stop = () => over.abort();
    const outcome = await stopAfter(timeoutMs, stop, () => give(address, token, note, over.signal), signal);
    if (outcome.kind === 'anchored' || !over.signal.aborted) return outcome;
    return failed(signal.aborted ? 'stopped' : 'timeout');
  };
}

/** An operator may name a host of the own network, but no link-local or metadata address, also where a name resolves to one. */
async function give(address: URL, token: string | null, note: string, signal: AbortSignal): Promise<AnchorOutcome> {
  if (signal.aborted) return failed('stopped');
  const socket = await connectGuarded(address, { allowPrivateNetworks: true, network: systemNetwork, signal });
  if (typeof socket === 'string') return failed(socket.replaceAll(' ', '_'));
  return await post(socket, address, { token, note, signal }).finally(() => socket.destroy());
}

function post(
  socket: Socket,
  { pathname, search, host }: URL,
  { token, note, signal }: { token: string | null; note: string; signal: AbortSignal },
): Promise<AnchorOutcome> {
  const headers = {
    host,
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(note),
    // The bytes of the answer are kept as they come.
    'accept-encoding': 'identity',
    'user-agent': 'svc',
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
  };
  return new Promise((resolve) => {
    const sent = request({ method: 'POST', path: `${pathname}${search}`, headers, createConnection: () => socket });
    sent.on('error', (error) => resolve(failed(reasonOf(error))));
    sent.on('response', (response) => void outcomeOf(response).then(resolve));
    // Without this, an answer of 101 ends the call without any event.
    sent.on('upgrade', () => resolve(failed('status_101')));
    signal.addEventListener('abort', () => sent.destroy(), { once: true });
    sent.end(note);
  });
}

async function outcomeOf(response: IncomingMessage): Promise<AnchorOutcome> {
  const status = response.statusCode ?? 0;
  if (status < 200 || status > 299) return failed(`status_${status}`);
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of response as AsyncIterable<Buffer>) {
      parts.push(part.subarray(0, maxAnswerBytes - bytes));
      bytes += part.length;
      if (bytes > maxAnswerBytes) break;
    }
  } catch {
    return failed('answer_broke_off');
  }
  return { kind: 'anchored', answer: new Uint8Array(Buffer.concat(parts)), isTruncated: bytes > maxAnswerBytes };
}

/** A code of Node, such as `econnreset`; never a text, which may hold the address. */
function reasonOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  return code !== undefined && /^[A-Z0-9_]+$/.test(code) ? code.toLowerCase() : 'no_answer';
}
