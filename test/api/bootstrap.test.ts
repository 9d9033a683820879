import { mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { bootstrap } from '../../api/identity/bootstrap.js';
import { type BootstrapFiles, bootstrapFiles } from '../../api/identity/bootstrap-files.js';
import { sha256Hex } from '../../crypto/hash.js';
import { bootstrapHashes } from '../../db/bootstrap.js';
import type { Database } from '../../db/client.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';

let stored: TestDatabase;
let database: Database;
let stateDir: string;
let warnings: string[];

beforeAll(async () => {
  stored = await createTestDatabase();
  database = openTestDatabase(stored.url, 6);
});
afterAll(async () => {
  await database.close();
  await stored.drop();
});
beforeEach(async () => {
  await database.query('delete from tokens');
  await database.query('delete from users');
  await rm(stateDir ?? '', { recursive: true, force: true });
  stateDir = await mkdtemp(join(tmpdir(), 'svc-bootstrap-'));
  warnings = [];
});

const presets = { adminToken: null as string | null, agentToken: null as string | null };
const anywhere = { minVersion: '0.0.0', defaultScopes: [] as string[], requireScopes: false };
const start = (options: { force?: boolean; dir?: string; bootstrap?: typeof presets; defaultScopes?: string[] } = {}) =>
  bootstrap({
    database,
    config: {
      stateDir: options.dir ?? stateDir,
      bootstrap: options.bootstrap ?? presets,
      agents: { ...anywhere, defaultScopes: options.defaultScopes ?? [] },
    },
    force: options.force ?? false,
    warn: (text) => warnings.push(text),
  });
const tokenFiles = ['admin-token', 'agent-token', 'requester-token'];
const read = (name: string) => readFile(join(stateDir, name), 'utf8');
const tokens = () => Promise.all(tokenFiles.map(read));
const files = async () => (await readdir(stateDir)).sort();

describe('the first start (IM-55, IM-56, IM-57)', () => {
  it('makes the admin, three tokens and their files', async () => {
    await start();
    const made = await tokens();
    for (const token of made) expect(token).toMatch(/^svc_[0-9a-f]{32}$/);
    expect(await bootstrapHashes(database)).toEqual(new Set(made.map(sha256Hex)));
    expect(await files()).toEqual([...tokenFiles, 'bootstrap.json'].sort());
    for (const name of await files()) expect((await stat(join(stateDir, name))).mode & 0o777).toBe(0o600);
    const rows = await database.query(
      `select name, subject_type as type, subject_id as id, scope_ceiling as ceiling, expires_at as expires from tokens order by name`,
    );
    expect(rows).toEqual([
      { name: 'bootstrap-admin', type: 'user', id: 'admin', ceiling: ['admin', 'requester'], expires: null },
      { name: 'bootstrap-agent', type: 'agent', id: 'agent', ceiling: null, expires: null },
      { name: 'bootstrap-requester', type: 'user', id: 'admin', ceiling: ['requester'], expires: null },
    ]);
  });

  it('happens once, however many processes start, and changes nothing on a restart', async () => {
    await Promise.all(Array.from({ length: 4 }, () => start()));
    const first = await tokens();
    await start();
    expect(await tokens()).toEqual(first);
    expect((await bootstrapHashes(database)).size).toBe(3);
    expect(await files()).toEqual([...tokenFiles, 'bootstrap.json'].sort());
  });

  it('uses the tokens that are preset, and warns when they are not the ones of a later start', async () => {
    const preset = { adminToken: `svc_${'1'.repeat(32)}`, agentToken: `svc_${'2'.repeat(32)}` };
    await start({ bootstrap: preset });
    expect(await read('admin-token')).toBe(preset.adminToken);
    await start({ bootstrap: { ...preset, agentToken: `svc_${'3'.repeat(32)}` } });
    expect(warnings).toEqual(['bootstrap.agent_token is not a bootstrap token of this database']);
  });

  it('starts with another, empty state directory', async () => {
    await start();
    const other = await mkdtemp(join(tmpdir(), 'svc-bootstrap-'));
    await start({ dir: other });
    expect(await readdir(other)).toEqual([]);
    await rm(other, { recursive: true });
  });

  it('stops when a listed file is gone, and starts when the list is gone with the files', async () => {
    await start();
    await rm(join(stateDir, 'agent-token'));
    await expect(start()).rejects.toThrow(/agent-token is missing .* --force-bootstrap/);
    for (const name of await files()) await rm(join(stateDir, name));
    await start();
    expect(await files()).toEqual([]);
  });
});

describe('--force-bootstrap (IM-58)', () => {
  it('revokes the old tokens, one event each, and makes three anew', async () => {
    await start();
    const old = await tokens();
    await start({ force: true });
    const fresh = await tokens();
    expect(fresh.some((token) => old.includes(token))).toBe(false);
    expect(await bootstrapHashes(database)).toEqual(new Set(fresh.map(sha256Hex)));
    const [row] = await database.query<{ count: number }>(
      `select count(*) as count from audit_events where event_type = 'token.revoked' and metadata_json like '%force_bootstrap%'
         and resource_id in (select id::text from tokens)`,
    );
    expect(row?.count).toBe(3);
  });
});

describe('--force-bootstrap for a user admin who is no active admin (IM-58)', () => {
  it.each(['suspended', 'deleted'])('says that the tokens of one who is %s are refused', async (status) => {
    await start();
    await database.query(`update users set status = $1 where id = 'admin'`, [status]);
    await start({ force: true });
    expect(warnings).toEqual([`the user admin is ${status}: the new admin-token and requester-token are refused`]);
  });

  it('says that the token of one who lost the role is no administrator any more', async () => {
    await start();
    await start({ force: true });
    expect(warnings).toEqual([]);
    await database.query(`update users set roles = '{requester}' where id = 'admin'`);
    await start({ force: true });
    expect(warnings).toEqual([
      'the user admin does not have the role admin itself: without a group that gives it, the new admin-token administers nothing',
    ]);
  });
});

describe('the scopes of the agent token (HD-10)', () => {
  const scopes = async () =>
    (
      await database.query<{ scopes: string[] | null }>(
        `select agent_scopes as scopes from tokens where subject_type = 'agent' and revoked_at is null`,
      )
    )[0]?.scopes;

  it('are the default ones of the configuration, also after --force-bootstrap', async () => {
    await start({ defaultScopes: ['shop/*'] });
    expect(await scopes()).toEqual(['shop/*']);
    await start({ defaultScopes: ['crm/*'], force: true });
    expect([await scopes(), warnings]).toEqual([['crm/*'], []]);
  });

  it('are given to a token of an older version by the next start, once, and are never changed after', async () => {
    await start();
    const [, before] = await tokens();
    expect(await scopes()).toBeNull();
    await Promise.all([start({ defaultScopes: ['shop/*'] }), start({ defaultScopes: ['shop/*'] })]);
    await start({ defaultScopes: ['*/*'] });
    expect([await scopes(), (await tokens())[1]]).toEqual([['shop/*'], before]);
    expect(warnings).toEqual(['the bootstrap agent token had no scopes; from now on it serves shop/* (agents.default_scopes)']);
    const events = await database.query<{ metadata: object }>(
      `select metadata_json::jsonb as metadata from audit_events where event_type = 'token.scoped'`,
    );
    expect(events).toEqual([{ metadata: { issued_for: 'agent', agent_scopes: ['shop/*'] } }]);
  });
});

describe('a kill at any point (IM-I10)', () => {
  it('before the commit: the next start begins again', async () => {
    const prepared = bootstrapFiles(stateDir);
    await prepared.prepare({ 'admin-token': 'svc_a', 'requester-token': 'svc_b', 'agent-token': 'svc_c' });
    await start();
    expect(await bootstrapHashes(database)).toEqual(new Set((await tokens()).map(sha256Hex)));
    expect(await files()).toEqual([...tokenFiles, 'bootstrap.json'].sort());
  });

  const renames = [...tokenFiles, 'bootstrap.json'];
  it.each([0, 1, 2, 3])('after the commit and %d renames: the next start finishes them', async (done) => {
    await start();
    const made = await tokens();
    for (const name of renames.slice(done)) await rename(join(stateDir, name), join(stateDir, `${name}.tmp`));
    await start();
    expect(await tokens()).toEqual(made);
    expect(await files()).toEqual([...renames].sort());
  });

  it('removes what a process left that lost to one with another directory', async () => {
    const other = await mkdtemp(join(tmpdir(), 'svc-bootstrap-'));
    await start({ dir: other });
    const leftover: BootstrapFiles = bootstrapFiles(stateDir);
    await leftover.prepare({ 'admin-token': 'svc_a', 'requester-token': 'svc_b', 'agent-token': 'svc_c' });
    await start();
    expect(await files()).toEqual([]);
    await rm(other, { recursive: true });
  });

  it('refuses a list that is none', async () => {
    await start();
    await writeFile(join(stateDir, 'bootstrap.json'), '{');
    await expect(start()).rejects.toThrow(/bootstrap.json is not a list/);
  });
});
