import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { verifyLog } from '../../api/audit/verify.js';
import { verifySignature } from '../../crypto/ed25519.js';
import type { Transaction } from '../../db/client.js';
import { createLog } from '../../runtime/log.js';
import { createAuditPurge } from '../../worker/audit-purge.js';
import { purgeAuditEvents } from '../../worker/purge-audit-events.js';
import { sealBatch } from '../../worker/seal-batch.js';
import { anchoredLog, numbered, openSealing, plainLog, type Sealing, writeEvents } from '../support/sealing.js';

let sealing: Sealing;
beforeEach(async () => {
  sealing = await openSealing();
});
afterEach(() => sealing?.close());

const verify = () =>
  verifyLog({ database: sealing.database, auditKeys: sealing.keys }, { event: null, tree: null }, new AbortController().signal);
const purge = (retentionSecs = 0, most?: number) =>
  sealing.database.transaction((tx) => purgeAuditEvents(tx, sealing.keys, retentionSecs, most));
const fill = async (count: number) => {
  await writeEvents(sealing.database, numbered('e', count));
  await sealing.sealAll();
};
const places = async () =>
  (await sealing.database.query<{ seq: number }>('select seq from audit_events where seq is not null order by seq')).map(
    ({ seq }) => seq,
  );
const checkpoints = async () =>
  (
    await sealing.database.query<{ seq: number }>(
      `select seq from audit_events where event_type = 'audit.signed_checkpoint' order by seq`,
    )
  ).map(({ seq }) => seq);

const longAgo = '1970-01-01T00:00:07.000000Z';
/** What seals by a clock that is far behind. */
const behind = (tx: Transaction): Transaction =>
  Object.assign(Object.create(tx) as Transaction, {
    query: async (text: string, values?: readonly unknown[]) =>
      (await tx.query<object>(text, values)).map((row) => ('now' in row ? { ...row, now: longAgo } : row)),
  });
const createdAt = async (seq: number) =>
  (await sealing.database.query<{ at: string }>('select created_at as at from audit_events where seq = $1', [seq]))[0]?.at;

