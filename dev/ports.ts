import { connect, createServer, type Server, type Socket } from 'node:net';

/** The default ports of the API, the Temporal UI and the identity provider (DV-5). */
export const usualPorts = { api: 3000, ui: 8233, oidc: 8234 };

/** The address as people open it. What this start sends tokens to is 127.0.0.1, for no other name is sure to mean it. */
export const underLocalhost = (url: string): string => url.replace('//127.0.0.1:', '//localhost:');

/** Below the ports that systems give to outgoing connections, one of which could take a free port before its program listens. */
const [lowest, highest] = [15_000, 32_000];

/** A TCP port of the loopback addresses that is free now. */
export async function freePort(): Promise<number> {
  for (let left = 100; left > 0; left -= 1) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest));
    if (await isFree(port)) return port;
  }
  throw new Error('no free port on 127.0.0.1');
}

/** The port in an environment variable, else the usual one; throws, with advice, when it is taken, one of `others`, or invalid. */
export async function requirePort(variable: string, usual: number, others: readonly number[] = []): Promise<number> {
  const text = process.env[variable] || String(usual);
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw new Error(`${variable}: ${text} is not a port number`);
  if (others.includes(port) || !(await isFree(port)))
    throw new Error(`port ${port} is in use; try ${variable}=${port + 10} npm start`);
  return port;
}

/** Of ::1, at once. */
const maxCallers = 500;

/**
 * Takes the port of ::1 too and passes its connections on to 127.0.0.1, where the gateway listens. `localhost` may mean either
 * address, and whoever else listened on ::1 would be sent tokens. Returns what ends it.
 */
export async function coverIpv6(port: number): Promise<() => void> {
  const callers = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (caller) => {
    callers.add(caller);
    const gateway = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    gateway.on('error', () => caller.resetAndDestroy());
    caller
      .on('error', () => {})
      .once('close', () => {
        callers.delete(caller);
        gateway.destroy();
      });
    caller.pipe(gateway).pipe(caller);
  });
  server.maxConnections = maxCallers;
  const failure = await listen(server, port, '::1');
  if (failure === 'EADDRINUSE') throw new Error(`port ${port} of ::1 is in use`);
  return () => {
    if (failure === null) server.close();
    for (const caller of callers) caller.destroy();
  };
}

/** Whether nobody listens on the port of 127.0.0.1, nor of ::1, which `localhost` may mean as well. A machine may have no ::1. */
async function isFree(port: number): Promise<boolean> {
  return (await failureOf(port, '127.0.0.1')) === null && (await failureOf(port, '::1')) !== 'EADDRINUSE';
}

async function failureOf(port: number, host: string): Promise<string | null> {
  const server = createServer();
  const failure = await listen(server, port, host);
  if (failure === null) await new Promise((resolve) => server.close(resolve));
  return failure;
}

/** Resolves with the code of the error, or null. */
function listen(server: Server, port: number, host: string): Promise<string | null> {
  return new Promise((resolve) => {
    server.once('error', ({ code = '' }: NodeJS.ErrnoException) => resolve(code));
    server.listen(port, host, () => resolve(null));
  });
}
