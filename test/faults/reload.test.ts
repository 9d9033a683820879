import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callApi } from '../../dev/api-call.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import { type System, startSystem } from '../support/system.js';
import { temporalAddress } from '../support/temporal.js';

let stored: TestDatabase;
let system: System;
let good: string;
beforeAll(async () => {
  stored = await createTestDatabase();
  system = await startSystem({ databaseUrl: stored.url, temporalAddress: await temporalAddress(), servers: 2, workers: 1 });
  good = await readFile(system.configFile, 'utf8');
}, 240_000);
afterAll(async () => {
  await system?.close();
  await stored?.drop();
});

/** Every process that is up, with what its metrics say. */
async function metricsOf(url: string): Promise<string> {
  const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${system.tokens.admin}` } });
  return answer.text();
}
const processes = () => [...system.servers, ...system.workers];
const generations = () =>
  Promise.all(processes().map(async ({ url }) => Number(/^svc_config_generation (\d+)$/m.exec(await metricsOf(url))?.[1])));
const rejected = async (url: string) =>
  Number(/^svc_config_reloads_total\{outcome="rejected"\} (\d+)$/m.exec(await metricsOf(url))?.[1] ?? 0);

/** Waits until every process uses this generation. */
const untilAllUse = (number: number) => eventually(async () => (await generations()).every((one) => one === number), 60_000);

/** The databases that a server shows to callers. */
async function databasesAt(server: number): Promise<unknown> {
  const { body } = await callApi({ server: system.servers[server]!.url, token: system.tokens.alice }, 'GET', '/api/databases');
  return JSON.stringify(body);
}

/** Runs a host command as an operator does. */
async function svc(...args: string[]): Promise<{ code: number; text: string }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../bin/svc'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      text += String(chunk);
    });
  const [code] = (await once(child, 'exit')) as [number];
  return { code, text };
}

const withDatabase = (name: string) => `${good}\n[[databases]]\nname = "${name}"\nenvironments = ["staging"]\n`;

// Each test goes on with the generation in force that the one before it left, and the last one kills the servers.
describe('one configuration for two servers and a worker (CF-30, CF-34, CF-40, CF-41, CF-I8)', { shuffle: false }, () => {
  it('is that of the process reloaded last, by signal or by command, a worker with an older file included', async () => {
    await untilAllUse(1);
    await writeFile(system.configFile, withDatabase('ledger'));
    system.servers[0]!.signal('SIGHUP');
    await untilAllUse(2);
    for (const server of [0, 1]) expect(await databasesAt(server)).toContain('ledger');
    await writeFile(system.configFile, good);
    system.workers[0]!.signal('SIGHUP');
    await untilAllUse(3);
    for (const server of [0, 1]) expect(await databasesAt(server)).not.toContain('ledger');
    await writeFile(system.configFile, withDatabase('ledger'));
    const reloaded = await svc('server', 'reload', '--config', system.configFile);
    expect(reloaded).toEqual({ code: 0, text: expect.stringContaining('reloaded: generation 4 is in force') });
    await untilAllUse(4);
  });

  it('is never replaced by a bad file: not by signal, command or start, and each refusal says why', async () => {
    const bad = `${withDatabase('ledger').replace('drain_secs = 5', 'drain_secs = 999')}password = "hunter2-not-to-be-told"\n`;
    await writeFile(system.configFile, bad);
    const reloaded = await svc('server', 'reload', '--config', system.configFile);
    expect(reloaded.code).toBe(1);
    expect(reloaded.text).toMatch(/server\.toml:\d+:\d+: server\.drain_secs: must be 0 to 600/);
    expect(reloaded.text).toMatch(/server\.toml:\d+:\d+: databases\[1\] "ledger"\.password: unknown key/);
    for (const { signal } of processes()) signal('SIGHUP');
    await eventually(
      async () => (await Promise.all(processes().map(({ url }) => rejected(url)))).every((count) => count > 0),
      60_000,
    );
    const check = await svc('config', 'check', '--config', system.configFile, '--online');
    const starts = await Promise.all([
      svc('server', '--config', system.configFile, '--listen', '127.0.0.1:0'),
      svc('worker', '--config', system.configFile),
    ]);
    expect([check, ...starts].map(({ code }) => code)).toEqual([1, 1, 1]);
    expect(new Set(await generations())).toEqual(new Set([4]));
    const events = await system.database.query<{ metadata: string }>(
      `select metadata_json as metadata from audit_events where event_type = 'config.rejected'`,
    );
    expect(events.rows.length).toBeGreaterThanOrEqual(3);
    const told = [reloaded, check, ...starts].map(({ text }) => text).join();
    const logged = processes().map((program) => program.log());
    expect([told, ...logged, ...events.rows.map(({ metadata }) => metadata)].join()).not.toContain('hunter2');
    expect(await databasesAt(0)).toContain('ledger');
  });

  it('refuses a file that lost a section on every way in, until allow_empty says that it is meant (CF-50)', async () => {
    const lost = good
      .replace(/\[\[auth\.groups\]\]\nname = .*\nroles = .*\n/, '')
      .replaceAll('group = "dba-team"', 'role = "dba"');
    await writeFile(system.configFile, lost);
    const refused = await svc('server', 'reload', '--config', system.configFile);
    expect([refused.code, refused.text]).toEqual([
      1,
      expect.stringMatching(
        /auth\.groups: the generation in force has 1 entry, the file has none \(add "auth\.groups" to allow_empty/,
      ),
    ]);
    expect((await svc('worker', '--config', system.configFile)).code).toBe(1);
    await writeFile(system.configFile, `allow_empty = ["auth.groups"]\n${lost}`);
    expect((await svc('server', 'reload', '--config', system.configFile)).code).toBe(0);
    await untilAllUse(5);
  });

  it('tells svc server reload that no server runs, when its process is gone', async () => {
    const stateDir = /state_dir = "(.*)"/.exec(good)?.[1] ?? '';
    await writeFile(system.configFile, `${good}\n[database.more]\nurl = "\${NOT_SET_HERE}"`);
    const pid = await readFile(join(stateDir, 'server.pid'), 'utf8');
    await Promise.all(system.servers.map((server) => server.kill()));
    const told = await svc('server', 'reload', '--config', system.configFile);
    expect([told.code, told.text]).toEqual([
      1,
      expect.stringContaining(`process ${pid} is gone: no server runs with this state_dir`),
    ]);
  });
});
