import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createServer } from '../../api/server.js';
import { type Lookup, loadConfigForUse } from '../../config/index.js';
import { runConfigCheck } from '../../runtime/commands/config-check.js';
import { createReloader } from '../../runtime/reload.js';
import type { ReloadRecord } from '../../runtime/reload-record.js';
import { ConfigError, StartError } from '../../runtime/start-error.js';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { createEmptyDatabase } from '../support/postgres.js';
import { storedState } from '../support/stored-state.js';
import { databaseToml, groupToml, roleToml } from '../support/toml.js';

const directory = mkdtempSync(join(tmpdir(), 'svc-agrees-'));
afterAll(() => rmSync(directory, { recursive: true }));
const environment = { SVC_SECRET_KEY: '5e'.repeat(32) };

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api?.close());

let files = 0;
function write(shared: string, url: string): string {
  const file = join(directory, `${files++}.toml`);
  const head = `state_dir = "${api.stateDir}"\n`;
  writeFileSync(
    file,
    `${head}${shared}\n[server]\ndrain_secs = 0\n[database]\nurl = "${url}"\nstart_wait_secs = 1\n[temporal]\naddress = "127.0.0.1:1"\n`,
  );
  return file;
}

const silent = { out: () => {}, err: () => {} };
const lookup: Lookup = async (host) => [{ address: host === 'intranet.example' ? '10.0.0.1' : '93.184.216.34' }];
const isValid = async (config: string) =>
  (await runConfigCheck({ config, online: true, format: 'json', lookup }, environment, silent)) === 0;

/** Whether a server starts with the file; it is stopped again. */
async function starts(file: string): Promise<boolean> {
  const loaded = await loadConfigForUse(file, environment, lookup);
  if (!loaded.ok) return false;
  const stop = new AbortController();
  const { log } = api.services;
  try {
    const options = { config: loaded.config, listen: '127.0.0.1:0', forceBootstrap: false, log, signal: stop.signal };
    const server = await createServer(options);
    stop.abort();
    await server.stopped;
    return true;
  } catch (error) {
    if (error instanceof StartError || error instanceof ConfigError) return false;
    throw error;
  }
}

/** Whether a server that runs under the configuration of `server` takes the file over. */
async function reloads(file: string, server = api): Promise<boolean> {
  const { database, metrics, log } = server.services;
  const record = await new Promise<ReloadRecord>((resolve) => {
    const generation = server.services.generation();
    const reloader = createReloader({
      database,
      metrics,
      log,
      environment,
      lookup,
      everyMs: 1,
      generations: { current: () => generation, use: () => {} },
      current: () => ({ ...server.config, file }),
      apply: () => {},
      onEnd: async (ended) => resolve(ended),
    });
    reloader.request();
  });
  return record.outcome !== 'rejected';
}

const more = databaseToml('ledger', ['staging']);
const chief = roleToml('chief', ['*']);
const webhookToml = (host: string) => `[[webhooks]]\nid = "a"\nurl = "https://${host}/"\n`;
const withoutWorkflows = shopToml.slice(0, shopToml.indexOf('[[workflows]]'));

