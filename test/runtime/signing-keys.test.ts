import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { signingKeyFromSeed } from '../../crypto/ed25519.js';
import type { Database } from '../../db/client.js';
import { type KeyPurpose, listAllKeys, listUsableKeys } from '../../db/signing-keys.js';
import { type KeyCommand, runKeys } from '../../runtime/commands/keys.js';
import { openKeyRing, sealedKey } from '../../runtime/signing-keys.js';
import { createKeyKeeper } from '../../worker/key-keeper.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';
import { temporaryFolder } from '../support/processes.js';

let stored: TestDatabase;
let database: Database;
beforeEach(async () => {
  stored = await createTestDatabase();
  database = openTestDatabase(stored.url);
});
afterEach(async () => {
  await database.close();
  await stored.drop();
});

const purpose = 'execution_token';
const secretKey = new Uint8Array(32).fill(0x5e);
const ring = (secret = secretKey) => openKeyRing({ database, purpose, secretKey: secret });
const statuses = async () => (await listAllKeys(database, purpose)).map(({ status }) => status);
const currentId = async () => (await listUsableKeys(database, purpose)).find(({ status }) => status === 'current')?.keyId;
const eventsOf = async (keyId: string | undefined) =>
  (
    await database.query<{ type: string }>(
      'select event_type as type from audit_events where resource_id = $1 order by position',
      [keyId],
    )
  ).map(({ type }) => type.replace('signing_key.', ''));

/** Runs `svc server keys` against the database; what it printed, and its exit code. */
async function keys(command: KeyCommand, secret = '5e'.repeat(32), of: KeyPurpose = purpose) {
  const folder = await temporaryFolder();
  const config = join(folder, 'server.toml');
  await writeFile(join(folder, 'key'), secret, { mode: 0o600 });
  await writeFile(config, `state_dir = "."\n[database]\nurl = "${stored.url}"\n[security]\nsecret_key_file = "key"`);
  const lines: string[] = [];
  const say = { out: (line: string) => void lines.push(line), err: (line: string) => void lines.push(line) };
  return { code: await runKeys({ config, purpose: of, command }, say), text: lines.join('\n') };
}

const rotate = (now = false, overlapSecs = 3600) => keys({ verb: 'rotate', overlapSecs, now });

describe('signing keys (ET-20 to ET-24)', () => {
  it('are made once, however many processes start, and open only with the secret key (ET-22, ET-23)', async () => {
    const rings = await Promise.all(Array.from({ length: 4 }, () => ring()));
    const ids = (await Promise.all(rings.map((each) => each.rows()))).flat().map(({ keyId }) => keyId);
    expect(new Set(ids).size).toBe(1);
    await expect(ring(new Uint8Array(32).fill(2))).rejects.toThrow(new RegExp(`signing key ${ids[0]} .*cannot be opened`));
    expect(await eventsOf(ids[0])).toEqual(['created', 'activated']);
  });
});

