import { createHash } from 'node:crypto';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifyLog } from '../../api/audit/verify.js';
import { signingKeyFromSeed } from '../../crypto/ed25519.js';
import { openCheckpoint } from '../../crypto/signed-note.js';
import { readSharedGauges } from '../../db/gauges.js';
import { insertSecretKey } from '../../db/secret-key.js';
import { openAuditKeys } from '../../runtime/audit-keys.js';
import { revokeSigningKey, rotateKeys } from '../../runtime/key-rotation.js';
import { rotateSecretKey } from '../../runtime/rotate-secret-key.js';
import { sealedKey } from '../../runtime/signing-keys.js';
import { createSealer } from '../../worker/sealer.js';
import { numbered, openSealing, readChain, rootUpTo, type Sealing, secretKey, writeEvents } from '../support/sealing.js';

let sealing: Sealing;
let lines: Record<string, unknown>[];
beforeEach(async () => {
  sealing = await openSealing();
  lines = [];
});
afterEach(() => sealing.close());

const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) });
const origin = () => 'gateway.example';
const sealer = () => createSealer({ database: sealing.database, keys: sealing.keys, origin, isAnchored: false, log });
const unsealed = async () => (await sealing.database.query('select 1 from audit_events where seq is null')).length;
const work = () => ({ database: sealing.database, purpose: 'audit' as const, secretKey });
const messages = () => lines.map(({ msg, reason }) => [msg, ...(reason === undefined ? [] : [String(reason).split(':')[0]])]);

/** Signs a text with a key that the gateway does not know. */
const stranger = signingKeyFromSeed(new Uint8Array(32).fill(7));
const forged = (text: string) => stranger.sign(Buffer.from(text));

async function newest() {
  const [row] = await sealing.database.query<{ seq: number; event_hash: string; sealed_at: string; tree_root: string }>(
    'select * from audit_head',
  );
  return row!;
}

