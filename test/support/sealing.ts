import { createHash, createPublicKey, verify } from 'node:crypto';
import { expect } from 'vitest';
import { insertAuditEvents } from '../../db/audit.js';
import type { Database } from '../../db/client.js';
import { openDatabase } from '../../db/open-database.js';
import { type AuditDraft, systemActor } from '../../domain/audit/draft.js';
import { auditEventKeys, hashedKeys, type SealedEvent } from '../../domain/audit/event.js';
import { sleep } from '../../lib/sleep.js';
import { openAuditKeys } from '../../runtime/audit-keys.js';
import { type SealedLog, sealBatch } from '../../worker/seal-batch.js';
import { createTestDatabase, openTestDatabase, testMacs } from './postgres.js';

export const secretKey = new Uint8Array(32).fill(0x5e);

export const plainLog: SealedLog = { origin: 'svc', isAnchored: false };
export const anchoredLog: SealedLog = { origin: 'svc', isAnchored: true };

/** A database of its own with the keys to seal its log. */
export async function openSealing(publicKeys: string[] = [], log = plainLog) {
  const stored = await createTestDatabase();
  const database = openTestDatabase(stored.url, 20);
  const keys = await openAuditKeys({ database, secretKey, publicKeys });
  const sealOnce = () => database.transaction((tx) => sealBatch(tx, keys, log));
  return {
    stored,
    database,
    keys,
    sealOnce,
    /** Seals until nothing is left. The session of a sealer that was killed may hold its lock for a moment. */
    async sealAll() {
      for (;;) {
        const outcome = await sealOnce();
        if (outcome.kind === 'busy') await sleep(5);
        else if (outcome.kind !== 'done') throw new Error(`sealing: ${JSON.stringify(outcome)}`);
        else if (outcome.sealed === 0) return;
      }
    },
    /** Runs statements as the superuser, past the guards. */
    async tamper(...statements: string[]) {
      const admin = openDatabase({
        url: stored.adminUrl,
        poolMax: 1,
        connectTimeoutMs: 3000,
        statementTimeoutMs: 10_000,
        applicationName: 'tamper',
        macs: testMacs,
      });
      await admin.transaction(async (tx) => {
        await tx.query(`set local session_replication_role = 'replica'`);
        for (const each of statements) await tx.query(each);
      });
      await admin.close();
    },
    async close() {
      await database.close();
      await stored.drop();
    },
  };
}

export type Sealing = Awaited<ReturnType<typeof openSealing>>;

export const draftOf = (name: string): AuditDraft => ({
  type: 'config.synced',
  outcome: 'success',
  actor: systemActor,
  resourceType: 'config',
  resourceId: name,
  reason: 'zu groß 🚫',
  metadata: { name },
});

/** Writes one transaction with an event per name. */
export const writeEvents = (database: Database, names: readonly string[]) =>
  database.transaction((tx) => insertAuditEvents(tx, names.map(draftOf)));

export const numbered = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => `${prefix}-${at}`);

/**
 * The sealed events in order, after a check of the whole log by code of its own: places without gaps, every hash, every checkpoint, the head, the
 * tiles and the root of the tree. `purged` are events that were read before a purge removed them.
 */
export async function readChain(
  { database }: Pick<Sealing, 'database'>,
  purged: readonly SealedEvent[] = [],
): Promise<SealedEvent[]> {
  const stored = await database.query<SealedEvent>(
    `select ${auditEventKeys.join(', ')} from audit_events where seq is not null order by seq`,
  );
  const events = [...purged, ...stored];
  const publicKeys = new Map(
    (
      await database.query<{ id: string; key: string }>(
        `select key_id as id, public_key as key from signing_keys where purpose = 'audit'`,
      )
    ).map(({ id, key }) => [id, key]),
  );
  let previous: string | null = null;
  let since = 0;
  for (const [at, event] of events.entries()) {
    const [found, wanted] = [
      [event.seq, event.prev_hash, event.event_hash],
      [at + 1, previous, hashOf(event)],
    ];
    // `expect` takes longer than all else here, for chains of thousands.
    if (found.some((one, n) => one !== wanted[n])) expect(found).toEqual(wanted);
    previous = event.event_hash;
    since += 1;
    if (event.event_type !== 'audit.signed_checkpoint') continue;
    const stated = JSON.parse(event.metadata_json);
    expect([stated.chain_head_hash, stated.event_count_since_last_checkpoint]).toEqual([event.prev_hash, since - 1]);
    const text = `audit-checkpoint:v1|${event.prev_hash}|${since - 1}|${event.created_at}`;
    expect(isSigned(publicKeys.get(stated.key_id), text, stated.signature)).toBe(true);
    since = 0;
  }
  await checkHead({ database }, events, publicKeys);
  return events;
}

