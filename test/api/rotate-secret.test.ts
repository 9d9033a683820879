import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { approvalMacs } from '../../crypto/approval-macs.js';
import { insertGeneration } from '../../db/generations.js';
import { updateSecretKey } from '../../db/secret-key.js';
import { codeGenerations, renewedGenerationCode } from '../../db/stored-codes.js';
import { type KeyCommand, runKeys } from '../../runtime/commands/keys.js';
import { syncGeneration } from '../../runtime/generation.js';
import type { TestApi } from '../support/api.js';
import { createTestDatabase, openTestDatabase, type TestDatabase, testMacs } from '../support/postgres.js';
import { eventually, temporaryFolder } from '../support/processes.js';
import { ownerAndApprover, startCalls } from './calls-api.js';
import type { GatewayCalls } from './gateway-calls.js';
import { gatewayCalls } from './gateway-calls.js';
import { reach } from './reach-status.js';

const newKey = 'a1'.repeat(32);

let database: TestDatabase;
let stateDir: string;
let old: TestApi;
let calls: GatewayCalls;
let tokens: Record<'owner' | 'approver' | 'admin', string>;
let opened: TestApi[];
beforeEach(async () => {
  database = await createTestDatabase();
  stateDir = await temporaryFolder();
  ({ api: old, calls, tokens } = await startCalls(ownerAndApprover, ['shop/production', 'shop/staging'], { database, stateDir }));
  opened = [old];
});
afterEach(async () => {
  for (const api of opened) await api.close();
  await database.drop();
});

async function start(secretKey: string) {
  const { api } = await startCalls({}, [], { database, stateDir, secretKey });
  opened.push(api);
  return gatewayCalls(api);
}

const rotate = (to = newKey) => keys({ verb: 'rotate-secret', file: 'new.key' }, to);

/** `svc server keys`, with the old key in the configuration. */
async function keys(command: KeyCommand, to = newKey) {
  const folder = await temporaryFolder();
  const config = join(folder, 'server.toml');
  await writeFile(join(folder, 'key'), '5e'.repeat(32), { mode: 0o600 });
  await writeFile(join(folder, 'new.key'), to, { mode: 0o600 });
  await writeFile(config, `state_dir = "."\n[database]\nurl = "${database.url}"\n[security]\nsecret_key_file = "key"`);
  const lines: string[] = [];
  const say = { out: (line: string) => void lines.push(line), err: (line: string) => void lines.push(line) };
  const how = command.verb === 'rotate-secret' ? { ...command, file: join(folder, command.file) } : command;
  return { code: await runKeys({ config, purpose: 'execution_token', command: how }, say), text: lines.join('\n') };
}

