import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { insertAuditEvents } from '../../db/audit.js';
import type { Database, Transaction } from '../../db/client.js';
import { systemActor } from '../../domain/audit/draft.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';

let stored: TestDatabase;
let database: Database;
beforeEach(async () => {
  stored = await createTestDatabase();
  database = openTestDatabase(stored.url);
  const event = { type: 'config.synced', outcome: 'success', actor: systemActor, resourceType: 'config' } as const;
  const drafts = [1, 2, 3, 4].map((number) => ({ ...event, resourceId: `${number}`, reason: 'as it was', metadata: { number } }));
  await database.transaction((tx) => insertAuditEvents(tx, drafts));
});
afterEach(async () => {
  await database.close();
  await stored.drop();
});

const hash = (digit: number) => String(digit).repeat(64);
const where = (number: number) => `where resource_id = '${number}'`;
const set = (change: string, number: number) => `update audit_events set ${change} ${where(number)}`;
const seal = (number: number) =>
  set(`seq = ${number}, prev_hash = ${number === 1 ? 'null' : `'${hash(number - 1)}'`}, event_hash = '${hash(number)}'`, number);
const run = (...statements: string[]) =>
  database.transaction(async (tx: Transaction) => {
    for (const each of statements) await tx.query(each);
  });
const purge = (seq: number) =>
  `insert into audit_purges (last_purged_seq, last_purged_hash, purged_before, retained_count, key_id, signature)
   values (${seq}, '${hash(seq)}', '2031-04-05T06:07:08.123456Z', 0, 'k', 's')`;
const left = async () =>
  (await database.query<{ id: string }>('select resource_id as id from audit_events order by position')).map(({ id }) => id);

describe('the events of the audit log (AU-3)', () => {
  it.each([
    ['another reason', set(`reason = 'forged'`, 1)],
    ['another reason while it is sealed', set(`seq = 1, event_hash = '${hash(1)}', reason = 'forged'`, 1)],
    ['another position', set(`seq = 1, event_hash = '${hash(1)}', position = default`, 1)],
    ['a place without a hash', set('seq = 1', 1)],
    ['a hash without a place', set(`event_hash = '${hash(1)}'`, 1)],
    ['the second place without a predecessor', set(`seq = 2, event_hash = '${hash(2)}'`, 2)],
    ['the first place with a predecessor', set(`seq = 1, prev_hash = '${hash(1)}', event_hash = '${hash(2)}'`, 2)],
    ['nothing', set('seq = null', 1)],
    ['a removal', `delete from audit_events ${where(1)}`],
    ['the removal of all', 'truncate audit_events'],
  ])('refuse %s', async (_, statement) => {
    await expect(run(statement)).rejects.toThrow('append-only');
  });

  it('are sealed once, each place and each predecessor once (AU-13)', async () => {
    await run(seal(1), seal(2), seal(3));
    await expect(run(seal(2))).rejects.toThrow('append-only');
    await expect(run(set(`seq = null, prev_hash = null, event_hash = null`, 3))).rejects.toThrow('append-only');
    await expect(run(set(`seq = 3, prev_hash = '${hash(7)}', event_hash = '${hash(4)}'`, 4))).rejects.toThrow('audit_events_seq');
    await expect(run(set(`seq = 4, prev_hash = '${hash(2)}', event_hash = '${hash(4)}'`, 4))).rejects.toThrow(
      'audit_events_prev_hash',
    );
  });

  it('go only with a purge that covers them, in its own transaction', async () => {
    await run(seal(1), seal(2), seal(3));
    await run(purge(1));
    await expect(run(`delete from audit_events ${where(1)}`)).rejects.toThrow('append-only');
    for (const beyond of [3, 4])
      await expect(run(purge(2), `delete from audit_events ${where(beyond)}`)).rejects.toThrow('append-only');
    await run(purge(2), `delete from audit_events where seq <= 2`);
    expect(await left()).toEqual(['3', '4']);
    for (const change of [`update audit_purges set last_purged_seq = 9`, 'delete from audit_purges', 'truncate audit_purges'])
      await expect(run(change)).rejects.toThrow('append-only');
  });
});

describe('the tiles of the tree (AU-80)', () => {
  const bytes = (...digits: number[]) => `'\\x${digits.map((digit) => hash(digit)).join('')}'`;
  const grow = (width: number, hashes: string) => `update audit_tiles set width = ${width}, hashes = ${hashes}`;

  it('only grow', async () => {
    await run(`insert into audit_tiles values (0, 0, 1, ${bytes(1)})`, grow(3, bytes(1, 2, 3)));
    const others = [
      grow(4, bytes(1, 2, 4, 4)),
      grow(3, bytes(1, 2, 4)),
      grow(2, bytes(1, 2)),
      'update audit_tiles set index = 1',
    ];
    for (const change of [...others, 'delete from audit_tiles', 'truncate audit_tiles'])
      await expect(run(change)).rejects.toThrow('append-only');
    await expect(run(grow(5, bytes(1, 2, 3, 4)))).rejects.toThrow('audit_tiles_check');
  });
});