async function checkHead(
  { database }: Pick<Sealing, 'database'>,
  events: SealedEvent[],
  publicKeys: Map<string, string>,
): Promise<void> {
  const heads = await database.query<Record<string, string | number>>('select * from audit_head');
  const last = events.at(-1);
  if (last === undefined) return expect(heads).toEqual([]);
  const root = rootOf(events.map(leafOf)).toString('hex');
  expect(heads).toMatchObject([{ seq: last.seq, event_hash: last.event_hash, tree_root: root }]);
  const { seq, event_hash, sealed_at, key_id, signature, tree_signature } = heads[0]!;
  const key = publicKeys.get(String(key_id));
  expect(isSigned(key, `audit-head:v1|${seq}|${event_hash}|${sealed_at}`, String(signature))).toBe(true);
  expect(isSigned(key, `audit-tree:v1|${seq}|${root}`, String(tree_signature))).toBe(true);
  const tiles = await database.query<{ level: number; index: number; hashes: Buffer }>(
    'select level, index, hashes from audit_tiles order by level, index',
  );
  expect(tiles.map(({ level, index, hashes }) => [level, index, hashes.toString('hex')])).toEqual(tilesOf(events.map(leafOf)));
}

/** The root of the tree over the events up to this `seq`, in hex. */
export const rootUpTo = (events: readonly SealedEvent[], seq: number): string =>
  rootOf(events.slice(0, seq).map(leafOf)).toString('hex');

function tilesOf(leaves: Buffer[]): [number, number, string][] {
  const tiles: [number, number, string][] = [];
  for (let level = 0, row = leaves; row.length > 0; level += 1) {
    const full: Buffer[] = [];
    for (let at = 0; at < row.length; at += 256) {
      const hashes = row.slice(at, at + 256);
      tiles.push([level, at / 256, Buffer.concat(hashes.map((each) => Uint8Array.from(each))).toString('hex')]);
      if (hashes.length === 256) full.push(rootOf(hashes));
    }
    row = full;
  }
  return tiles;
}

const sha256 = (...parts: (Buffer | string)[]): Buffer =>
  parts.reduce((hash, part) => hash.update(part as string), createHash('sha256')).digest();

const leafOf = ({ event_hash }: SealedEvent) => sha256('\0', Buffer.from(event_hash, 'hex'));

/** RFC 6962, 2.1, as it is written. */
function rootOf(leaves: Buffer[]): Buffer {
  if (leaves.length === 1) return leaves[0]!;
  let half = 1;
  while (half * 2 < leaves.length) half *= 2;
  return sha256('\x01', rootOf(leaves.slice(0, half)), rootOf(leaves.slice(half)));
}

function hashOf(event: SealedEvent): string {
  const fields = hashedKeys.map((key) => String(event[key] ?? ''));
  return sha256(fields.map((text) => `${Buffer.byteLength(text)}:${text}`).join('\n')).toString('hex');
}

function isSigned(publicKey: string | undefined, text: string, signature: string): boolean {
  const der = Buffer.from(`302a300506032b6570032100${publicKey}`, 'hex');
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
  return verify(null, new TextEncoder().encode(text), key, Uint8Array.from(Buffer.from(signature, 'hex')));
}