describe('a stored chain that cannot be verified (AU-44)', () => {
  const stopped = (reason: string) => [['audit sealing stopped', reason]];

  beforeEach(async () => {
    await writeEvents(sealing.database, numbered('before', 300));
    await sealing.sealAll();
    await writeEvents(sealing.database, ['after']);
  });

  const wiped = ['delete from audit_head', 'delete from audit_tiles', 'delete from audit_purges'];
  const tampers: [string, string, () => Promise<string[]>][] = [
    ['a head that was removed', 'head_missing', async () => ['delete from audit_head']],
    [
      'everything sealed removed but the tiles',
      'head_missing',
      async () => ['delete from audit_head', 'delete from audit_events where seq is not null'],
    ],
    ['everything removed, for a new log to begin', 'head_missing', async () => [...wiped, 'delete from audit_events']],
    [
      'everything removed, and its events but one put in again as new ones',
      'head_missing',
      async () => [
        ...wiped,
        `delete from audit_events where seq = 7`,
        `update audit_events set seq = null, prev_hash = null, event_hash = null`,
        `delete from audit_events where event_type = 'audit.signed_checkpoint'`,
      ],
    ],
    [
      'everything removed, and leave to begin signed by a stranger',
      'head_missing',
      async () => [
        ...wiped,
        'delete from audit_events where seq is not null',
        `update signing_keys set begin_signature = '${forged(`audit-begin:v1|${(await sealing.keys(sealing.database)).signer!.keyId}`)}'
         where purpose = 'audit'`,
      ],
    ],
    [
      'the newest event removed',
      'head_mismatch',
      async () => ['delete from audit_events where seq = (select max(seq) from audit_events)'],
    ],
    ['all sealed events removed', 'head_mismatch', async () => ['delete from audit_events where seq is not null']],
    [
      'an event behind the head',
      'head_mismatch',
      async () => [
        `update audit_events set seq = 999, prev_hash = repeat('a', 64), event_hash = repeat('b', 64) where seq is null`,
      ],
    ],
    [
      'another text in the newest event',
      'head_mismatch',
      async () => [`update audit_events set reason = 'x' where seq = (select seq from audit_head)`],
    ],
    [
      'another hash in event and head',
      'head_signature_invalid',
      async () => [
        `update audit_events set event_hash = repeat('c', 64) where seq = (select seq from audit_head)`,
        `update audit_head set event_hash = repeat('c', 64)`,
      ],
    ],
    ['a signature that is none', 'head_signature_invalid', async () => [`update audit_head set signature = 'none'`]],
    [
      'a head signed by a stranger',
      'head_signature_invalid',
      async () => {
        const { seq, event_hash, sealed_at } = await newest();
        const signature = forged(`audit-head:v1|${seq}|${event_hash}|${sealed_at}`);
        return [`update audit_head set signature = '${signature}', key_id = '${stranger.keyId}'`];
      },
    ],
    [
      'a stranger whose public key the database claims',
      'head_signature_invalid',
      async () => {
        const { seq, event_hash, sealed_at } = await newest();
        const signature = forged(`audit-head:v1|${seq}|${event_hash}|${sealed_at}`);
        const { keyId, publicKey, sealedSeed } = sealedKey('audit', new Uint8Array(32).fill(9), new Uint8Array(32).fill(7));
        return [
          `insert into signing_keys (key_id, purpose, public_key, sealed_seed, status) values ('${keyId}', 'audit', '${publicKey}', '${sealedSeed}', 'retired')`,
          `update audit_head set signature = '${signature}', key_id = '${keyId}'`,
        ];
      },
    ],
    ['another root of the tree', 'tree_mismatch', async () => [`update audit_head set tree_root = repeat('d', 64)`]],
    [
      'a tile with another hash',
      'tree_mismatch',
      async () => [
        `update audit_tiles set hashes = overlay(hashes placing '\\x00'::bytea from 1 for 1) where level = 0 and width < 256`,
      ],
    ],
    ['a tile that is gone', 'tree_mismatch', async () => ['delete from audit_tiles where level = 1']],
    [
      'a current key that does not open',
      'the current audit key does not open under the secret key',
      async () => [
        `update signing_keys set status = 'retired' where purpose = 'audit'`,
        `insert into signing_keys (key_id, purpose, public_key, sealed_seed, status)
         select key_id || '0', purpose, public_key, sealed_seed, 'current' from signing_keys where purpose = 'audit'`,
      ],
    ],
  ];

  it.each(tampers)('is not continued: %s', async (_, reason, statements) => {
    await sealing.tamper(...(await statements()));
    const before = await unsealed();
    const job = sealer();
    const pauses = [await job.once(), await job.once()];
    expect(pauses).toEqual([10_000, 10_000]);
    expect(await unsealed()).toBe(before);
    expect(messages()).toEqual(stopped(reason));
  });

  it('nor begun anew by a key that is made because none is current any more', async () => {
    await sealing.tamper(
      ...wiped,
      'delete from audit_events where seq is not null',
      `update signing_keys set status = 'retired' where purpose = 'audit'`,
    );
    await openAuditKeys({ database: sealing.database, secretKey, publicKeys: [] });
    await sealer().once();
    expect(messages()).toEqual(stopped('head_missing'));
  });

  it('gives way to a new log under the first key of a database without any', async () => {
    const { database } = sealing;
    await sealing.tamper(
      ...wiped,
      'delete from audit_events where seq is not null',
      `delete from signing_keys where purpose = 'audit'`,
    );
    const keys = await openAuditKeys({ database, secretKey, publicKeys: [] });
    await createSealer({ database, keys, origin, isAnchored: false, log }).once();
    expect(messages()).toEqual([]);
    expect((await readChain(sealing)).map(({ event_type }) => event_type)).toContain('signing_key.created');
  });

  it('is seen by the number of unsealed events, which rises (AU-72)', async () => {
    const gauge = async () => (await readSharedGauges(sealing.database, 3600)).auditUnsealed;
    await sealing.tamper('delete from audit_head');
    await sealer().once();
    expect(await gauge()).toBe(1);
    await writeEvents(sealing.database, numbered('more', 4));
    await sealer().once();
    expect(await gauge()).toBe(5);
  });

  it('is continued when it verifies again', async () => {
    const job = sealer();
    const { tree_root } = await newest();
    await sealing.tamper(`update audit_head set tree_root = repeat('d', 64)`);
    await job.once();
    await sealing.tamper(`update audit_head set tree_root = '${tree_root}'`);
    await job.once();
    expect(messages()).toEqual([...stopped('tree_mismatch'), ['audit sealing goes on']]);
    expect(await unsealed()).toBe(0);
    await readChain(sealing);
  });
});