describe('svc server keys (ET-25, ET-26)', () => {
  it('rotate publishes a key, which a worker makes the current one when its time has come, and retires the old one', async () => {
    await ring();
    const first = await currentId();
    const { code, text } = await rotate();
    expect([code, text]).toEqual([0, expect.stringContaining('becomes the current key in 10 minutes')]);
    expect(await statuses()).toEqual(['next', 'current']);
    const keeper = createKeyKeeper({ database });
    await keeper.once();
    expect(await statuses()).toEqual(['next', 'current']);
    await database.query(`update signing_keys set activate_at = clock_timestamp() - interval '1 ms' where status = 'next'`);
    await keeper.once();
    expect(await statuses()).toEqual(['current', 'retiring']);
    const second = await currentId();
    expect(second).not.toBe(first);
    const [overlap] = await database.query<{ secs: number }>(
      `select round(extract(epoch from not_after - clock_timestamp()) / 60)::int as secs from signing_keys where key_id = $1`,
      [first],
    );
    expect(overlap?.secs).toBe(60);
    await database.query(`update signing_keys set not_after = clock_timestamp() - interval '1 ms' where status = 'retiring'`);
    expect((await listUsableKeys(database, purpose)).map(({ keyId }) => keyId)).toEqual([second]);
    await keeper.once();
    expect(await statuses()).toEqual(['current', 'retired']);
    expect([await eventsOf(first), await eventsOf(second)]).toEqual([
      ['created', 'activated', 'retired'],
      ['created', 'activated'],
    ]);
  });

  it('rotate --now takes over at once, with the published key if there is one; a second published key is refused', async () => {
    await ring();
    await rotate();
    const [published] = await listAllKeys(database, purpose);
    expect(await rotate()).toEqual({ code: 1, text: expect.stringMatching(`key ${published?.keyId} is published already`) });
    expect((await rotate(true)).code).toBe(0);
    expect(await currentId()).toBe(published?.keyId);
    expect((await rotate(true)).code).toBe(0);
    expect(await statuses()).toEqual(['current', 'retiring', 'retiring']);
  });

  it('of commands at once make one published key', async () => {
    await ring();
    const codes = (await Promise.all(Array.from({ length: 4 }, () => rotate()))).map(({ code }) => code);
    expect(codes.toSorted()).toEqual([0, 1, 1, 1]);
    expect(await statuses()).toEqual(['next', 'current']);
  });

  it('revoke ends a key at once, and makes a new current one in the same step (ET-26)', async () => {
    const opened = await ring();
    const first = (await currentId()) ?? '';
    expect(await keys({ verb: 'revoke', keyId: first })).toEqual({
      code: 0,
      text: expect.stringContaining('the current key from now on'),
    });
    expect(await statuses()).toEqual(['current', 'revoked']);
    expect((await opened.rows()).map(({ keyId }) => keyId)).toEqual([await currentId()]);
    expect(await eventsOf(first)).toEqual(['created', 'activated', 'revoked']);
    expect(await keys({ verb: 'revoke', keyId: first })).toMatchObject({ code: 0 });
    expect(await keys({ verb: 'revoke', keyId: 'ffffffffffffffff' })).toEqual({
      code: 1,
      text: 'there is no execution_token key ffffffffffffffff',
    });
    expect(await statuses()).toEqual(['current', 'revoked']);
  });

  it('import publishes the key of a seed; a file that others can read, another form or a known key are refused', async () => {
    await ring();
    const seed = Uint8Array.from({ length: 32 }, (_, index) => index + 1);
    const folder = await temporaryFolder();
    const file = join(folder, 'seed');
    const importing = () => keys({ verb: 'import', file });
    await writeFile(file, `${Buffer.from(seed).toString('hex')}\n`, { mode: 0o644 });
    const told = [await importing()];
    await chmod(file, 0o600);
    expect((await importing()).code).toBe(0);
    expect((await listAllKeys(database, purpose))[0]).toMatchObject({ keyId: '65b60673d6ed884b', status: 'next' });
    await rotate(true);
    expect((await (await ring()).signer('65b60673d6ed884b', database)).publicKeyHex).toBe(signingKeyFromSeed(seed).publicKeyHex);
    told.push(await importing());
    await writeFile(file, 'secret-looking-text');
    told.push(await importing());
    await writeFile(join(folder, 'seed'), '');
    expect(told.map(({ code }) => code)).toEqual([1, 1, 1]);
    expect(told[0]?.text).toMatch(/readable by others/);
    expect(told[1]?.text).toBe('key 65b60673d6ed884b already exists');
    expect(told[2]?.text).toMatch(/64 hex characters/);
    expect(told.map(({ text }) => text).join()).not.toMatch(/0102030405|secret-looking/);
  });

  it('import and rotate-secret tell in one line that their file cannot be read (OP-51, CL-60)', async () => {
    await ring();
    const file = await temporaryFolder();
    const told = { code: 1, text: `${file}: cannot be read (it is a folder)` };
    expect([await keys({ verb: 'import', file }), await keys({ verb: 'rotate-secret', file })]).toEqual([told, told]);
  });

  it('import refuses a seed that is a key of the other purpose already (ET-15)', async () => {
    await ring();
    await openKeyRing({ database, purpose: 'audit', secretKey });
    const file = join(await temporaryFolder(), 'seed');
    await writeFile(file, '07'.repeat(32), { mode: 0o600 });
    expect((await keys({ verb: 'import', file })).code).toBe(0);
    expect(await keys({ verb: 'import', file }, undefined, 'audit')).toEqual({
      code: 1,
      text: expect.stringMatching(/^key [0-9a-f]{16} already exists$/),
    });
  });

  it('change nothing with another secret key, or before a server was ever started', async () => {
    await ring();
    const id = await currentId();
    expect(await keys({ verb: 'rotate', overlapSecs: 60, now: true }, 'ab'.repeat(32))).toEqual({
      code: 1,
      text: `signing key ${id} (execution_token) cannot be opened with this secret key`,
    });
    expect(await statuses()).toEqual(['current']);
    expect(await keys({ verb: 'revoke', keyId: id ?? '' }, 'ab'.repeat(32))).toMatchObject({ code: 1 });
    expect(await statuses()).toEqual(['current']);
    await database.query('delete from signing_keys');
    expect(await rotate()).toEqual({ code: 1, text: 'no current signing key for execution_token' });
  });

  it('list tells each key and what becomes of it, and no seed (ET-24)', async () => {
    await ring();
    await rotate();
    const { code, text } = await keys({ verb: 'list' });
    expect(code).toBe(0);
    expect(text).toMatch(/next {6}\S+ {2}current from /);
    for (const { sealedSeed } of await listAllKeys(database, purpose)) expect(text).not.toContain(sealedSeed);
  });

  it('list prints the line by which agents pin the keys that may sign now or next, and no other (HD-80)', async () => {
    await ring();
    const [first] = await listAllKeys(database, purpose);
    await rotate(true);
    await rotate();
    await keys({ verb: 'revoke', keyId: first!.keyId });
    const good = (await listAllKeys(database, purpose))
      .filter(({ status }) => status !== 'revoked')
      .map(({ publicKey }) => publicKey);
    const { text } = await keys({ verb: 'list' });
    expect(text.split('\n').at(-1)).toBe(`trusted_keys = ${JSON.stringify(good).replace(',', ', ')}`);
    expect(good).toHaveLength(2);
  });

  it('list prints the keys by which others verify the audit log, retired ones too', async () => {
    await openKeyRing({ database, purpose: 'audit', secretKey });
    await keys({ verb: 'rotate', overlapSecs: 0, now: true }, undefined, 'audit');
    const all = (await listAllKeys(database, 'audit')).map(({ publicKey }) => publicKey);
    const { text } = await keys({ verb: 'list' }, undefined, 'audit');
    expect([all.length, text.split('\n').slice(-2)]).toEqual([2, all]);
  });

  it.each(['execution_token', 'audit'] as const)(
    'list hands out no %s key that somebody else wrote into the database',
    async (of) => {
      await openKeyRing({ database, purpose: of, secretKey });
      const [own] = await listAllKeys(database, of);
      const stranger = sealedKey(of, new Uint8Array(32).fill(9));
      await database.query(
        `insert into signing_keys (key_id, purpose, public_key, sealed_seed, status) values ($1, $2, $3, $4, 'retiring')`,
        [stranger.keyId, of, stranger.publicKey, stranger.sealedSeed],
      );
      const { code, text } = await keys({ verb: 'list' }, undefined, of);
      expect(code).toBe(0);
      expect(text).toContain(own!.publicKey);
      expect(text).not.toContain(stranger.publicKey);
      expect(text).toContain(`key ${stranger.keyId} does not open under the secret key: do not trust it`);

      await database.query('update signing_keys set public_key = $2 where key_id = $1', [own!.keyId, stranger.publicKey]);
      expect((await keys({ verb: 'list' }, undefined, of)).text).not.toContain(stranger.publicKey);
    },
  );
});