describe('svc server keys rotate-secret (HD-50)', () => {
  it('puts all that is stored under the new key; a process with the old one writes nothing more and does not start', async () => {
    const approved = await reach.approved!(calls, tokens);
    const dispatched = await reach.dispatched!(calls, tokens);
    const tampered = await reach.approved!(calls, tokens);
    await calls.sql(`update requests set dispatch_by = dispatch_by + interval '1 day' where id = $1`, [tampered]);
    expect(await rotate()).toMatchObject({ code: 0, text: expect.stringContaining('3 requests') });

    expect((await calls.act(tokens.owner, approved, 'resume')).status).toBe(503);
    expect((await calls.create(tokens.owner)).status).toBe(503);
    await expect(start('5e'.repeat(32))).rejects.toThrow(/signing key [0-9a-f]{16} .*cannot be opened.*under another one/);

    const keyId = (await calls.sql<{ id: string }>(`select key_id as id from signing_keys where purpose = 'execution_token'`))[0]!
      .id;
    for (const command of [{ verb: 'revoke', keyId } as const, { verb: 'rotate', overlapSecs: 60, now: true } as const])
      expect(await keys(command)).toEqual({ code: 1, text: 'the gateway database is under another secret key than this one' });

    const next = await start(newKey);
    expect((await next.act(tokens.owner, approved, 'resume')).status).toBe(200);
    for (const id of [approved, dispatched]) expect((await next.claim(id)).status).toBe(200);
    expect((await next.act(tokens.owner, tampered, 'resume')).body.error).toBe('approved content changed');
    expect(await next.sql(`select 1 from audit_events where event_type = 'config.rejected'`)).toEqual([]);
    expect(await next.sql(`select 1 from audit_events where event_type = 'secret_key.changed'`)).toHaveLength(1);
  });

  it('goes on where it was killed, and nothing starts before its end', async () => {
    const approved = await reach.approved!(calls, tokens);
    await old.close();
    opened = [];
    const db = openTestDatabase(database.url);
    const to = approvalMacs(Uint8Array.from(Buffer.from(newKey, 'hex')));
    await db.transaction((tx) => updateSecretKey(tx, { keyCheck: to.keyCheck, formerCheck: testMacs.keyCheck }));
    await db.transaction((tx) => codeGenerations(tx, 0, (one) => renewedGenerationCode(one, testMacs, to)));
    await db.close();
    for (const key of ['5e'.repeat(32), newKey])
      await expect(start(key)).rejects.toThrow('rotate-secret again with the same keys');
    expect(await rotate('b2'.repeat(32))).toEqual({ code: 1, text: expect.stringContaining('run it again with the same keys') });
    expect((await rotate()).code).toBe(0);

    const next = await start(newKey);
    expect((await next.act(tokens.owner, approved, 'resume')).status).toBe(200);
    expect(await next.sql(`select 1 from audit_events where event_type = 'config.rejected'`)).toEqual([]);
  });

  it('puts any number of generations under the new key, a few per transaction, but not one that was not under the old', async () => {
    const { database: db } = old.services;
    const { shared } = old.services.generation();
    await db.transaction(async (tx) => {
      for (let left = 45; left > 0; left -= 1) await insertGeneration(tx, `digest ${left}`, shared);
    });
    const [forged] = await calls.sql<{ number: number }>(
      `update config_generations set mac = 'none' where digest = 'digest 20' returning number`,
    );
    expect((await rotate()).code).toBe(0);
    const rows = await calls.sql<{ number: number; mac: string | null; written: string }>(
      'select number, mac, xmin::text as written from config_generations order by number',
    );
    expect(rows.filter(({ mac }) => mac === null)).toMatchObject([forged]);
    expect(new Set(rows.map(({ written }) => written)).size).toBe(3);
    const next = await start(newKey);
    expect(await next.sql(`select 1 from audit_events where event_type = 'config.rejected'`)).toEqual([]);
  });

  it('leaves a process with the former key no configuration to take or write', async () => {
    expect((await rotate()).code).toBe(0);
    await calls.sql(
      `insert into config_generations (digest, content, mac) select 'late', content, 'none' from config_generations limit 1`,
    );
    await eventually(() => old.logged.some((line) => line.includes('generation not read')));
    await expect(syncGeneration(old.services.database, old.config)).rejects.toThrow('under another one');
    expect(await calls.sql(`select 1 from audit_events where event_type = 'config.rejected'`)).toEqual([]);
  });

  it('refuses the key in use, and one that is none', async () => {
    expect(await rotate('5e'.repeat(32))).toEqual({ code: 1, text: 'the new secret key is the one in use' });
    expect(await rotate('nothing')).toEqual({ code: 1, text: expect.stringContaining('a secret key has 64 hex characters') });
    expect((await calls.create(tokens.owner)).status).toBe(201);
  });
});

describe('a configuration generation that somebody else wrote (HD-50)', () => {
  it('is not used, is audited once, and a reload goes above it', async () => {
    const { number } = old.services.generation();
    await calls.sql(
      `insert into config_generations (digest, content, mac)
       select repeat('0', 64), jsonb_set(content, '{workflows}', '[]'), mac from config_generations where number = $1`,
      [number],
    );
    const rejected = () => calls.sql(`select 1 from audit_events where event_type = 'config.rejected'`);
    for (let left = 100; (await rejected()).length === 0 && left > 0; left -= 1)
      await new Promise((done) => setTimeout(done, 100));
    await new Promise((done) => setTimeout(done, 2500));
    expect(await rejected()).toHaveLength(1);
    expect(old.services.generation().number).toBe(number);
    const next = await start('5e'.repeat(32));
    expect(opened.at(-1)!.services.generation().number).toBe(number + 2);
    expect((await next.create(tokens.owner)).status).toBe(201);
  });
});

describe('a signing key that somebody else wrote (HD-50)', () => {
  it('is not told to agents', async () => {
    await calls.sql(
      `insert into signing_keys (key_id, purpose, public_key, sealed_seed, status, activated_at, not_after)
       select 'ffffffffffffffff', purpose, repeat('ab', 32), sealed_seed, 'retiring', clock_timestamp(), clock_timestamp() + interval '1 day'
       from signing_keys where status = 'current' and purpose = 'execution_token'`,
    );
    const { body } = await old.call('GET', '/api/public-key', { token: old.tokens.agent });
    expect(body.keys.map((key: { key_id: string }) => key.key_id)).toEqual([body.key_id]);
  });
});