describe('a checkpoint (AU-44)', () => {
  it('that somebody inserted is never sealed, and spoils nothing', async () => {
    const planted = `insert into audit_events (id, event_type, event_category, outcome, actor_id, actor_type)
      values (gen_random_uuid(), 'audit.signed_checkpoint', 'policy', 'info', 'system', 'system')`;
    await sealing.database.query(planted);
    await writeEvents(sealing.database, numbered('after', 3));
    await sealer().once();
    expect(await unsealed()).toBe(1);
    const valid = await verifyLog(
      { database: sealing.database, auditKeys: sealing.keys },
      { event: null, tree: null },
      new AbortController().signal,
    );
    expect(valid).toMatchObject({ valid: true, unsealed: 1 });
    await readChain(sealing);
  });
});

describe('a record of a purge that never was (AU-46)', () => {
  it.each([2, 1_000_000])('for the events up to %i stops no sealing, and spoils no checkpoint', async (seq) => {
    await writeEvents(sealing.database, ['before']);
    await sealing.sealAll();
    await sealing.database.query(
      `insert into audit_purges (last_purged_seq, last_purged_hash, purged_before, retained_count, key_id, signature)
       select ${seq}, event_hash, created_at, 0, 'k', 's' from audit_events where seq = 2`,
    );
    await writeEvents(sealing.database, numbered('after', 130));
    await sealer().once();
    expect(messages()).toEqual([['audit_checkpoint']]);
    expect(await unsealed()).toBe(0);
    await readChain(sealing);
  });
});

describe('the keys of the audit log (AU-40)', () => {
  it('change at once, and what older ones signed verifies for ever, also of a revoked one', async () => {
    await writeEvents(sealing.database, numbered('one', 120));
    await sealing.sealAll();
    const first = (await sealing.keys(sealing.database)).signer!.keyId;
    const second = await rotateKeys(work(), { overlapSecs: 3600, now: false });
    await writeEvents(sealing.database, numbered('two', 120));
    await sealing.sealAll();
    expect(await sealing.database.query('select key_id from audit_head')).toEqual([{ key_id: second }]);
    const third = await revokeSigningKey(work(), second);
    await writeEvents(sealing.database, numbered('three', 120));
    await sealing.sealAll();
    expect(await sealing.database.query('select key_id from audit_head')).toEqual([{ key_id: third }]);
    const keyIds = (await readChain(sealing)).flatMap(({ event_type, metadata_json }) =>
      event_type === 'audit.signed_checkpoint' ? [JSON.parse(metadata_json).key_id] : [],
    );
    expect(keyIds).toEqual([first, second, third]);
    expect([...(await sealing.keys(sealing.database)).trusted.keys()].toSorted()).toEqual([first, second, third].toSorted());
    expect(await sealing.database.query(`select status from signing_keys where key_id = '${first}'`)).toEqual([
      { status: 'retired' },
    ]);
  });

  it('may come from elsewhere when the configuration lists them', async () => {
    await writeEvents(sealing.database, ['one']);
    await sealing.sealAll();
    const { seq, event_hash, sealed_at, tree_root } = await newest();
    await sealing.tamper(
      `update audit_head set key_id = '${stranger.keyId}', signature = '${forged(`audit-head:v1|${seq}|${event_hash}|${sealed_at}`)}',
         tree_signature = '${forged(`audit-tree:v1|${seq}|${tree_root}`)}'`,
    );
    await writeEvents(sealing.database, ['two']);
    expect(await sealing.sealOnce()).toMatchObject({ kind: 'stopped' });
    const { database } = sealing;
    const listed = await openAuditKeys({ database, secretKey, publicKeys: [stranger.publicKeyHex] });
    await createSealer({ database, keys: listed, origin, isAnchored: false, log }).once();
    expect(await unsealed()).toBe(0);
    await readChain(sealing);
  });

  it('have the first 16 characters of the SHA-256 of the public bytes as their id, and lower-case signatures', async () => {
    await writeEvents(sealing.database, ['one']);
    await sealing.sealAll();
    const [row] = await sealing.database.query<{ id: string; key: string; signature: string }>(
      'select key_id as id, public_key as key, signature from audit_head join signing_keys using (key_id)',
    );
    expect(row?.id).toBe(
      createHash('sha256')
        .update(Uint8Array.from(Buffer.from(row!.key, 'hex')))
        .digest('hex')
        .slice(0, 16),
    );
    expect(row?.signature).toMatch(/^[0-9a-f]{128}$/);
  });
});

