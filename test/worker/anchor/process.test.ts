import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../db/client.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { numbered, writeEvents } from '../../support/sealing.js';
import { temporalAddress } from '../../support/temporal.js';
import { eventually } from '../support.js';
import { rowsOf, statesOf } from './support.js';

const launcher = fileURLToPath(new URL('../../../bin/svc', import.meta.url));

let stored: TestDatabase;
let database: Database;
let folder: string;
let running: ChildProcess[];
let taskQueue: string;
beforeEach(async () => {
  stored = await createTestDatabase();
  database = openTestDatabase(stored.url);
  folder = mkdtempSync(join(tmpdir(), 'svc-anchored-'));
  running = [];
  taskQueue = `anchored-${randomUUID()}`;
});
afterEach(async () => {
  for (const child of running) if (child.exitCode === null) child.kill('SIGKILL');
  await database.close();
  await stored.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** Writes a script beside the configuration, and starts a worker that has it as its anchor. */
async function start(anchor: string): Promise<ChildProcess & { lines: () => Record<string, unknown>[] }> {
  writeFileSync(join(folder, 'anchor.sh'), `#!/bin/sh\n${anchor}\n`);
  chmodSync(join(folder, 'anchor.sh'), 0o755);
  const file = join(folder, 'server.toml');
  writeFileSync(
    file,
    `state_dir = "state"
[server]
listen = "127.0.0.1:0"
[worker]
listen = ""
[database]
url = "${stored.url}"
[temporal]
address = "${await temporalAddress()}"
task_queue = "${taskQueue}"
[logging]
format = "json"
[audit]
anchor_command = ["./anchor.sh", "${folder}"]
[mcp]
enabled = false
`,
  );
  const child = spawn(process.execPath, [launcher, 'worker', '--config', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  running.push(child);
  let text = '';
  child.stderr.on('data', (chunk) => {
    text += chunk;
  });
  const lines = () =>
    text.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Record<string, unknown>] : []));
  return Object.assign(child, { lines });
}

const exited = (child: ChildProcess) =>
  child.exitCode === null && child.signalCode === null ? new Promise((resolve) => child.once('exit', resolve)) : child.exitCode;
const isAlive = (mark: string) => execFileSync('ps', ['-eo', 'stat=,args=']).toString().includes(`sleep ${mark}`);
const mark = () => `40${Math.floor(Math.random() * 1e6)}.5`;

describe('svc worker with an anchor (AU-88, AU-90)', () => {
  it('gives a checkpoint to the command of its configuration, relative to the file, and logs that it did', async () => {
    const worker = await start('cat > "$1/note"; env > "$1/env"; pwd; echo got it');
    await writeEvents(database, numbered('e', 100));
    await eventually(async () => (await statesOf({ database })).at(-1)?.endsWith('anchored'));
    const [row] = await rowsOf({ database });
    expect(row!.answer!.toString()).toBe('/\ngot it\n');
    expect(readFileSync(join(folder, 'note'), 'utf8')).toBe(row!.note);
    expect(readFileSync(join(folder, 'env'), 'utf8')).not.toMatch(/^(SVC_|PG|DATABASE)|postgres:/m);
    const told = await eventually(() => worker.lines().find(({ msg }) => msg === 'audit_anchored'));
    expect(told).toMatchObject({ seq: row!.seq, answer_bytes: 9 });
    const checkpoint = worker.lines().find(({ msg }) => msg === 'audit_checkpoint');
    expect(checkpoint).toMatchObject({ seq: row!.seq, note: row!.note });
    worker.kill('SIGTERM');
    expect(await exited(worker)).toBe(0);
  }, 120_000);

  it('that is killed in the middle leaves the checkpoint to the next one', async () => {
    const time = mark();
    const first = await start(`touch "$1/begun"; exec sleep ${time}`);
    await writeEvents(database, numbered('e', 100));
    await eventually(() => existsSync(join(folder, 'begun')));
    first.kill('SIGKILL');
    await exited(first);
    await start('echo second');
    await eventually(async () => (await statesOf({ database })).at(-1)?.endsWith('anchored'));
    const [row] = await rowsOf({ database });
    expect(row).toMatchObject({ attempts: 2, last_error: null });
    expect(row!.answer!.toString()).toBe('second\n');
    execFileSync('sh', ['-c', `kill -9 $(ps -eo pid=,args= | awk '/sleep ${time}$/ {print $1}') || true`]);
  }, 120_000);

  it('that stops ends the command first', async () => {
    const time = mark();
    const worker = await start(`touch "$1/begun"; sleep ${time}`);
    await writeEvents(database, numbered('e', 100));
    await eventually(() => existsSync(join(folder, 'begun')));
    worker.kill('SIGTERM');
    expect(await exited(worker)).toBe(0);
    expect(isAlive(time)).toBe(false);
    expect(await rowsOf({ database })).toMatchObject([{ state: 'waiting', last_error: 'stopped' }]);
  }, 120_000);
});
