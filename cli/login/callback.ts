import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { failure } from '../failure.js';

/** The one callback that is ours: its address with code or error, and the browser that waits for an answer. */
export interface Callback {
  address: URL;
  answer(page: keyof typeof pages): Promise<void>;
}

export interface CallbackListener {
  redirectUri: string;
  /** Settles with the callback whose `state` is ours; rejects with the signal's reason. */
  callback: Promise<Callback>;
  close(): void;
}

/** The addresses that are registered at the provider (CL-40). */
const ports = [19_836, 19_837, 19_838, 19_839, 19_840];

/**
 * Listens on 127.0.0.1 for one callback. Whatever else comes, such as one that a stranger's page sends, is refused and changes nothing; `onForged`
 * is told once.
 */
export async function listenForCallback(state: string, signal: AbortSignal, onForged: () => void): Promise<CallbackListener> {
  const server = createServer({
    requestTimeout: 10_000,
    headersTimeout: 10_000,
    connectionsCheckingInterval: 1_000,
    maxHeaderSize: 32_768,
  });
  server.maxConnections = 32;
  const port = await listenOnFirst(server);
  let forged = 0;
  const callback = new Promise<Callback>((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    server.on('request', (request, response) => {
      const address = addressOf(request, port);
      if (address === null) return void answer(response, 404, 'nothing').catch(() => undefined);
      if (!isOurs(address, state)) {
        forged += 1;
        if (forged === 1) onForged();
        return void answer(response, 400, 'forged').catch(() => undefined);
      }
      signal.removeEventListener('abort', onAbort);
      resolve({ address, answer: (page) => answer(response, 200, page).catch(() => undefined) });
    });
  });
  // It is awaited only after the browser was opened.
  callback.catch(() => undefined);
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { redirectUri: `http://127.0.0.1:${port}/callback`, callback, close };
}

async function listenOnFirst(server: Server): Promise<number> {
  for (const port of ports) {
    try {
      server.listen({ port, host: '127.0.0.1', exclusive: true });
      await once(server, 'listening');
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).syscall !== 'listen') throw error;
    }
  }
  throw failure('config_error', `the ports ${ports[0]} to ${ports.at(-1)} of this machine are all in use`, {
    hint: 'end the other logins, or take svc login --device',
  });
}

/** Null for anything that is not a callback. Under another host name, a stranger's page could send a browser here. */
function addressOf({ method, url = '', headers }: IncomingMessage, port: number): URL | null {
  const base = `http://127.0.0.1:${port}`;
  if (method !== 'GET' || headers.host !== `127.0.0.1:${port}` || !url.startsWith('/') || !URL.canParse(base + url)) return null;
  const address = new URL(base + url);
  return address.pathname === '/callback' ? address : null;
}

function isOurs({ searchParams }: URL, state: string): boolean {
  const [given = '', ...more] = searchParams.getAll('state');
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(state)) && more.length === 0;
}

const pages = {
  done: 'You are logged in. This page can be closed.',
  failed: 'The login has failed. The terminal says why.',
  forged: 'This is not the login that svc waits for.',
  nothing: 'Nothing is here.',
};

async function answer(response: ServerResponse, status: number, page: keyof typeof pages): Promise<void> {
  const closed = once(response, 'close');
  response.writeHead(status, {
    connection: 'close',
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  });
  response.end(`<!doctype html><html lang="en"><meta charset="utf-8"><title>svc</title><p>${pages[page]}</p></html>\n`);
  await closed;
}
