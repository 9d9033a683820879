import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { answersOk } from '../../dev/wait-for.js';
import { sleep } from '../../lib/sleep.js';

export interface Balancer {
  url: string;
  close(): Promise<void>;
}

const lookEveryMs = 100;

/**
 * One address for several servers, as an operator's proxy gives it: a new connection goes, in turn, to one whose `/ready` is 200, else to
 * any that takes it. A connection stays with its server.
 */
export async function startBalancer(urls: readonly string[]): Promise<Balancer> {
  const ready = new Set<string>();
  const open = new Set<Socket>();
  const over = new AbortController();
  const looking = urls.map(async (url) => {
    for (; !over.signal.aborted; await sleep(lookEveryMs, over.signal)) {
      if (await answersOk(`${url}/ready`)) ready.add(url);
      else ready.delete(url);
    }
  });
  let turn = 0;
  const inTurn = () => {
    turn += 1;
    const turned = urls.map((_, index) => urls[(turn + index) % urls.length]!);
    return turned.toSorted((one, other) => Number(ready.has(other)) - Number(ready.has(one)));
  };
  const server = createServer({ pauseOnConnect: true }, (client) => void lead(client, inTurn(), open));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      over.abort();
      for (const socket of open) socket.destroy();
      await Promise.all([...looking, new Promise((resolve) => server.close(resolve))]);
    },
  };
}

async function lead(client: Socket, urls: readonly string[], open: Set<Socket>): Promise<void> {
  track(client, open);
  const back = await firstOf(urls);
  if (back === null || client.destroyed) {
    back?.destroy();
    client.destroy();
    return;
  }
  track(back, open);
  client.on('close', () => back.destroy()).pipe(back);
  back.on('close', () => client.end()).pipe(client);
}

function track(socket: Socket, open: Set<Socket>): void {
  open.add(socket);
  socket.on('error', () => socket.destroy()).on('close', () => open.delete(socket));
}

/** A connection to the first that takes one. */
async function firstOf(urls: readonly string[]): Promise<Socket | null> {
  for (const url of urls) {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    if (isOpen) return socket;
  }
  return null;
}
