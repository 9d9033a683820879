import { requestLockKey } from '../../marker.js';
import type { Engine, Target, WriteTarget } from '../engine.js';
import { sendCancelRequest } from './cancel.js';
import { postgresErrors } from './errors.js';
import type { PostgresMarker } from './marker.js';
import type { PostgresSession } from './session.js';

export type PostgresTarget = Target<PostgresSession>;
export type PostgresWriteTarget = WriteTarget<PostgresSession, PostgresMarker>;

export const postgresEngine: Engine<PostgresSession> = {
  errors: postgresErrors,
  interrupt: (session, timings) => sendCancelRequest(session.cancelTarget, timings.httpConnectMs),
  kill: (admin, session, hard) =>
    admin.query(`select pg_catalog.${hard ? 'pg_terminate_backend' : 'pg_cancel_backend'}($1::int)`, [String(session.processId)]),
  async isGone(admin, session) {
    const rows = await admin.query('select 1 from pg_catalog.pg_stat_activity where pid = $1::int', [String(session.processId)]);
    return rows.length === 0;
  },
  async rollBack(session) {
    await session.query('rollback');
    return 'undone';
  },
  async tryRequestLock(session, requestId) {
    const rows = await session.query('select pg_catalog.pg_try_advisory_lock($1::bigint)', [String(requestLockKey(requestId))]);
    return rows[0]?.[0] === 't';
  },
};
