import { join } from 'node:path';
import { clone, type Layout } from './layout.js';
import type { Passwords } from './passwords.js';
import { type PostgresServer, startPostgres } from './postgres.js';
import type { Report } from './report.js';
import type { Session } from './session.js';
import { findTemporalProgram } from './temporal/program.js';
import { startTemporal } from './temporal/server.js';

export async function addPostgres(
  session: Session,
  layout: Layout,
  passwords: Passwords,
  report: Report,
): Promise<PostgresServer> {
  const done = report.begin('PostgreSQL');
  const server = await startPostgres({
    clone,
    dataDir: layout.postgres,
    password: passwords.postgres,
    logFile: join(layout.run, 'postgres.log'),
    durable: true,
    signal: session.signal,
    report: report.line,
  });
  // By this signal it ends its own processes at once; a kill would leave them behind.
  session.add({ ...server, killSignal: 'SIGQUIT' });
  done(`127.0.0.1:${server.port}`);
  return server;
}

export interface TemporalPlace {
  address: string;
  uiUrl: string | null;
}

/** Starts the session's Temporal dev server, or uses the one that TEMPORAL_ADDRESS names (DV-11). */
export async function addTemporal(session: Session, layout: Layout, uiPort: number, report: Report): Promise<TemporalPlace> {
  const given = process.env.TEMPORAL_ADDRESS;
  if (given) {
    report.line(`Temporal: using ${given} (TEMPORAL_ADDRESS)`);
    return { address: given, uiUrl: null };
  }
  const { file, origin } = await findTemporalProgram({ environment: process.env, report: report.line, signal: session.signal });
  const done = report.begin('Temporal');
  const server = await startTemporal({
    program: file,
    dbFile: layout.temporalDb,
    uiPort,
    logFile: join(layout.run, 'temporal.log'),
    signal: session.signal,
    report: report.line,
  });
  session.add({ ...server, yields: true });
  done(`${server.address}, UI ${server.uiUrl}, program from ${origin}`);
  return server;
}
