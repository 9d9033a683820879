import { connect } from 'node:net';
import type { Timings } from '../timings.js';
import { sleep } from '../wait.js';
import type { PostgresSession, SessionPool } from './postgres-session.js';

const CANCEL_REQUEST_CODE = 80_877_102;

/**
 * Interrupts the statement of a session until `ended` aborts: a cancel request at once, `pg_cancel_backend` every second
 * from a connection outside the pool, `pg_terminate_backend` after ten (AP-42).
 */
export async function cancelStatement(
  session: PostgresSession,
  pool: SessionPool,
  timings: Timings,
  ended: AbortSignal,
): Promise<void> {
  session.distrust();
  sendCancelRequest(session.cancelTarget, timings.httpConnectMs);
  const begun = performance.now();
  let admin: PostgresSession | null = null;
  while (!ended.aborted) {
    await sleep(timings.cancelRepeatMs, ended);
    if (ended.aborted) break;
    try {
      admin ??= await pool.open();
      if (ended.aborted) break;
      const verb = performance.now() - begun >= timings.cancelTerminateMs ? 'pg_terminate_backend' : 'pg_cancel_backend';
      await admin.query(`select pg_catalog.${verb}($1::int)`, [String(session.processId)]);
    } catch {
      admin = null;
    }
  }
  await admin?.release();
}

/** Whether the backend is gone, asked on a new connection until it is, or the time is over. */
export async function waitUntilBackendGone(
  processId: number,
  pool: SessionPool,
  timings: Timings,
  untilMs: number,
): Promise<boolean> {
  while (performance.now() < untilMs) {
    try {
      const admin = await pool.open();
      try {
        const rows = await admin.query('select 1 from pg_catalog.pg_stat_activity where pid = $1::int', [String(processId)]);
        if (rows.length === 0) return true;
        await admin.query('select pg_catalog.pg_terminate_backend($1::int)', [String(processId)]);
      } finally {
        await admin.release();
      }
    } catch {
      // The database may be coming back; the next round asks again.
    }
    await sleep(timings.commitProbeEveryMs);
  }
  return false;
}

/** The protocol's own cancel: 16 bytes on a new connection, which the server closes without an answer. */
function sendCancelRequest(target: PostgresSession['cancelTarget'], timeoutMs: number): void {
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
