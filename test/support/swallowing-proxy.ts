import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface SwallowingProxy {
  port: number;
  /** While false, new connections are reset. */
  up: boolean;
  /**
   * Asked about all that a client sends. After `drop` the answer of the server ends both sides and is not passed on. `hold` keeps
   * the message from the server; a number is how many milliseconds later it gets it.
   */
  onClientData: ((data: Buffer) => 'pass' | 'drop' | 'hold' | number) | null;
  /** Ends the present connections. */
  cut(): void;
  close(): Promise<void>;
}

/** A proxy on loopback in front of a port of this machine. It can refuse, cut, and lose the answer to one message. */
export async function startSwallowingProxy(targetPort: number): Promise<SwallowingProxy> {
  const sockets = new Set<Socket>();
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    track(client);
    if (!proxy.up) return client.resetAndDestroy();
    const target = connect(targetPort, '127.0.0.1');
    track(target);
    let swallow = false;
    client.on('data', (data) => {
      const how = proxy.onClientData?.(data as Buffer);
      if (how === 'hold') return;
      if (how === 'drop') swallow = true;
      const pass = () => target.write(data as unknown as Uint8Array);
      if (typeof how === 'number') setTimeout(pass, how);
      else pass();
    });
    target.on('data', (data) => {
      if (!swallow) return client.write(data as unknown as Uint8Array);
      client.destroy();
      target.destroy();
    });
    client.on('close', () => target.destroy());
    target.on('close', () => client.destroy());
  });
  const proxy: SwallowingProxy = {
    port: 0,
    up: true,
    onClientData: null,
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      proxy.cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  proxy.port = (server.address() as AddressInfo).port;
  return proxy;
}