describe('checkpoints in the log of the process (AU-43, AU-81)', () => {
  it('are one line each, with place, hash, signature and the note of the tree', async () => {
    await writeEvents(sealing.database, numbered('many', 250));
    await sealer().once();
    const checkpoints = (await readChain(sealing)).filter(({ event_type }) => event_type === 'audit.signed_checkpoint');
    expect(checkpoints).toHaveLength(2);
    expect(lines.map(({ msg, seq, event_hash, signature }) => ({ msg, seq, event_hash, signature }))).toEqual(
      checkpoints.map(({ seq, event_hash, metadata_json }) => ({
        msg: 'audit_checkpoint',
        seq,
        event_hash,
        signature: JSON.parse(metadata_json).signature,
      })),
    );
    const [key] = await sealing.database.query<{ hex: string }>(
      `select public_key as hex from signing_keys where purpose = 'audit'`,
    );
    const events = await readChain(sealing);
    for (const { seq, note } of lines) {
      const noted = openCheckpoint(String(note), { name: 'gateway.example', publicKeyHex: key!.hex });
      expect([noted?.size, Buffer.from(noted!.root).toString('hex')]).toEqual([seq, rootUpTo(events, Number(seq))]);
    }
  });

  it('come 60 minutes after the last one, when nothing is written any more (AU-41)', async () => {
    await writeEvents(sealing.database, ['early']);
    await sealing.tamper(
      `update audit_events set created_at = to_char(clock_timestamp() at time zone 'UTC' - interval '61 minutes', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
       where position = (select min(position) from audit_events)`,
    );
    await sealer().once();
    expect(lines).toHaveLength(1);
    const before = await readChain(sealing);
    await sealer().once();
    expect(await readChain(sealing)).toEqual(before);
  });
});

describe('another secret key (HD-50)', () => {
  it('keeps the keys of the audit log; a sealer with the old one seals nothing more', async () => {
    const { database } = sealing;
    await database.transaction((tx) => insertSecretKey(tx, tx.macs.keyCheck));
    await writeEvents(database, numbered('old', 120));
    await sealing.sealAll();
    const next = new Uint8Array(32).fill(3);
    await rotateSecretKey(database, secretKey, next);
    expect(await sealing.sealOnce()).toMatchObject({ kind: 'stopped' });
    const keys = await openAuditKeys({ database, secretKey: next, publicKeys: [] });
    await createSealer({ database, keys, origin, isAnchored: false, log }).once();
    expect(await unsealed()).toBe(0);
    const types = (await readChain(sealing)).map(({ event_type }) => event_type);
    expect(types.at(-1)).toBe('secret_key.changed');
    expect(types.filter((type) => type === 'signing_key.created')).toHaveLength(1);
  });
});
