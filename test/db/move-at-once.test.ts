import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import type { Decide } from '../../db/move.js';
import { moveAtOnce } from '../../db/move-at-once.js';
import { dispatchFacts } from '../../db/move-facts.js';
import { findState, readState } from '../../db/request-state.js';
import { judge } from '../../domain/request/judge.js';
import type { Move } from '../../domain/request/moves.js';
import { sleep } from '../../lib/sleep.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';
import { approve, by, cancel, facts, reject, storeRequest } from '../support/requests.js';

describe('a move in two round trips', () => {
  let test: TestDatabase;
  let database: Database;
  let decided: number;

  beforeAll(async () => {
    test = await createTestDatabase();
    database = openTestDatabase(test.url, 8);
    await database.query(`insert into users (id, source) values ('alice', 'api'), ('bob', 'api')`);
  });
  beforeEach(async () => {
    decided = 0;
    await database.query(`update users set status = 'active'`);
  });
  afterAll(async () => {
    await database.close();
    await test.drop();
  });

  const approval: Move = { ...by('bob'), kind: 'approve', selector: null, comment: null, ...facts };
  const resumption: Move = {
    ...by('alice'),
    kind: 'resume',
    reason: null,
    policy: { maxExecutions: 5, retryOnFailure: true },
    facts,
    dispatchMs: 60_000,
  };

  const bob = { id: 'bob', type: 'user', tokenId: null } as const;
  const storeToken = async (parent: string | null): Promise<string> => {
    const rows = await database.query<{ id: string }>(
      `insert into tokens (id, subject_type, subject_id, token_hash, token_prefix, parent_id) values (gen_random_uuid(), 'user', 'bob', '', '', $1) returning id`,
      [parent],
    );
    return rows[0]!.id;
  };

  /** Judges the move, after `meanwhile` the first time. */
  const deciding = (move: Move, meanwhile: () => Promise<unknown> = async () => {}): Decide<unknown> => {
    return async (request, now) => {
      decided += 1;
      if (decided === 1) await meanwhile();
      return judge(request, move, now);
    };
  };
  const counts = async (id: string) => {
    const [row] = await database.query<{ events: number; news: number; decisions: number }>(
      `select (select count(*) from audit_events where request_id = $1) as events, (select count(*) from outbox where request_id = $1) as news,
         (select count(*) from decisions where request_id = $1) as decisions`,
      [id],
    );
    return row;
  };

  it('writes row, decision, audit event and news together (ST-22)', async () => {
    const id = await storeRequest(database);
    const moved = await moveAtOnce(database, id, deciding(approval));
    expect(decided).toBe(1);
    expect(moved.after.status).toBe('approved');
    const stored = await readState(database, id);
    expect(stored?.request).toMatchObject({ status: 'approved', version: 2, broken: null, decisions: [{ userId: 'bob' }] });
    expect(await counts(id)).toEqual({ events: 2, news: 2, decisions: 1 });
  });

  it('is decided again under the lock when another move came between, and then refused', async () => {
    const id = await storeRequest(database);
    await expect(
      moveAtOnce(
        database,
        id,
        deciding(approval, () => reject(database, id)),
      ),
    ).rejects.toMatchObject({ code: 'request.conflict' });
    expect(decided).toBe(2);
    expect((await findState(database, id))?.request.status).toBe('rejected');
    expect(await counts(id)).toEqual({ events: 2, news: 2, decisions: 1 });
  });

  it('is decided again when the row changed while it waited for the lock', async () => {
    const id = await storeRequest(database);
    const found = await readState<unknown>(database, id);
    let moving: Promise<unknown> | undefined;
    await database.transaction(async (tx) => {
      await tx.query(`update requests set offered_fence = 7 where id = $1 returning id`, [id]);
      moving = moveAtOnce(database, id, deciding(approval), { found });
      await expect.poll(waiting).toBe(1);
    });
    await moving;
    expect(decided).toBe(2);
    expect(await counts(id)).toEqual({ events: 2, news: 2, decisions: 1 });
  });

  it('is decided again when an instant of the request passed while it waited for the lock (TT-6)', async () => {
    const id = await storeRequest(database, { pendingSecs: 1 });
    const read = (await readState<unknown>(database, id))!;
    // In time, however long the read took.
    const found = { ...read, now: read.request.createdAt };
    let moving: Promise<unknown> | undefined;
    await database.transaction(async (tx) => {
      await tx.query('select 1 from requests where id = $1 for no key update', [id]);
      moving = moveAtOnce(database, id, deciding(approval), { found });
      moving.catch(() => {});
      await expect.poll(waiting).toBe(1);
      await sleep(Math.max(0, read.request.expiresAt! - read.now));
    });
    await expect(moving).rejects.toMatchObject({ code: 'request.gone' });
    expect(decided).toBe(2);
    expect(await counts(id)).toEqual({ events: 1, news: 1, decisions: 0 });
  });

  it('is decided again when the owner was suspended meanwhile (IM-65)', async () => {
    const id = await storeRequest(database);
    await approve(database, id);
    const suspend = () => database.query(`update users set status = 'suspended' where id = 'alice'`);
    const seen: unknown[] = [];
    const decide: Decide<{ ownerActive: boolean }> = async (request, now, { ownerActive }) => {
      seen.push(ownerActive);
      if (seen.length === 1) await suspend();
      return judge(request, { ...resumption, facts: { ...facts, ownerActive } } as Move, now);
    };
    await expect(moveAtOnce(database, id, decide, { facts: dispatchFacts, needsOwner: true })).rejects.toMatchObject({
      reason: 'requester_not_active',
    });
    expect(seen).toEqual([true, false]);
    expect((await findState(database, id))?.request.status).toBe('approved');
  });

  it('is refused when its actor was suspended meanwhile (IM-I4)', async () => {
    const id = await storeRequest(database);
    const suspend = () => database.query(`update users set status = 'suspended' where id = 'bob'`);
    await expect(moveAtOnce(database, id, deciding(approval, suspend), { actor: bob })).rejects.toMatchObject({
      code: 'auth.user_suspended',
    });
    expect(await counts(id)).toEqual({ events: 1, news: 1, decisions: 0 });
  });

  it.each([
    ['its token', 'id'],
    ['the token that its session was made from', 'parent_id'],
  ])('is refused when %s was revoked meanwhile (IM-72)', async (_, column) => {
    const id = await storeRequest(database);
    const parent = await storeToken(null);
    const tokenId = await storeToken(parent);
    const revoke = () =>
      database.query(`update tokens set revoked_at = clock_timestamp() where id = (select ${column} from tokens where id = $1)`, [
        tokenId,
      ]);
    const actor = { ...bob, tokenId };
    await expect(moveAtOnce(database, id, deciding(approval, revoke), { actor })).rejects.toMatchObject({
      code: 'auth.invalid_token',
    });
    expect(await counts(id)).toEqual({ events: 1, news: 1, decisions: 0 });
  });

  it('lets one of many at once win', async () => {
    const id = await storeRequest(database);
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => moveAtOnce(database, id, deciding(approval))));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await counts(id)).toEqual({ events: 2, news: 2, decisions: 1 });
  });

  it('writes nothing and asks for no lock when the rule refuses', async () => {
    const id = await storeRequest(database);
    await cancel(database, id);
    const before = await readState(database, id);
    await expect(moveAtOnce(database, id, deciding(approval))).rejects.toMatchObject({ code: 'request.conflict' });
    expect(decided).toBe(1);
    expect(await readState(database, id)).toMatchObject({ rowVersion: before!.rowVersion });
  });

  it('is 404 for an unknown id', async () => {
    const id = '00000000-0000-4000-8000-000000000000';
    await expect(moveAtOnce(database, id, deciding(approval))).rejects.toMatchObject({ code: 'request.not_found' });
  });

  const waiting = async () =>
    (
      await database.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%locked as%'`,
      )
    ).length;
});
