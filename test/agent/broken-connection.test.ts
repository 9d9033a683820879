import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { expect, it, vi } from 'vitest';
import { ConnectFailure } from '../../agent/drivers/driver.js';
import { limitRows, type MysqlClient } from '../../agent/drivers/mysql/client.js';
import { createMysqlPool } from '../../agent/drivers/mysql/pool.js';
import { createPostgresPool } from '../../agent/drivers/postgres/pool.js';
import type { PoolOptions } from '../../agent/drivers/session.js';

const message = (type: string, body: Buffer) => {
  const head = Buffer.from(`${type}....`);
  head.writeUInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
};
const authenticated = message('R', Buffer.alloc(4));
const ready = message('Z', Buffer.from('I'));
const fatal = message('E', Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0'));

/** Twice, from a pool of one: the slot is free again. */
async function expectRefused(
  createPool: (options: PoolOptions) => { acquire(): Promise<unknown>; close(): Promise<void> },
  scheme: string,
  serve: (socket: Socket) => void,
) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = `${scheme}://someone@127.0.0.1:${port}/shop`;
  const pool = createPool({ url, readOnly: false, max: 1, maxRowBytes: 1024, connectTimeoutMs: 5000 });
  for (let time = 0; time < 2; time++) await expect(pool.acquire()).rejects.toThrow(ConnectFailure);
  await pool.close();
  for (const socket of sockets) socket.destroy();
  server.close();
}

it('AP-I9: a server that dies in the packet that opens a connection ends no agent, only what was to use the connection', () =>
  expectRefused(createPostgresPool, 'postgres', (socket) => {
    socket.once('data', () => socket.end(Buffer.concat([authenticated, ready, fatal])));
  }));

it.each([
  ['a row without its number of fields', message('D', Buffer.alloc(0))],
  ['a row with fewer fields than it says', message('D', Buffer.from([0, 3]))],
  ['a message that is shorter than its own length', Buffer.from('D\0\0\0\0')],
  ['columns that end before their count', message('T', Buffer.from([0, 9]))],
])('AP-I9: a PostgreSQL server that sends %s ends no agent, only its own connection', (_, broken) =>
  expectRefused(createPostgresPool, 'postgres', (socket) => {
    socket.once('data', () => {
      socket.write(Buffer.concat([authenticated, ready]));
      socket.once('data', () => socket.write(Buffer.concat([broken, Buffer.alloc(16)])));
    });
  }),
);

it.each([
  ['a greeting that ends in its middle', Buffer.from([5, 0, 0, 0, 10, 56, 46, 48, 0])],
  ['an empty packet', Buffer.from([0, 0, 0, 0])],
])('AP-I9: a MySQL server that sends %s ends no agent, only its own connection', (_, broken) =>
  expectRefused(createMysqlPool, 'mysql', (socket) => void socket.write(broken)),
);

it('AP-I9: a packet of MySQL that cannot be read ends its own connection, with an error for who waits on it', async () => {
  const stream = new PassThrough();
  const ended = once(stream, 'error');
  const execute = vi.fn(() => {
    throw new RangeError('outside buffer bounds');
  });
  const client = { packetParser: { execute }, stream, rowTooLarge: false } as unknown as MysqlClient;
  limitRows(client, 1024);
  for (let chunk = 0; chunk < 2; chunk++) client.packetParser.execute(Buffer.from([1, 0, 0, 0, 0]));
  expect(await ended).toEqual([expect.objectContaining({ code: 'unreadable answer' })]);
  expect(execute).toHaveBeenCalledTimes(1);
});
