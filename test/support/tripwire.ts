import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A message of a client that was not passed on to its server yet. */
export interface Held {
  /** It goes on. */
  pass(): void;
  /** Passes it on; its connection ends before the client reads the server's answer. */
  passUnanswered(): void;
  /** Loses it: its connection ends. */
  lose(): void;
}

/** What a client writes at once, between two reads: one await of the program that sent it. */
export interface Message {
  /** Name of the front that it came through. */
  front: string;
  bytes: Buffer;
}

type Wanted = (message: Message) => boolean;

/** Proxies that count the messages of clients and hold one of them, so that something can happen at exactly that moment. */
export interface Tripwire {
  /** Messages so far, by front. */
  readonly seen: Readonly<Record<string, number>>;
  /** Stands in front of a server: the given address with the proxy in its place. */
  front(name: string, target: string): Promise<string>;
  /** Holds the next message that is wanted; null if the signal aborts first. */
  next(wanted: Wanted, signal?: AbortSignal): Promise<Held | null>;
  close(): Promise<void>;
}

export function createTripwire(): Tripwire {
  const seen: Record<string, number> = {};
  const servers: Server[] = [];
  const open = new Set<Socket>();
  const waiting = new Set<{ wanted: Wanted; hold: (held: Held) => void }>();
  const meet = (message: Message): Promise<Verdict> | 'pass' => {
    seen[message.front] = (seen[message.front] ?? 0) + 1;
    const catching = [...waiting].find(({ wanted }) => wanted(message));
    if (catching === undefined) return 'pass';
    waiting.delete(catching);
    return new Promise((resolve) =>
      catching.hold({
        pass: () => resolve('pass'),
        passUnanswered: () => resolve('unanswered'),
        lose: () => resolve('lose'),
      }),
    );
  };
  return {
    seen,
    async front(name, target) {
      const url = new URL(target);
      const { hostname, port } = url;
      const server = createServer((client) => {
        const upstream = connect(Number(port), hostname);
        for (const socket of [client, upstream]) open.add(socket.on('close', () => open.delete(socket)).on('error', () => {}));
        void carry(client, upstream, (bytes) => meet({ front: name, bytes }));
      });
      servers.push(server);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      url.port = String((server.address() as AddressInfo).port);
      return url.href.replace(/\/$/, '');
    },
    next: (wanted, signal) =>
      new Promise((resolve) => {
        const settle = (held: Held | null) => {
          signal?.removeEventListener('abort', giveUp);
          resolve(held);
        };
        const entry = { wanted, hold: settle };
        const giveUp = () => {
          if (waiting.delete(entry)) settle(null);
        };
        waiting.add(entry);
        if (signal?.aborted) giveUp();
        signal?.addEventListener('abort', giveUp, { once: true });
      }),
    async close() {
      for (const socket of open) socket.destroy();
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}

type Verdict = 'pass' | 'unanswered' | 'lose';

/**
 * Carries messages in order. A client that has gone leaves behind what it had sent. While a message is held, the end of the
 * server is not noticed.
 */
async function carry(client: Socket, upstream: Socket, meet: (bytes: Buffer) => Promise<Verdict> | Verdict): Promise<void> {
  let answers = true;
  let holding = false;
  upstream.on('data', (chunk) => (answers ? client.write(chunk as unknown as Uint8Array) : upstream.destroy()));
  upstream.on('close', () => !holding && client.destroy());
  try {
    for await (const bytes of client) {
      holding = true;
      const verdict = await meet(bytes);
      holding = false;
      if (verdict === 'lose') upstream.destroy();
      if (upstream.destroyed) return void client.destroy();
      answers &&= verdict === 'pass';
      upstream.write(bytes);
    }
  } catch {
    // The client was killed.
  }
  upstream.end();
}
