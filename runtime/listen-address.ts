import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StartError } from './start-error.js';

/**
 * Listens on `host:port` (`[::1]:3000` for IPv6; port 0 = any free one) and returns the port. Throws `StartError` if the address is taken
 * or not ours.
 */
export async function listen(server: Server, address: string): Promise<number> {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  const port = Number(address.slice(colon + 1));
  await new Promise<void>((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => reject(new StartError(`cannot listen on ${address}: ${reason(error)}`));
    server.once('error', onError);
    server.listen({ host, port, backlog: 1024 }, () => {
      server.off('error', onError);
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}

/**
 * Throws `StartError` as `listen` would. A start listens last (OP-50), and must learn before it puts its file in force for all processes that it
 * cannot (CF-I2).
 */
export async function tryListening(address: string): Promise<void> {
  const server = createServer();
  await listen(server, address);
  await new Promise<void>((resolve) => server.close(() => resolve()));
}

function reason(error: NodeJS.ErrnoException): string {
  return error.code === 'EADDRINUSE' ? 'the port is in use' : (error.code ?? 'unknown error');
}
