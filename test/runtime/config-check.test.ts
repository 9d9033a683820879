import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConfigCheckOptions, runConfigCheck } from '../../runtime/commands/config-check.js';
import { MINIMAL } from '../config/support.js';
import { shopToml, startTestApi, type TestApi } from '../support/api.js';
import { createEmptyDatabase } from '../support/postgres.js';
import { roleToml } from '../support/toml.js';

const directory = mkdtempSync(join(tmpdir(), 'svc-check-'));
afterAll(() => rmSync(directory, { recursive: true }));
let files = 0;

async function check(text: string, options: Partial<ConfigCheckOptions> = {}, environment = {}) {
  const config = join(directory, `${files++}.toml`);
  writeFileSync(config, text);
  const lines: string[] = [];
  const print = (line: string) => void lines.push(line.replaceAll(config, 'server.toml'));
  const code = await runConfigCheck({ config, format: 'human', ...options }, environment, { out: print, err: print });
  return { code, lines };
}

const quiet = `${MINIMAL}[mcp]\nenabled = false\n`;

describe('svc config check (CF-61)', () => {
  it('tells errors in the form file:line:column: key: message (hint), and answers 1', async () => {
    expect(await check(`${MINIMAL}pool_mx = 5`)).toEqual({
      code: 1,
      lines: [
        'server.toml:4:1: database.pool_mx: unknown key (did you mean pool_max?)',
        'warning: server.toml:1:1: mcp.default_environment: no database has the environment development',
        'server.toml: 1 error, 1 warning',
      ],
    });
  });

  it('answers 0 for a valid file with warnings, and 1 with --strict', async () => {
    const warned = `${quiet}[auth]\nmode = "token"\n`;
    expect((await check(warned)).code).toBe(0);
    expect((await check(warned, { strict: true })).code).toBe(1);
  });

  it('prints one JSON object with --format json', async () => {
    const { code, lines } = await check(`${quiet}[servr]`, { format: 'json' });
    expect(code).toBe(1);
    expect(JSON.parse(lines.join(''))).toMatchObject({
      ok: false,
      errors: [{ file: 'server.toml', line: 6, column: 1, key: 'servr', message: 'unknown key', hint: 'did you mean server?' }],
      changes: null,
    });
  });
});

describe('svc config check --online (CF-61, CF-I1)', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startTestApi();
    await api.createUser('member', { groups: ['dba-team'] });
  });
  afterAll(() => api?.close());

  const secret = { SVC_SECRET_KEY: '5e'.repeat(32) };
  const file = (shared: string, url = api.database.url, head = '') =>
    `state_dir = "${api.stateDir}"\n${head}[database]\nurl = "${url}"\n[mcp]\nenabled = false\n${shared}`;
  const online = (text: string, environment = secret) => check(text, { online: true }, environment);

  it('warns of steps that no active user can complete, with their place in the file (RQ-38, CF-60)', async () => {
    const lines = async (text: string) => (await online(file(text))).lines.filter((line) => line.includes('nobody can approve'));
    expect(await lines(shopToml)).toEqual([]);
    const two = shopToml.replace('group = "dba-team"', 'group = "dba-team"\nmin = 2');
    expect(await lines(two)).toEqual([
      expect.stringMatching(
        /^warning: .*workflows\[\d\]: \S+: nobody can approve step 1 of 1 as things are: too few active users match group:dba-team \(/,
      ),
    ]);
    const entries = file(two)
      .split('\n')
      .flatMap((line, index) => (line === '[[workflows]]' ? [index + 1] : []));
    const [, line, entry] = /^warning: server\.toml:(\d+):1: workflows\[(\d)\]/.exec((await lines(two))[0] ?? '') ?? [];
    expect(Number(line)).toBe(entries[Number(entry)]);
    expect((await online(file(two))).code).toBe(0);
    const provider = '[auth.oidc]\nissuer = "https://id.example.com"\naudience = "svc"\n';
    expect(await lines(`${two}${provider}`)).toEqual([]);
  });

  it('says that nothing changes, or what would, and changes nothing', async () => {
    expect((await online(file(shopToml))).lines).toContain('no change to what all processes share: generation 1 stays in force');
    const other = shopToml.replaceAll('dba-team', 'leads').replace('"production"]', '"production", "qa"]');
    const { code, lines } = await online(file(other));
    expect(code).toBe(0);
    expect(lines).toEqual(
      expect.arrayContaining([
        'generation 1 is in force; this file makes generation 2: auth.groups, databases, workflows',
        'group dba-team is removed: 1 member will lose it',
        'server.toml: valid',
      ]),
    );
    const json = await check(file(other), { online: true, format: 'json' }, secret);
    expect(JSON.parse(json.lines.join('')).changes).toEqual({
      in_force: 1,
      next: 2,
      sections: ['auth.groups', 'databases', 'workflows'],
      removed_groups: [{ group: 'dba-team', members: 1 }],
    });
    const [row] = await api.services.database.query('select max(number) as number from config_generations');
    expect(row).toEqual({ number: 1 });
    const [member] = await api.services.database.query('select count(*) as count from group_members');
    expect(member).toEqual({ count: 1 });
  });

  it('refuses what start and reload refuse: a lost section, another secret key, a newer schema', async () => {
    const lost = await online(file(shopToml.slice(0, shopToml.indexOf('[[workflows]]'))));
    expect(lost).toMatchObject({ code: 1 });
    expect(lost.lines).toContain(
      'server.toml:1:1: workflows: the generation in force has 2 entries, the file has none (add "workflows" to allow_empty if this is meant)',
    );
    const { database } = api.services;
    expect((await online(file(shopToml), { SVC_SECRET_KEY: 'ab'.repeat(32) })).lines.join('\n')).toMatch(
      /signing key [0-9a-f]{16} \(execution_token\) cannot be opened/,
    );
    await database.query(`insert into schema_migrations (name, run_on) values ('999_future', now())`);
    expect((await online(file(shopToml))).lines.join('\n')).toMatch(/schema 999_future, newer than/);
    await database.query(`delete from schema_migrations where name = '999_future'`);
  });

  it('refuses what start and reload refuse: that nobody would be an admin', async () => {
    const own = await startTestApi({ toml: shopToml + roleToml('chief', ['*']) });
    await own.services.database.query(`update users set roles = '{chief}' where id = 'admin'`);
    const { code, lines } = await online(file(shopToml + roleToml('chief', ['user.write']), own.database.url));
    await own.close();
    expect([code, lines.join('\n')]).toEqual([
      1,
      expect.stringMatching(/server.toml:1:1: auth: no active user would be an admin/),
    ]);
  });

  it('says when the database is not reachable, without its address, and what a first start would make of an empty one', async () => {
    const away = await online(file(shopToml, 'postgres://svc:hunter2@127.0.0.1:1/svc'));
    expect(away.code).toBe(1);
    expect(away.lines.join('\n')).toMatch(
      /server\.toml:1:1: the gateway database is not reachable \(database\.url: ECONNREFUSED\)/,
    );
    expect(away.lines.join('\n')).not.toContain('hunter2');
    const empty = await createEmptyDatabase();
    const { code, lines } = await online(file(shopToml, empty.url));
    await empty.drop();
    expect([code, lines.join('\n')]).toEqual([
      0,
      expect.stringMatching(
        /^no generation is in force; this file makes generation 1: auth\.groups, databases, workflows\nserver\.toml: valid$/,
      ),
    ]);
  });
});
