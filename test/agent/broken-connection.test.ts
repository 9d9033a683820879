import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { ConnectFailure } from '../../agent/drivers/driver.js';
import { createPostgresPool } from '../../agent/drivers/postgres/pool.js';

const message = (type: string, body: Buffer) => {
  const head = Buffer.from(`${type}....`);
  head.writeUInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
};
const authenticated = message('R', Buffer.alloc(4));
const ready = message('Z', Buffer.from('I'));
const fatal = message('E', Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0'));

it('AP-I9: a server that dies in the packet that opens a connection ends no agent, only what was to use the connection', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(Buffer.concat([authenticated, ready, fatal])));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = `postgres://someone@127.0.0.1:${port}/shop`;
  const pool = createPostgresPool({ url, readOnly: false, max: 1, maxRowBytes: 1024, connectTimeoutMs: 5000 });
  // Twice, from a pool of one: the slot is free again.
  for (let time = 0; time < 2; time++) await expect(pool.acquire()).rejects.toThrow(ConnectFailure);
  await pool.close();
  server.close();
});
