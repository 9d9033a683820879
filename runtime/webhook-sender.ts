import { request as startRequest, validateHeaderName, validateHeaderValue } from 'node:http';
import type { Socket } from 'node:net';
import { ATTEMPT_MS } from '../domain/notifications/attempt.js';
import { stopAfter } from '../lib/deadline.js';
import { type ConnectFailure, connectGuarded, type Network, systemNetwork } from './guarded-connect.js';

export interface WebhookRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  allowPrivateNetworks: boolean;
  /** Ends the attempt. The result of an aborted attempt says nothing about the receiver. */
  signal?: AbortSignal;
}

/** How an attempt ended. `error` is a short class, which reveals nothing of the URL or the answer (NT-53). */
export type Attempt =
  | { delivered: true; status: number }
  | { delivered: false; error: `status ${number}` | ConnectFailure; status: number | null; retryAfter: string | null };

interface SenderOptions {
  network?: Network;
  timeoutMs?: number;
}

const maxAnswerBytes = 65_536;
/** A date takes 29 characters. A longer text is not one. */
const maxRetryAfter = 64;

/**
 * Makes one attempt: one POST on a connection of its own, without proxy or redirect (NT-30). Never rejects. The status decides whether it was
 * delivered, once the headers of the answer are complete: a body that never ends or breaks off changes nothing. Node's own client is used. It follows
 * nothing, decompresses nothing, and takes a socket that was opened and checked before, so that no pool or proxy can come between the check and the
 * request.
 */
export async function sendWebhook(request: WebhookRequest, options: SenderOptions = {}): Promise<Attempt> {
  const { network = systemNetwork, timeoutMs = ATTEMPT_MS } = options;
  const over = new AbortController();
  const attempt = await stopAfter(
    timeoutMs,
    () => over.abort(),
    () => send(request, network, over.signal),
    request.signal,
  ).catch(() => failed('network error'));
  const isLate = over.signal.aborted && request.signal?.aborted !== true;
  return isLate && !attempt.delivered && attempt.status === null ? failed('timeout') : attempt;
}

const failed = (error: ConnectFailure): Attempt => ({ delivered: false, error, status: null, retryAfter: null });

async function send(request: WebhookRequest, network: Network, signal: AbortSignal): Promise<Attempt> {
  const { allowPrivateNetworks, headers } = request;
  const url = URL.canParse(request.url) ? new URL(request.url) : null;
  if (url === null || !isAddress(url)) return failed('address not allowed');
  for (const [name, value] of Object.entries(headers)) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  }
  const socket = await connectGuarded(url, { allowPrivateNetworks, network, signal });
  if (typeof socket === 'string') return failed(socket);
  return await exchange(socket, url, request, signal).finally(() => socket.destroy());
}

/** NT-40. The file was checked for this, but nothing may be sent to a wrong address all the same. */
const isAddress = ({ protocol, username, password, hash }: URL) =>
  /^https?:$/.test(protocol) && username === '' && password === '' && hash === '';

/** Sends the request and reads the answer, until its end or its limit or the abort. */
function exchange(socket: Socket, url: URL, { headers, body }: WebhookRequest, signal: AbortSignal): Promise<Attempt> {
  return new Promise((resolve) => {
    let attempt = failed('network error');
    const request = startRequest({
      method: 'POST',
      path: `${url.pathname}${url.search}`,
      headers: { ...headers, host: url.host, 'content-length': Buffer.byteLength(body) },
      createConnection: () => socket,
    });
    const end = () => {
      signal.removeEventListener('abort', end);
      request.destroy();
      resolve(attempt);
    };
    request.on('response', (answer) => {
      attempt = attemptOf(answer.statusCode ?? 0, answer.headers['retry-after']);
      let bytes = 0;
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes >= maxAnswerBytes) end();
      });
      answer.on('end', end).on('error', end);
    });
    request.on('upgrade', () => {
      attempt = attemptOf(101);
      end();
    });
    request.on('error', (error) => {
      if (isTlsError(error) && attempt.status === null) attempt = failed('tls error');
      end();
    });
    request.on('close', end);
    signal.addEventListener('abort', end, { once: true });
    request.end(body);
    if (signal.aborted) end();
  });
}

/** TLS 1.3 tells after the handshake that a client's certificate is missing. */
const isTlsError = (error: Error) => 'code' in error && String(error.code).startsWith('ERR_SSL_');

function attemptOf(status: number, retryAfter = ''): Attempt {
  if (status >= 200 && status < 300) return { delivered: true, status };
  const isKept = retryAfter !== '' && retryAfter.length <= maxRetryAfter;
  return { delivered: false, error: `status ${status}`, status, retryAfter: isKept ? retryAfter : null };
}