describe('svc config check --online, a start and a reload judge alike (CF-I1)', () => {
  describe('one file after the other', { shuffle: false }, () => {
    /** On one database, so that each is compared with what the previous one put in force. */
    const cases: [string, string, boolean][] = [
      ['the file in force', shopToml, true],
      ['one more database and role', shopToml + more + chief, true],
      ['a lost section', withoutWorkflows + more + chief, false],
      ['a section that may be lost', `allow_empty = ["workflows"]\n${withoutWorkflows}${more}${chief}`, true],
      ['the section again', shopToml + more + chief, true],
      ['an unknown key', `${shopToml}${more}${chief}[agents]\nmin_versoin = "1.0.0"\n`, false],
      ['an unknown role', shopToml + more + chief + groupToml('lost', ['nothing']), false],
      ['a text that is no TOML', `${shopToml}[[[`, false],
      ['another group', shopToml + more + chief + groupToml('leads', ['chief']), true],
      ['a warning only', `${shopToml}${more}${chief}${groupToml('leads', ['chief'])}[audit]\nredaction = "none"\n`, true],
      [
        'a webhook that points inside',
        shopToml + more + chief + groupToml('leads', ['chief']) + webhookToml('intranet.example'),
        false,
      ],
      [
        'a webhook that points outside',
        shopToml + more + chief + groupToml('leads', ['chief']) + webhookToml('hooks.example.net'),
        true,
      ],
    ];
    it.each(cases)('CF-I1, CF-I2: %s', async (_what, shared, accepted) => {
      const file = write(shared, api.database.url);
      const state = () => storedState(api.services.database, ['audit_events', 'rate_windows']);
      const before = await state();
      const said = await isValid(file);
      expect(await state()).toBe(before);
      expect({ said, reloads: await reloads(file), starts: await starts(file) }).toEqual({
        said: accepted,
        reloads: accepted,
        starts: accepted,
      });
      if (!accepted) expect(await state()).toBe(before);
    });
  });

  it('CF-I2: writes of what was refused nothing but config.rejected', async () => {
    const types = () =>
      api.services.database.query<{ type: string }>('select event_type as type from audit_events order by position');
    const before = (await types()).length;
    const file = write(withoutWorkflows, api.database.url);
    expect([await reloads(file), await starts(file)]).toEqual([false, false]);
    expect((await types()).slice(before)).toEqual([{ type: 'config.rejected' }]);
  });

  describe('a file that makes nobody an admin', () => {
    const powerless = shopToml + roleToml('chief', ['user.write']);
    let own: TestApi;
    beforeEach(async () => {
      own = await startTestApi({ toml: shopToml + chief });
      await own.services.database.query(`update users set roles = '{chief}' where id = 'admin'`);
    });
    afterEach(() => own.close());

    it('CF-43: is refused by all three, and changes nothing', async () => {
      const state = () => storedState(own.services.database, ['audit_events', 'rate_windows']);
      const before = await state();
      const file = write(powerless, own.database.url);
      expect([await isValid(file), await reloads(file, own), await starts(file)]).toEqual([false, false, false]);
      expect(await state()).toBe(before);
    });

    it('CF-43: may be put in force by a start if nobody is one anyway', async () => {
      await own.services.database.query(`update users set status = 'suspended' where id = 'admin'`);
      const file = write(powerless, own.database.url);
      expect([await isValid(file), await starts(file)]).toEqual([true, true]);
    });
  });
});

/** A database as a program with the first `count` migrations left it, in use. */
async function olderDatabase(count: number) {
  const database = await createEmptyDatabase();
  const dir = join(import.meta.dirname, '../../db/migrations');
  const how = { direction: 'up', log: () => {}, migrationsTable: 'schema_migrations' } as const;
  await runner({ databaseUrl: database.url, dir, count, ...how });
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(`insert into users (id, roles, source) values ('admin', '{admin}', 'bootstrap')`);
  await client.query(`insert into config_generations (digest, content) values ('older', $1)`, [
    JSON.stringify(api.config.shared),
  ]);
  await client.end();
  return database;
}

describe('svc config check --online on a database of an older program (CF-I1)', () => {
  // By how many there are: numbers may be left out.
  const files = readdirSync(join(import.meta.dirname, '../../db/migrations'));
  const versions = Array.from({ length: files.length - 1 }, (_, index) => index + 1);
  it.each(versions)(
    'CF-I1: with schema %i it says what a start will say, and leaves the schema as it is',
    async (count) => {
      const database = await olderDatabase(count);
      const client = new pg.Client({ connectionString: database.url });
      await client.connect();
      try {
        const applied = async () => (await client.query('select count(*)::int as count from schema_migrations')).rows[0].count;
        expect(await isValid(write(withoutWorkflows, database.url))).toBe(false);
        const file = write(shopToml + more, database.url);
        expect(await isValid(file)).toBe(true);
        expect(await applied()).toBe(count);
        expect(await starts(file)).toBe(true);
        expect(await applied()).toBe(versions.length + 1);
      } finally {
        await client.end();
        await database.drop();
      }
    },
    60_000,
  );
});