describe('a purge (AU-46)', () => {
  it('deletes up to the newest checkpoint that is old enough, records it signed, and the log is still valid (AU-I6)', async () => {
    await fill(230);
    const [, last] = await checkpoints();
    const before = await places();
    expect(await purge()).toEqual({ kind: 'done', purged: last });
    expect(await places()).toEqual(before.filter((seq) => seq > last!));
    expect(await verify()).toMatchObject({ valid: true, sealed: before.length - last!, unsealed: 1 });
    await sealing.sealAll();
    expect(await verify()).toMatchObject({ valid: true, head_seq: before.length + 1, unsealed: 0 });

    const [event] = await sealing.database.query<{ metadata: string; outcome: string; resource: string }>(
      `select metadata_json as metadata, outcome, resource_type as resource from audit_events where event_type = 'audit.purge_checkpoint'`,
    );
    const stated = JSON.parse(event!.metadata);
    expect(Object.keys(stated)).toEqual(['purged_before', 'last_purged_hash', 'retained_count', 'key_id', 'signature']);
    expect(stated.retained_count).toBe(before.length - last!);
    expect(event).toMatchObject({ outcome: 'info', resource: 'audit' });
    const text = `purge-checkpoint:v1|${stated.last_purged_hash}|${stated.purged_before}|${stated.retained_count}`;
    const key = (await sealing.keys(sealing.database)).trusted.get(stated.key_id)!;
    expect(verifySignature(key, new TextEncoder().encode(text), stated.signature)).toBe(true);
    const [row] = await sealing.database.query('select * from audit_purges');
    expect(row).toMatchObject({ ...stated, last_purged_seq: last });
  });

  it('takes the anchors of the checkpoints that it deletes, and no other (AU-87)', async () => {
    const anchored = await openSealing([], anchoredLog);
    await writeEvents(anchored.database, numbered('e', 230));
    await anchored.sealAll();
    const seqs = async () =>
      (await anchored.database.query<{ seq: number }>('select seq from audit_anchors order by seq')).map(({ seq }) => seq);
    expect(await seqs()).toEqual([101, 202]);
    const purged = await anchored.database.transaction((tx) => purgeAuditEvents(tx, anchored.keys, 0, 10));
    expect(purged).toEqual({ kind: 'done', purged: 101 });
    expect(await seqs()).toEqual([202]);
    await anchored.close();
  });

  it('of a log without an old checkpoint does nothing', async () => {
    await fill(50);
    expect(await purge()).toEqual({ kind: 'done', purged: 0 });
    await fill(100);
    expect(await purge(3600)).toEqual({ kind: 'done', purged: 0 });
    expect(await verify()).toMatchObject({ valid: true });
  });

  it('may leave nothing, and what follows is sealed and verified', async () => {
    const missing = 100 - (await sealing.database.query('select 1 from audit_events')).length;
    await fill(missing);
    expect((await checkpoints()).at(-1)).toBe((await places()).at(-1));
    expect(await purge()).toEqual({ kind: 'done', purged: 101 });
    expect(await verify()).toMatchObject({ valid: true, sealed: 0, unsealed: 1, head_seq: 101 });
    await fill(150);
    expect(await verify()).toMatchObject({ valid: true, unsealed: 0 });
    expect((await places())[0]).toBe(102);
  });

  it('of many events goes step by step, and each step keeps the log valid', async () => {
    await fill(600);
    const steps: number[] = [];
    for (;;) {
      const outcome = await purge(0, 250);
      if (outcome.kind !== 'done') throw new Error(JSON.stringify(outcome));
      if (outcome.purged === 0) break;
      steps.push(outcome.purged);
      expect(await verify()).toMatchObject({ valid: true });
    }
    expect(steps).toEqual([202, 202, 202]);
  });

  it('leaves what is young when the clock of Postgres was far behind for a while, and takes it in its time', async () => {
    await fill(150);
    await writeEvents(sealing.database, numbered('behind', 100));
    await sealing.database.transaction((tx) => sealBatch(behind(tx), sealing.keys, plainLog));
    const [first, second] = await checkpoints();
    expect(await createdAt(second!)).toBe(longAgo);
    const before = await places();
    expect(await purge(3600)).toEqual({ kind: 'done', purged: 0 });
    expect(await places()).toEqual(before);

    await sealing.tamper(`update audit_events set created_at = '2001-01-01T00:00:00.000000Z' where seq < ${first}`);
    expect(await purge(3600)).toEqual({ kind: 'done', purged: 0 });
    expect(await purge()).toEqual({ kind: 'done', purged: second });
    expect(await verify()).toMatchObject({ valid: true });
  });

  it('that is killed half-way changes nothing (AU-I6)', async () => {
    await fill(120);
    const before = await places();
    const killed = sealing.database.transaction(async (tx) => {
      expect(await purgeAuditEvents(tx, sealing.keys, 0)).toMatchObject({ kind: 'done' });
      await tx.query('select pg_terminate_backend(pg_backend_pid())');
    });
    await expect(killed).rejects.toThrow();
    expect(await places()).toEqual(before);
    expect(await sealing.database.query('select 1 from audit_purges')).toEqual([]);
    expect(await verify()).toMatchObject({ valid: true });
  });

  it('opens the table for no more than it covers, and for its own transaction only (AU-3)', async () => {
    await fill(120);
    const beyond = sealing.database.transaction(async (tx) => {
      await purgeAuditEvents(tx, sealing.keys, 0);
      await tx.query('delete from audit_events where seq = (select min(seq) from audit_events)');
    });
    await expect(beyond).rejects.toThrow('append-only');
    await purge();
    await expect(sealing.database.query('delete from audit_events where seq is not null')).rejects.toThrow('append-only');
  });
});

