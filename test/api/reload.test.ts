import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createReloader } from '../../runtime/reload.js';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';

let api: TestApi;
let file: string;
let text: string;
beforeEach(async () => {
  api = await startTestApi({
    toml: `${shopToml}\n[[auth.roles]]\nname = "chief"\npermissions = ["*"]\n\n[agents]\nmin_version = "1.0.0"`,
  });
  file = join(api.stateDir, 'server.toml');
  text = await readFile(file, 'utf8');
});
afterEach(() => api?.close());

const change = (from: string | RegExp, to: string) => writeFile(file, text.replace(from, to));
const outcomes = async () =>
  Object.fromEntries((await api.services.metrics.configReloads.get()).values.map(({ labels, value }) => [labels.outcome, value]));
const minVersion = async () => (await api.call('GET', '/health')).body.min_agent_version;

const patient = { timeout: 15_000 };

describe('reloading server.toml (CF-40 to CF-43)', () => {
  it('takes over everything that needs no restart, as a new generation when the shared part changed', async () => {
    await change('min_version = "1.0.0"', 'min_version = "2.0.0"\n[[databases]]\nname = "ledger"\nenvironments = ["staging"]');
    api.reload();
    await expect.poll(minVersion, patient).toBe('2.0.0');
    expect(api.services.generation().revision).toBe('r2');
    expect(api.services.generation().shared.databases.map((database) => database.name)).toEqual(['shop', 'ledger']);
    expect(await outcomes()).toEqual({ applied: 1 });
  });

  it('changes nothing with any error in the file, and says so', async () => {
    await change('min_version = "1.0.0"', 'min_version = "2.0.0"\nmin_versoin = "3"');
    api.reload();
    await expect.poll(outcomes, patient).toEqual({ rejected: 1 });
    expect(await minVersion()).toBe('1.0.0');
    const [event] = await api.services.database.query<{ outcome: string; metadata: string }>(
      `select outcome, metadata_json as metadata from audit_events where event_type = 'config.rejected'`,
    );
    expect(event?.outcome).toBe('failure');
    expect(JSON.parse(event?.metadata ?? '').errors[0]).toContain('min_versoin');
  });

  it('CF-42: says which changed keys need a restart, keeps what they were, and takes over all else', async () => {
    const before = api.services.config();
    text = text.replace('pool_max = 10', 'pool_max = 11').replace('listen = "127.0.0.1:0"', 'listen = "127.0.0.1:9"');
    await change('min_version = "1.0.0"', 'min_version = "3.0.0"\n[[databases]]\nname = "ledger"\nenvironments = ["staging"]');
    api.reload();
    await expect.poll(minVersion, patient).toBe('3.0.0');
    expect(api.services.generation().revision).toBe('r2');
    const after = api.services.config();
    expect([after.database, after.server.listen]).toEqual([before.database, before.server.listen]);
    const read = () => readFile(join(api.stateDir, 'reload.json'), 'utf8').then(JSON.parse, () => null);
    await expect.poll(read, patient).not.toBeNull();
    const record = await read();
    const restarts = ['needs a restart: server.listen', 'needs a restart: database.pool_max'];
    expect(record).toMatchObject({ outcome: 'applied', errors: [], warnings: expect.arrayContaining(restarts) });
    const warned = api.logged.map((line) => JSON.parse(line)).filter(({ level }) => level === 'warn');
    expect(warned.map(({ msg }) => msg)).toEqual(expect.arrayContaining(restarts));
  });

  it('CF-I4, D17: where and how far calls are counted changes with a reload', async () => {
    const token = await api.createUser('caller', { roles: ['requester'] });
    await change('[agents]', '[rate_limits]\nstore = "memory"\nper_token = 3\n[agents]');
    api.reload();
    await expect.poll(() => api.services.config().rateLimits.perToken, patient).toBe(3);
    await api.services.database.query('delete from rate_windows');
    const statuses = [];
    for (let calls = 0; calls < 5; calls += 1) statuses.push((await api.call('GET', '/api/me', { token })).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    expect(await api.services.database.query('select key from rate_windows')).toEqual([]);
  });

  it('refuses to leave no admin', async () => {
    const { database } = api.services;
    await database.query(`update users set roles = '{chief}' where id = 'admin'`);
    await change('name = "chief"\npermissions = ["*"]', 'name = "chief"\npermissions = ["user.write"]');
    api.reload();
    await expect.poll(outcomes, patient).toEqual({ rejected: 1 });
    expect(api.services.generation().revision).toBe('r1');
    await database.query(`update users set roles = '{admin}' where id = 'admin'`);
  });

  it('CF-40: reloads at most once per pause, and loses no request in between', async () => {
    const { database, metrics, log } = api.services;
    let applied = 0;
    const generation = api.services.generation();
    const reloader = createReloader({
      database,
      generations: { current: () => generation, use: () => {} },
      metrics,
      log,
      environment: { SVC_SECRET_KEY: '5e'.repeat(32) },
      current: () => api.config,
      apply: () => {
        applied += 1;
      },
      everyMs: 50,
    });
    reloader.request();
    reloader.request();
    await expect.poll(() => applied, patient).toBe(1);
    reloader.request();
    reloader.request();
    await expect.poll(() => applied, patient).toBe(2);
    await reloader.close();
  });
});
