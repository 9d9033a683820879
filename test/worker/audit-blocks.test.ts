import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifyLog } from '../../api/audit/verify.js';
import { searchAuditEvents } from '../../db/audit-search.js';
import { createAuditBlocks } from '../../worker/audit-blocks.js';
import { purgeAuditEvents } from '../../worker/purge-audit-events.js';
import { numbered, openSealing, type Sealing, writeEvents } from '../support/sealing.js';

let sealing: Sealing;
beforeEach(async () => {
  sealing = await openSealing();
});
afterEach(() => sealing?.close());

/** Two events of the key are in the log already, and 100 events have a checkpoint. */
const fill = async (count: number) => {
  for (let left = count; left > 0; left -= 1000) await writeEvents(sealing.database, numbered('e', Math.min(left, 1000)));
  await sealing.sealAll();
};
const store = async () => {
  const job = createAuditBlocks({ database: sealing.database });
  while ((await job.once()) < 1000);
};
const blocks = async () =>
  (await sealing.database.query<{ block: number }>('select block from audit_blocks order by block')).map(({ block }) => block);
const verified = async () => {
  const anchors = { event: null, tree: null };
  const { valid, reason, first_broken_seq } = await verifyLog(
    { database: sealing.database, auditKeys: sealing.keys },
    anchors,
    new AbortController().signal,
  );
  return valid ? 'valid' : `${reason} at ${first_broken_seq}`;
};
const everything = { roles: [{ name: 'r', permissions: [], databases: ['*'], environments: ['*'] }], filters: {} };
const search = (filters: object, offset = 0) =>
  searchAuditEvents(sealing.database, { ...everything, filters }, { limit: 200, offset });

describe('the blocks of the audit log (AU-63)', () => {
  it('are stored when their last event is sealed, each once, whoever stores them', async () => {
    await fill(4052);
    await store();
    expect(await blocks()).toEqual([]);
    await fill(1);
    await Promise.all([store(), store(), store()]);
    expect(await blocks()).toEqual([0]);
    const [values] = await sealing.database.query(
      `select count(*) as stored, count(distinct (field, value)) as different from audit_block_values`,
    );
    expect(values).toEqual({ stored: 8, different: 8 });
    const { rows } = await sealing.database.pool.query(
      `select bit_count(events)::integer as count, get_bit(events, 0) as first, get_bit(events, 4095) as last from audit_block_values
       where field = 'event_type' and value = 'config.synced'`,
    );
    expect(rows).toEqual([{ count: 4053, first: 0, last: 1 }]);
  });

  it('of a log that was there before the table are those that the worker would have made', async () => {
    await fill(8300);
    await store();
    const stored = () =>
      sealing.database.query(
        `select t.*, field, value, v.events as having from audit_block_times t join audit_block_values v using (block) order by 1, 2, field, value`,
      );
    const made = await stored();
    expect(made).toHaveLength(28);
    const migration = readFileSync(new URL('../../db/migrations/26_audit_blocks.sql', import.meta.url), 'utf8');
    const loop = migration.slice(migration.indexOf('do $$'), migration.indexOf('end $$;\n\ndrop index') + 'end $$;'.length);
    await sealing.tamper('delete from audit_block_values', 'delete from audit_block_times', 'delete from audit_blocks', loop);
    expect(await stored()).toEqual(made);
  });

  it('stay as they are', async () => {
    await fill(4100);
    await store();
    for (const change of [
      'update audit_blocks set block = 9',
      `update audit_block_values set value = 'x'`,
      `update audit_block_times set latest = '9'`,
      'delete from audit_block_values',
      'truncate audit_block_times',
      'truncate audit_block_values',
      'truncate audit_blocks cascade',
    ])
      await expect(sealing.database.query(change), change).rejects.toThrow('append-only');
  });

  it('are compared with the events by verify (AU-71)', async () => {
    await fill(8300);
    await store();
    expect(await verified()).toBe('valid');
    const tables = ['audit_blocks', 'audit_block_times', 'audit_block_values'];
    await sealing.tamper(...tables.map((table) => `create table former_${table} as table ${table}`));
    const empty = tables.map((table) => `delete from ${table}`);
    const back = [...empty, ...tables.map((table) => `insert into ${table} table former_${table}`)];
    const flip = 'set events = set_bit(events, 5, 1 - get_bit(events, 5))';
    for (const [wrong, ...changes] of [
      ['valid', ...empty],
      ['block_mismatch at 0', ...tables.map((table) => `delete from ${table} where block = 0`)],
      ['block_mismatch at 4096', `update audit_block_values ${flip} where block = 1 and field = 'actor_id'`],
      ['block_mismatch at 0', `delete from audit_block_values where block = 0 and field = 'outcome' and value = 'info'`],
      ['block_mismatch at 4096', `update audit_block_values set value = 'nobody' where block = 1 and field = 'actor_id'`],
      [
        'block_mismatch at 0',
        `insert into audit_block_values select block, field, 'nobody', events from audit_block_values where field = 'actor_id'`,
      ],
      ['block_mismatch at 4096', `update audit_block_times ${flip} where block = 1 and not of_checkpoints`],
      ['block_mismatch at 4096', `delete from audit_block_times where block = 1 and of_checkpoints`],
      ['block_mismatch at 0', `update audit_block_times set latest = '2000' where block = 0`],
      ['block_mismatch at 0', `update audit_block_times set earliest = '9' where block = 0`],
      ['block_mismatch at 8192', 'insert into audit_blocks values (2)'],
      ['block_mismatch at 8192', 'insert into audit_blocks values (9000000000000000000)'],
    ] as const) {
      await sealing.tamper(...changes);
      expect(await verified(), changes.join()).toBe(wrong);
      await sealing.tamper(...back);
    }
    expect(await verified()).toBe('valid');
  });

  it('go with the last of their events', async () => {
    await fill(8300);
    await store();
    expect(await blocks()).toEqual([0, 1]);
    const purge = (most: number) => sealing.database.transaction((tx) => purgeAuditEvents(tx, sealing.keys, 0, most));
    await purge(3000);
    expect(await blocks()).toEqual([0, 1]);
    expect(await verified()).toBe('valid');
    const [left] = await sealing.database.query<{ count: number }>('select count(*) as count from audit_events');
    expect(await search({})).toMatchObject({ total: left!.count, events: { length: 200 } });
    const { total } = await search({ event_type: 'config.synced' });
    expect((await search({ event_type: 'config.synced' }, total - 5)).events).toHaveLength(5);
    await purge(3000);
    expect(await blocks()).toEqual([1]);
    expect(await verified()).toBe('valid');
    await purge(100_000);
    await sealing.sealAll();
    await store();
    expect(await blocks()).toEqual([]);
    expect(await verified()).toBe('valid');
    expect(await search({ event_type: 'audit.purge_checkpoint' })).toMatchObject({ total: 3, events: { length: 3 } });
  });
});
