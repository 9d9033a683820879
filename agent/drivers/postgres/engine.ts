import { connect } from 'node:net';
import { requestLockKey } from '../../marker.js';
import type { Attempt, Engine, WriteTarget } from '../engine.js';
import { postgresErrors } from './errors.js';
import type { PostgresMarker } from './marker.js';
import { SEARCHED } from './search-path.js';
import type { PostgresSession } from './session.js';

export type PostgresWriteTarget = WriteTarget<PostgresSession, PostgresMarker>;
export type PostgresRead = Attempt<PostgresSession>;
export type PostgresAttempt = Attempt<PostgresSession, PostgresWriteTarget>;

export const postgresEngine: Engine<PostgresSession> = {
  errors: postgresErrors,
  interrupt: (session, timings) => sendCancelRequest(session.cancelTarget, timings.httpConnectMs),
  kill: (admin, session, hard) =>
    ask(admin, session, hard ? 'pg_catalog.pg_terminate_backend(pid)' : 'pg_catalog.pg_cancel_backend(pid)'),
  isGone: async (admin, session) => (await ask(admin, session, '1')).length === 0,
  async rollBack(session) {
    await session.query('rollback');
    return 'undone';
  },
  async tryRequestLock(session, requestId) {
    const text = `select pg_catalog.pg_try_advisory_lock($1::bigint), ${SEARCHED}`;
    const [row] = await session.query(text, [String(requestLockKey(requestId))]);
    session.searchPath = row?.[1] ?? null;
    return row?.[0] === 't';
  },
  // A standby that is promoted has read all that it received; another cluster may be sent the rest by logical replication.
  showsCommitsOf: async (other, session) =>
    other.backend.cluster === session.backend.cluster &&
    (await other.query('select pg_catalog.pg_is_in_recovery()'))[0]?.[0] === 'f',
};

/** Returns a row when the session still exists; compares more than its number, which may be reused. */
function ask(admin: PostgresSession, { backend }: PostgresSession, expression: string): Promise<unknown[]> {
  const text = `select ${expression} from pg_catalog.pg_stat_activity where pid = $1::int and backend_start::text = $2`;
  return admin.query(text, [backend.pid, backend.since]);
}

const CANCEL_REQUEST_CODE = 80_877_102;

/** Sends the protocol's cancel request: 16 bytes on a new connection, which the server closes without an answer. */
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
