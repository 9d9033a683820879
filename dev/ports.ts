import { createServer } from 'node:net';

/** The default ports of the API, the Temporal UI and the identity provider (DV-5). */
export const usualPorts = { api: 3000, ui: 8233, oidc: 8234 };

/** Below the ports that systems give to outgoing connections, one of which could take a free port before its program listens. */
const [lowest, highest] = [15_000, 32_000];

/** A TCP port of the loopback address that is free now. */
export async function freePort(): Promise<number> {
  for (let left = 100; left > 0; left -= 1) {
    const port = await tryPort(lowest + Math.floor(Math.random() * (highest - lowest)));
    if (port !== null) return port;
  }
  throw new Error('no free port on 127.0.0.1');
}

/** The port in an environment variable, else the usual one; throws, with advice, when it is taken or invalid. */
export async function requirePort(variable: string, usual: number): Promise<number> {
  const text = process.env[variable] || String(usual);
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw new Error(`${variable}: ${text} is not a port number`);
  if ((await tryPort(port)) === null) throw new Error(`port ${port} is in use; try ${variable}=${port + 10} npm start`);
  return port;
}

function tryPort(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(null));
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(address !== null && typeof address === 'object' ? address.port : null));
    });
  });
}
