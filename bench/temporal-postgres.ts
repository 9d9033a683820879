import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import pg from 'pg';
import { parse } from 'yaml';
import { type Child, startChild, waitUntilReady } from '../dev/child.js';
import { clone } from '../dev/layout.js';
import { freePort } from '../dev/ports.js';
import { type PostgresServer, startPostgres } from '../dev/postgres.js';
import { hasNamespace } from '../dev/temporal/ready.js';
import { temporalVersion } from '../dev/temporal/version.js';
import { findGoProgram, type GoProgram } from '../test/support/go-program.js';

/*
 * `npx tsx bench/temporal-postgres.ts`: the Temporal server of docker-compose.yml, with its schema script, environment and dynamic configuration,
 * on a PostgreSQL of its own, until Ctrl-C. The address that it prints makes a bench use it: `TEMPORAL_ADDRESS=… node bench/run.mjs closed-loop`.
 */

const version = `v${temporalVersion.server}`;
const module = { version, asks: null, buildTakes: 'five minutes' };
const serverProgram: GoProgram = { ...module, file: 'server', package: 'go.temporal.io/server/cmd/server' };
const sqlProgram: GoProgram = { ...module, file: 'sql', package: 'go.temporal.io/server/cmd/tools/sql' };
const password = 'temporal';

/** What `docker-compose.yml` gives a service, but for its secrets. */
function composeEnvironment(service: string): Record<string, string> {
  return parse(readFileSync(join(clone, 'docker-compose.yml'), 'utf8'), { merge: true }).services[service].environment;
}

/** The databases as `deploy/postgres/databases.sh` makes them. */
async function makeDatabases(postgres: PostgresServer): Promise<void> {
  const client = new pg.Client({ connectionString: postgres.url('postgres') });
  await client.connect();
  await client.query(`create role temporal login password '${password}'`);
  for (const database of ['temporal', 'temporal_visibility']) await client.query(`create database ${database} owner temporal`);
  await client.end();
}

function makeSchema(sqlTool: string, port: number, folder: string): void {
  const programs = join(folder, 'programs');
  mkdirSync(programs);
  symlinkSync(sqlTool, join(programs, 'temporal-sql-tool'));
  const environment = { POSTGRES_HOST: '127.0.0.1', POSTGRES_PORT: String(port), SQL_PASSWORD: password };
  const { status, stdout, stderr } = spawnSync('/bin/sh', [join(clone, 'deploy/temporal/schema.sh')], {
    env: { PATH: `${programs}${delimiter}${process.env.PATH}`, ...environment },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`deploy/temporal/schema.sh: ${stdout}${stderr}`);
}

/** Its four parts take two ports each, and the frontend one for HTTP. */
async function startServer(program: string, postgresPort: number, folder: string): Promise<{ port: number; child: Child }> {
  const parts = ['FRONTEND', 'MATCHING', 'HISTORY', 'WORKER'];
  const names = [...parts.flatMap((part) => [`${part}_GRPC_PORT`, `${part}_MEMBERSHIP_PORT`]), 'FRONTEND_HTTP_PORT'];
  const ports: Record<string, string> = {};
  for (const name of names) ports[name] = String(await freePort());
  const environment = {
    ...composeEnvironment('temporal'),
    ...ports,
    POSTGRES_SEEDS: '127.0.0.1',
    DB_PORT: String(postgresPort),
    POSTGRES_PWD: password,
    BIND_ON_IP: '127.0.0.1',
    DYNAMIC_CONFIG_FILE_PATH: join(clone, 'deploy/temporal/dynamic.yaml'),
    LOG_LEVEL: 'warn',
  };
  const logFile = join(folder, 'temporal.log');
  const child = startChild({ name: 'Temporal', file: program, args: ['start'], logFile, deathSignal: 'SIGKILL', environment });
  const port = Number(ports.FRONTEND_GRPC_PORT);
  await waitUntilReady(child, () => hasNamespace(port, 'temporal-system'), undefined);
  // As docker-compose.yml lets it.
  child.giveWay();
  return { port, child };
}

const folder = mkdtempSync(join(tmpdir(), 'svc-temporal-'));
const report = (line: string) => process.stderr.write(`${line}\n`);
const options = { environment: process.env, report, signal: AbortSignal.timeout(30 * 60_000) };
const [server, sqlTool] = [await findGoProgram(serverProgram, options), await findGoProgram(sqlProgram, options)];
const place = { clone, dataDir: join(folder, 'postgres'), password: 'postgres', logFile: join(folder, 'postgres.log') };
const postgres = await startPostgres({ ...place, durable: true });
try {
  await makeDatabases(postgres);
  makeSchema(sqlTool, postgres.port, folder);
  const { port, child } = await startServer(server, postgres.port, folder);
  process.stdout.write(`TEMPORAL_ADDRESS=127.0.0.1:${port}\n`);
  report(`temporal_pid=${process.pid} counts it in sustained and growth`);
  const asked = new Promise((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve));
  const how = await Promise.race([asked.then(() => null), child.exited]);
  await child.stop('SIGTERM', 10_000);
  if (how !== null) throw new Error(`Temporal ended: ${how}; see ${child.logFile}`);
} finally {
  await postgres.stop();
}
rmSync(folder, { recursive: true, force: true });
