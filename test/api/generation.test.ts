import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createServer } from '../../api/server.js';
import { syncGeneration } from '../../runtime/generation.js';
import { loadSecretKey } from '../../runtime/secret-key.js';
import { startTestApi, type TestApi } from '../support/api.js';

describe('generations of the shared configuration (configuration section 7)', () => {
  let one: TestApi;
  let other: TestApi;
  beforeEach(async () => {
    one = await startTestApi();
    other = await startTestApi({ database: one.database });
  });
  afterEach(async () => {
    await other?.close();
    await one?.close();
  });

  const withShared = (change: (shared: TestApi['config']['shared']) => void) => {
    const shared = structuredClone(one.config.shared);
    change(shared);
    return { ...one.config, shared };
  };

  it('stores nothing new while the shared part is the same, whoever starts', async () => {
    expect([one.services.generation().number, other.services.generation().number]).toEqual([1, 1]);
    expect((await syncGeneration(one.services.database, one.config)).revision).toBe('r1');
    const [row] = await one.services.database.query('select count(*) as count from config_generations');
    expect(row).toEqual({ count: 1 });
  });

  it('reaches other processes, ends memberships of lost groups, and is told in the audit log (CF-32, IM-75)', async () => {
    await one.createUser('member', { groups: ['dba-team'] });
    const next = withShared((shared) => {
      shared.auth.groups = [{ name: 'other-team', roles: [] }];
    });
    const generation = await syncGeneration(one.services.database, next);
    expect(generation.revision).toBe('r2');
    await expect.poll(() => other.services.generation().revision, { timeout: 5000 }).toBe('r2');
    const shown = await one.call('GET', '/api/users/member', { token: one.tokens.admin });
    expect(shown.body.groups).toEqual([]);
    const events = await one.services.database.query<{ type: string; metadata: string }>(
      `select event_type as type, metadata_json as metadata from audit_events where event_type in ('config.synced', 'group.member_removed') order by position`,
    );
    expect(events.map((event) => event.type)).toEqual(['config.synced', 'group.member_removed', 'config.synced']);
    const [first, , second] = events.map((event) => JSON.parse(event.metadata));
    expect(first).toMatchObject({ generation: 1, changed_sections: ['auth.groups', 'databases', 'workflows'] });
    expect(second).toMatchObject({ generation: 2, changed_sections: ['auth.groups'] });
  });

  it('refuses a file that lost a section, and changes nothing (CF-50)', async () => {
    const lost = withShared((shared) => {
      shared.workflows = [];
    });
    await expect(syncGeneration(one.services.database, lost)).rejects.toThrow(
      /workflows: the generation in force has 2 entries, the file has none/,
    );
    const [row] = await one.services.database.query('select max(number) as number from config_generations');
    expect(row).toEqual({ number: 1 });
    expect((await syncGeneration(one.services.database, { ...lost, allowEmpty: ['workflows'] })).number).toBe(2);
  });

  it('CF-I2: a start that cannot listen puts nothing in force', async () => {
    const config = withShared((shared) => {
      shared.auth.groups = [{ name: 'other-team', roles: [] }];
    });
    const { log } = one.services;
    const listen = new URL(one.url).host;
    const started = createServer({ config, listen, forceBootstrap: true, log, signal: new AbortController().signal });
    await expect(started).rejects.toThrow(`cannot listen on ${listen}: the port is in use`);
    const [row] = await one.services.database.query('select count(*) as count from config_generations');
    expect(row).toEqual({ count: 1 });
    expect((await one.call('GET', '/api/me', { token: one.tokens.admin })).status).toBe(200);
  });

  it('makes one generation of many equal syncs at once', async () => {
    const next = withShared((shared) => {
      shared.auth.defaultRole = 'approver';
    });
    const numbers = await Promise.all(Array.from({ length: 5 }, () => syncGeneration(one.services.database, next)));
    expect(new Set(numbers.map((generation) => generation.number))).toEqual(new Set([2]));
  });

  it('judges each call by exactly one generation while others follow one another (CF-I6)', async () => {
    const token = await one.createUser('caller', { roles: ['requester'] });
    const create = (api: TestApi) => {
      const body = { operation: 'execute_select', environment: 'production', database: 'shop', detail: 'select 1' };
      return api.call('POST', '/api/requests', { token, body });
    };
    const calls: ReturnType<typeof create>[] = [];
    for (let n = 0; n < 10; n += 1) {
      calls.push(create(one), create(other));
      const next = withShared((shared) => {
        for (const workflow of shared.workflows) workflow.pendingTtlSecs = 5000 + n;
      });
      const { number } = await syncGeneration(one.services.database, next);
      calls.push(create(one), create(other));
      await expect.poll(() => one.services.generation().number, { timeout: 5000 }).toBe(number);
    }
    const answers = await Promise.all(calls);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    const rows = await one.services.database.query<{ told: number | null; stored: number | null }>(
      `select (r.workflow->>'pendingTtlSecs')::int as told,
         (select (w->>'pendingTtlSecs')::int from jsonb_array_elements(g.content->'workflows') w where w->>'environment' = 'production') as stored
       from requests r join config_generations g on r.policy_revision = 'r' || g.number where r.requester = 'caller'`,
    );
    expect(rows).toHaveLength(40);
    expect(new Set(rows.map(({ told }) => told)).size).toBeGreaterThan(5);
    for (const { told, stored } of rows) expect(told).toBe(stored ?? one.config.retention.approvalTtlSecs);
  });
});

describe('the secret key (ET-21, ET-22)', () => {
  const security = (path: string, named: boolean, key: string | null = null) => ({
    secretKey: key,
    secretKeyFile: path,
    secretKeyFileNamed: named,
    auditPublicKeys: [],
  });

  it('is made once at the default place with a warning, and read from then on', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-key-'));
    const path = join(folder, 'secret.key');
    const warnings: string[] = [];
    const load = () => loadSecretKey(security(path, false), (text) => warnings.push(text));
    const keys = await Promise.all([load(), load(), load()]);
    expect(new Set(keys.map((key) => Buffer.from(key).toString('hex')))).toEqual(new Set([await readFile(path, 'utf8')]));
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(warnings).toHaveLength(1);
    await rm(folder, { recursive: true });
  });

  it('stops the start when it is missing though named, readable by others, or of the wrong length (ET-21a, ET-22)', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-key-'));
    const path = join(folder, 'secret.key');
    const warn = () => {};
    await expect(loadSecretKey(security(path, true), warn)).rejects.toThrow('does not exist');
    await writeFile(path, 'ab', { mode: 0o600 });
    await expect(loadSecretKey(security(path, true), warn)).rejects.toThrow('64 hex');
    await writeFile(`${path}2`, 'a'.repeat(64), { mode: 0o644 });
    await expect(loadSecretKey(security(`${path}2`, true), warn)).rejects.toThrow('readable by others');
    await expect(loadSecretKey(security(path, true, 'zz'), warn)).rejects.toThrow('SVC_SECRET_KEY');
    await rm(folder, { recursive: true });
  });
});
