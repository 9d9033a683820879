import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../dev/ports.js';
import { answersOk } from '../../dev/wait-for.js';
import { shopToml } from '../support/api.js';
import { openOwnPostgres } from '../support/own-postgres.js';
import { createTestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { createProgram, type Program } from '../support/program.js';

let postgres: Awaited<ReturnType<typeof openOwnPostgres>>;
let folder: string;
let programs: Program[] = [];
beforeAll(async () => {
  postgres = await openOwnPostgres();
  folder = mkdtempSync(join(tmpdir(), 'svc-start-'));
  chmodSync(folder, 0o755);
}, 240_000);
afterEach(async () => {
  await Promise.all(programs.splice(0).map((program) => program.kill()));
});
afterAll(async () => {
  await postgres?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** An empty database of the server that tests take away. */
async function createDatabase(name: string): Promise<string> {
  await onDatabase(postgres.url('postgres'), (client) => client.query(`create database ${name}`));
  return postgres.url(name);
}

/** `svc server` and `svc worker`, started by the test; a start may take so long to find its database. */
async function prepare(url: string, startWaitSecs: number): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  const ports = [await freePort(), await freePort()];
  const file = join(folder, `${name}.toml`);
  const lines = [
    `state_dir = "${folder}/${name}"`,
    shopToml,
    `[server]\nlisten = "127.0.0.1:${ports[0]}"\ndrain_secs = 0`,
    `[worker]\nlisten = "127.0.0.1:${ports[1]}"`,
    `[database]\nurl = "${url}"\nstart_wait_secs = ${startWaitSecs}`,
    '[temporal]\naddress = "127.0.0.1:1"',
  ];
  writeFileSync(file, lines.join('\n'));
  programs = ['server', 'worker'].map((command, index) =>
    createProgram({
      name: command,
      launcher: 'svc',
      args: [command, '--config', file],
      logFile: join(folder, `${name}-${command}.log`),
      environment: process.env,
      isReady: () => answersOk(`http://127.0.0.1:${ports[index]}/health`),
    }),
  );
}

async function onDatabase<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

/** Begins to start the programs, and runs `strike` when each of them waits for the lock that `take` has taken. */
function strikeWhileWaiting(url: string, take: string, strike: () => Promise<unknown>): Promise<void> {
  return onDatabase(url, async (client) => {
    await client.query(take);
    for (const program of programs) program.launch();
    const waiting = `select 1 from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())`;
    await eventually(async () => (await client.query(waiting)).rows.length === programs.length, 120_000);
    await strike();
  });
}

const said = (text: string) => eventually(() => programs.every((program) => program.log().includes(text)), 120_000);
const waits = () => said('waiting for the gateway database');

/** The lock that a start takes before it looks at a schema. */
const schemaLock = 'select pg_advisory_lock(7241865325823964)';

describe('a start whose own Postgres goes away before it is done (OP-50, database.start_wait_secs)', () => {
  it('OP-50: goes on when a Postgres that froze under the change of the schema is back', async () => {
    const url = await createDatabase('frozen');
    await prepare(url, 120);
    await strikeWhileWaiting(url, schemaLock, async () => {
      postgres.freeze();
      await waits().finally(() => postgres.thaw());
    });
    await Promise.all(programs.map((program) => program.untilReady()));
  }, 400_000);

  it('OP-50: goes on when a Postgres that was killed under the change of the schema has recovered', async () => {
    const url = await createDatabase('killed');
    await prepare(url, 120);
    await strikeWhileWaiting(url, schemaLock, () => postgres.kill());
    await waits();
    await postgres.start();
    await Promise.all(programs.map((program) => program.untilReady()));
  }, 400_000);

  it('OP-50: says once that another process changes the schema, and goes on when that is done', async () => {
    const url = await createDatabase('busy');
    await prepare(url, 120);
    const text = 'waiting for another process that brings the database schema up to date';
    await strikeWhileWaiting(url, schemaLock, () => said(text));
    await Promise.all(programs.map((program) => program.untilReady()));
    for (const program of programs) expect(program.log().split(text)).toHaveLength(2);
  }, 400_000);

  it('OP-50: goes on when Postgres could not answer in time to a later step', async () => {
    const stored = await createTestDatabase();
    await prepare(stored.adminUrl, 120);
    await strikeWhileWaiting(stored.adminUrl, 'begin; lock table config_generations in access exclusive mode', waits);
    await Promise.all(programs.map((program) => program.untilReady()));
    await Promise.all(programs.map((program) => program.kill()));
    await stored.drop();
  }, 400_000);

  it('OP-50: waits for a standby, which can only be read, until it is promoted', async () => {
    const url = await createDatabase('standby');
    await prepare(url, 120);
    await postgres.kill();
    await postgres.start('wal_level=replica');
    await postgres.kill();
    writeFileSync(join(postgres.dataDir, 'standby.signal'), '');
    await postgres.start();
    for (const program of programs) program.launch();
    await waits();
    await onDatabase(url, (client) => client.query('select pg_promote()'));
    await Promise.all(programs.map((program) => program.untilReady()));
  }, 400_000);

  it('OP-51: says in one line that it was away for too long, and ends with 1', async () => {
    const url = await createDatabase('gone');
    await prepare(url, 1);
    await strikeWhileWaiting(url, schemaLock, async () => {
      postgres.freeze();
      const ended = Promise.all(programs.map((program) => program.exited()));
      expect(await ended.finally(() => postgres.thaw())).toEqual(['exit code 1', 'exit code 1']);
    });
    for (const program of programs) {
      expect(program.log().trim().split('\n').at(-1)).toMatch(/^the gateway database was not reachable for 1 s \([A-Za-z_]+\)$/);
    }
  }, 400_000);
});
