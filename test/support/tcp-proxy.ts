import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  /** The given address with the proxy in its place. */
  url: string;
  /** Breaks all connections and refuses new ones. */
  cut(): void;
  /** Keeps connections open and passes nothing on. */
  freeze(): void;
  /** Passes nothing on over the present connections any more, like a router that has forgotten them. New ones work. */
  strand(): void;
  /** Works as at first. Frozen connections stay dead. */
  heal(): void;
  /** Breaks all connections; new ones lead to another server from now on. */
  to(target: string): void;
  /** How many connections are open. */
  count(): number;
  close(): Promise<void>;
}

/** Stands between a program and a server, so that a test can take the server away. */
export async function startTcpProxy(target: string): Promise<TcpProxy> {
  let { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  const stranded = new WeakSet<Socket>();
  let mode: 'pass' | 'cut' | 'frozen' = 'pass';
  const breakAll = () => {
    for (const socket of open) socket.destroy();
  };
  const server = createServer((client) => {
    open.add(client);
    client.on('close', () => open.delete(client)).on('error', () => client.destroy());
    if (mode === 'cut') client.destroy();
    if (mode !== 'pass') return;
    const upstream = connect(Number(port), hostname);
    upstream.on('error', () => client.destroy()).on('close', () => client.end());
    client.on('close', () => upstream.destroy());
    const passes = () => mode === 'pass' && !stranded.has(client);
    client.on('data', (chunk) => passes() && upstream.write(chunk as unknown as Uint8Array));
    upstream.on('data', (chunk) => passes() && client.write(chunk as unknown as Uint8Array));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(target);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href.replace(/\/$/, ''),
    cut: () => {
      mode = 'cut';
      breakAll();
    },
    freeze: () => {
      mode = 'frozen';
    },
    strand: () => {
      for (const socket of open) stranded.add(socket);
    },
    heal: () => {
      mode = 'pass';
      breakAll();
    },
    to: (other) => {
      ({ hostname, port } = new URL(other));
      breakAll();
    },
    count: () => open.size,
    close: async () => {
      breakAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
