import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy that ends a connection to PostgreSQL right before or right after one statement of a client, also of several sent at once. */
export interface StatementFaults {
  /** The given address with the proxy in its place. */
  url: string;
  /** Counts from now on, and ends the connection at the nth statement. */
  arm(nth: number, when: 'before' | 'after'): void;
  /** Statements since then. */
  readonly count: number;
  close(): Promise<void>;
}

export async function startStatementFaults(target: string): Promise<StatementFaults> {
  const address = new URL(target);
  const open = new Set<Socket>();
  let [count, fatal, when] = [0, Number.POSITIVE_INFINITY, 'before'];
  const server = createServer((client) => {
    const upstream = connect(Number(address.port), address.hostname);
    for (const socket of [client, upstream]) open.add(socket.on('close', () => open.delete(socket)).on('error', () => {}));
    upstream.on('data', (chunk) => client.write(Uint8Array.from(chunk)));
    upstream.on('close', () => client.destroy());
    client.on('close', () => upstream.end());
    const read = messageReader();
    let isCut = false;
    client.on('data', (chunk) => {
      for (const { type, bytes } of read(Buffer.from(Uint8Array.from(chunk)))) {
        if (isCut) return;
        isCut = isStatement(type) && ++count === fatal;
        if (!isCut || when === 'after') upstream.write(bytes);
        // The server carries out what has arrived, and rolls back what did not commit.
        if (isCut) upstream.end(() => client.destroy());
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = Object.assign(new URL(target), { hostname: '127.0.0.1', port: String((server.address() as AddressInfo).port) });
  return {
    url: url.href,
    arm(nth, at) {
      [count, fatal, when] = [0, nth, at];
    },
    get count() {
      return count;
    },
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** An Execute or a simple Query. */
const isStatement = (type: string) => type === 'E' || type === 'Q';

/** Splits what a client sends into its messages. The first has no type. */
function messageReader() {
  let rest: Uint8Array = new Uint8Array(0);
  let started = false;
  return (chunk: Buffer) => {
    rest = Uint8Array.from([...rest, ...Uint8Array.from(chunk)]);
    const messages: { type: string; bytes: Uint8Array }[] = [];
    for (;;) {
      const typeBytes = started ? 1 : 0;
      if (rest.length < typeBytes + 4) return messages;
      const end = typeBytes + Buffer.from(rest).readUInt32BE(typeBytes);
      if (rest.length < end) return messages;
      messages.push({ type: started ? String.fromCharCode(rest[0]!) : '', bytes: rest.slice(0, end) });
      rest = rest.slice(end);
      started = true;
    }
  };
}
