import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../dev/ports.js';
import { answersOk } from '../../dev/wait-for.js';
import { shopToml } from '../support/api.js';
import { openOwnPostgres } from '../support/own-postgres.js';
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

/** `svc server` and `svc worker` on an empty database, started by the test; a start may take so long to find its database. */
async function prepare(name: string, startWaitSecs: number): Promise<Program[]> {
  await onDatabase('postgres', (client) => client.query(`create database ${name}`));
  const ports = [await freePort(), await freePort()];
  const file = join(folder, `${name}.toml`);
  const lines = [
    `state_dir = "${folder}/${name}"`,
    shopToml,
    `[server]\nlisten = "127.0.0.1:${ports[0]}"\ndrain_secs = 0`,
    `[worker]\nlisten = "127.0.0.1:${ports[1]}"`,
    `[database]\nurl = "${postgres.url(name)}"\nstart_wait_secs = ${startWaitSecs}`,
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
  return programs;
}

async function onDatabase<T>(name: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: postgres.url(name) });
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

/** Begins to start the programs, and runs `strike` when each of them waits for the lock that `take` has taken. */
function strikeWhileWaiting(database: string, take: string, strike: () => Promise<unknown>): Promise<void> {
  return onDatabase(database, async (client) => {
    await client.query(take);
    for (const program of programs) program.launch();
    const waiting = 'select 1 from pg_locks where not granted and database = (select oid from pg_database where datname = $1)';
    await eventually(async () => (await client.query(waiting, [database])).rows.length === programs.length, 120_000);
    await strike();
  });
}

const said = (text: string) => eventually(() => programs.every((program) => program.log().includes(text)), 120_000);
const waits = () => said('waiting for the gateway database');

/** The lock that node-pg-migrate takes before it looks at a schema. */
const schemaLock = 'select pg_advisory_lock(7241865325823964)';

describe('a start whose own Postgres goes away before it is done (OP-50, database.start_wait_secs)', () => {
  it('OP-50: goes on when a Postgres that froze under the change of the schema is back', async () => {
    await prepare('frozen', 120);
    await strikeWhileWaiting('frozen', schemaLock, async () => {
      postgres.freeze();
      await waits().finally(() => postgres.thaw());
    });
    await Promise.all(programs.map((program) => program.untilReady()));
  }, 400_000);

  it('OP-50: goes on when a Postgres that was killed under the change of the schema has recovered', async () => {
    await prepare('killed', 120);
    await strikeWhileWaiting('killed', schemaLock, () => postgres.kill());
    await waits();
    await postgres.start();
    await Promise.all(programs.map((program) => program.untilReady()));
  }, 400_000);

  it('OP-50: goes on when Postgres could not answer in time to a later step', async () => {
    await prepare('later', 120);
    for (const program of programs) await program.start();
    await Promise.all(programs.map((program) => program.kill()));
    await strikeWhileWaiting('later', 'begin; lock table config_generations in access exclusive mode', waits);
    await Promise.all(programs.map((program) => program.untilReady()));
  }, 400_000);

  it('OP-51: says in one line that it was away for too long, and ends with 1', async () => {
    await prepare('gone', 1);
    await strikeWhileWaiting('gone', schemaLock, async () => {
      postgres.freeze();
      const ended = Promise.all(programs.map((program) => program.exited()));
      expect(await ended.finally(() => postgres.thaw())).toEqual(['exit code 1', 'exit code 1']);
    });
    for (const program of programs) {
      expect(program.log().trim().split('\n').at(-1)).toBe('the gateway database was not reachable for 1 s');
    }
  }, 400_000);
});