describe('a purge deletes nothing that cannot be verified', () => {
  const stopped = async (reason: string, ...statements: string[]) => {
    await fill(230);
    await sealing.tamper(...statements);
    const before = await places();
    expect(await purge(3600)).toMatchObject({ kind: 'stopped', reason: expect.stringContaining(reason) });
    expect(await places()).toEqual(before);
  };
  const old = `created_at = '2020-01-01T00:00:00.000000Z'`;
  const second = `seq = (select max(seq) from audit_events where event_type = 'audit.signed_checkpoint')`;

  it('a checkpoint that was made to look old', () => stopped('hash_mismatch', `update audit_events set ${old} where ${second}`));

  it('an event that was made a checkpoint', () =>
    stopped('hash_mismatch', `update audit_events set ${old}, event_type = 'audit.signed_checkpoint' where seq = 7`));

  it('a log without its head', () =>
    stopped('head_missing', `update audit_events set ${old} where ${second}`, 'delete from audit_head'));

  it('an old checkpoint that was moved to a newer place', async () => {
    await fill(230);
    const [first] = await checkpoints();
    await sealing.tamper(
      'drop index audit_events_prev_hash',
      `delete from audit_events where seq = 220`,
      `update audit_events set seq = 220 where seq = ${first}`,
    );
    expect(await purge()).toMatchObject({ kind: 'stopped', reason: 'tree_mismatch at seq 220' });
  });
});

it('the job purges in rounds until nothing is left, and says what stops it', async () => {
  await fill(230);
  const lines: string[] = [];
  const log = createLog({
    process: 'worker',
    version: '1.0.0',
    level: 'info',
    format: 'json',
    write: (line) => lines.push(line),
  });
  let days = 1;
  const job = createAuditPurge({ database: sealing.database, keys: sealing.keys, log, auditTtlDays: () => days, everyMs: 1 });
  const rounds = async (count: number) => {
    for (let round = 0; round < count; round += 1) {
      await sealing.database.query(`select pg_sleep(0.01)`);
      await job.once();
    }
  };
  await rounds(2);
  expect((await places())[0]).toBe(1);
  days = 0;
  await rounds(3);
  expect((await places())[0]).toBe(203);
  expect(lines.join()).toContain('audit events purged');
  await fill(110);
  await sealing.tamper('delete from audit_head');
  await rounds(3);
  expect(lines.join()).toContain('head_missing');
  expect((await places())[0]).toBe(203);
});

it('the job takes fewer where the database has no time for many', async () => {
  await fill(610);
  const [first] = await checkpoints();
  await sealing.tamper(
    `create function purge_slow() returns trigger language plpgsql as $$ begin
       if (select count(*) from gone) > 150 then raise exception 'too many' using errcode = 'query_canceled'; end if; return null;
     end $$`,
    'create trigger purge_slow after delete on audit_events referencing old table as gone for each statement execute function purge_slow()',
  );
  const log = createLog({ process: 'worker', version: '1.0.0', level: 'error', format: 'json', write: () => {} });
  const job = createAuditPurge({ database: sealing.database, keys: sealing.keys, log, auditTtlDays: () => 0, everyMs: 1 });
  for (let turn = 0; turn < 30; turn += 1) {
    await sealing.database.query('truncate background_state');
    await job.once().catch(() => {});
  }
  expect((await places())[0]).toBeGreaterThan(first!);
  expect(await verify()).toMatchObject({ valid: true });
});

it('the job purges nothing while the clocks of Postgres and the worker are far apart (OP-81)', async () => {
  await fill(230);
  const before = await places();
  const log = createLog({ process: 'worker', version: '1.0.0', level: 'error', format: 'json', write: () => {} });
  const job = createAuditPurge({ database: sealing.database, keys: sealing.keys, log, auditTtlDays: () => 0, everyMs: 1 });
  const late = Date.now() - 2 * 3_600_000;
  const clock = vi.spyOn(Date, 'now').mockReturnValue(late);
  await expect(job.once()).rejects.toThrow('nothing old is deleted');
  clock.mockRestore();
  expect(await places()).toEqual(before);
});
