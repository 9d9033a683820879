import { connect } from 'node:net';
import type { PostgresSession } from './session.js';

const CANCEL_REQUEST_CODE = 80_877_102;

/** Sends the protocol's cancel request: 16 bytes on a new connection, which the server closes without an answer. */
export function sendCancelRequest(target: PostgresSession['cancelTarget'], timeoutMs: number): void {
  const { host, port, processId, secretKey } = target;
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  const message = new DataView(new ArrayBuffer(16));
  message.setInt32(0, 16);
  message.setInt32(4, CANCEL_REQUEST_CODE);
  message.setInt32(8, processId);
  message.setInt32(12, secretKey);
  socket.setTimeout(timeoutMs, () => socket.destroy());
  socket.on('error', () => {});
  socket.on('connect', () => socket.end(new Uint8Array(message.buffer)));
  socket.resume();
}
