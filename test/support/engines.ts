import { chmodSync, mkdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { findMariadb } from '../../dev/mariadb/program.js';
import { startMariadb } from '../../dev/mariadb/server.js';
import { type PostgresServer, startPostgres } from '../../dev/postgres.js';
import { findTemporalProgram } from '../../dev/temporal/program.js';
import { startTemporal, type TemporalServer } from '../../dev/temporal/server.js';
import { makeDataFolder } from './memory-folder.js';
import { startS3 } from './versitygw.js';

/** Addresses that test files ask for. A server starts when first asked for. */
export interface EngineAnswers {
  '/postgres': { url: string };
  '/template': { database: string };
  '/temporal': { address: string };
  '/mysql': { url: string } | Missing;
  '/s3': { url: string } | Missing;
}

/** An engine that this machine does not have, and why. */
interface Missing {
  missing: string;
}

/**
 * Serves the engines of the run, which keep their files in `folder`, but for the data of databases. Tests run in processes of their own and ask over HTTP, so
 * that a run of unit tests starts nothing and any number of files share one server.
 */
export async function openEngines(folder: string): Promise<{ address: string; close: () => Promise<void> }> {
  const giveUp = new AbortController();
  const postgres = once(() => openPostgres(folder, giveUp.signal));
  const temporal = once(() => openTemporal(folder, giveUp.signal));
  const mysql = once(() => openMysql(folder, giveUp.signal));
  const s3 = once(() => startS3({ environment: process.env, folder, report, signal: giveUp.signal }));
  const template = once(async () => makeTemplate(await postgres.get()));
  const server = await serve({
    '/postgres': async () => ({ url: (await postgres.get()).url('postgres') }),
    '/template': async () => ({ database: await template.get() }),
    '/temporal': async () => ({ address: (await temporal.get()).address }),
    '/mysql': async () => (await mysql.get()).answer,
    '/s3': () => s3.get().then(({ url }) => ({ url }), missing),
  });
  const close = async () => {
    server.close();
    giveUp.abort();
    const running = await Promise.allSettled([postgres.started(), temporal.started(), mysql.started(), s3.started()]);
    await Promise.all(running.map((one) => (one.status === 'fulfilled' ? one.value?.stop() : undefined)));
  };
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

const report = (line: string) => console.error(line);

const missing = (error: Error): Missing => ({ missing: error.message.split('\n', 1)[0] ?? '' });

function openPostgres(folder: string, signal: AbortSignal): Promise<PostgresServer> {
  const clone = fileURLToPath(new URL('../..', import.meta.url));
  return startPostgres({
    clone,
    dataDir: join(makeDataFolder('postgres-'), 'data'),
    password: 'test',
    logFile: join(folder, 'postgres.log'),
    durable: false,
    signal,
  });
}

async function openTemporal(folder: string, signal: AbortSignal): Promise<TemporalServer> {
  const { file } = await findTemporalProgram({ environment: process.env, report, signal });
  const logFile = join(folder, 'temporal.log');
  return startTemporal({ program: file, dbFile: null, uiPort: null, logFile, signal });
}

/** The server of SVC_TEST_MYSQL_URL, else a MariaDB of this run, else why there is none (DV-12). */
async function openMysql(folder: string, signal: AbortSignal) {
  const given = process.env.SVC_TEST_MYSQL_URL;
  if (given) return { answer: { url: given }, stop: async () => {} };
  const found = await findMariadb({ signal, report: (line) => console.error(line) }).catch((error: Error) => error);
  if (found instanceof Error) return { answer: { missing: found.message }, stop: async () => {} };
  const own = join(folder, 'mariadb');
  mkdirSync(own);
  chmodSync(own, 0o755);
  const server = await startMariadb({ program: found, folder: own, dataFolder: makeDataFolder('mariadb-'), signal });
  return { answer: { url: server.url() }, stop: server.stop };
}

/** Migrated once and copied by each test file. Its owner is the role that the gateway uses, which is no superuser. */
async function makeTemplate(postgres: PostgresServer): Promise<string> {
  const { migrate } = await import('../../db/migrate.js');
  const client = new pg.Client({ connectionString: postgres.url('postgres') });
  await client.connect();
  try {
    await client.query(`create role svc login password 'svc'`);
    await client.query('create database svc_template owner svc');
  } finally {
    await client.end();
  }
  await migrate(postgres.url('svc_template', 'svc', 'svc'));
  return 'svc_template';
}

function serve(routes: { [path in keyof EngineAnswers]: () => Promise<EngineAnswers[path]> }): Promise<Server> {
  const server = createServer((request, response) => {
    const route = routes[request.url as keyof EngineAnswers];
    const answer = (status: number, body: unknown) => response.writeHead(status).end(JSON.stringify(body));
    route().then(
      (body) => answer(200, body),
      (error: Error) => answer(500, { error: error.stack ?? error.message }),
    );
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

function once<T>(start: () => Promise<T>): { get: () => Promise<T>; started: () => Promise<T> | undefined } {
  let started: Promise<T> | undefined;
  return { get: () => (started ??= start()), started: () => started };
}
