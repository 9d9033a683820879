import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../db/client.js';
import { findState } from '../../db/request-state.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/postgres.js';
import { approve, claim, finish, reject, resume, storeRequest } from '../support/requests.js';

describe('move', () => {
  let test: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    test = await createTestDatabase();
    database = openTestDatabase(test.url, 8);
    await database.query(`insert into users (id, source) values ('alice', 'api'), ('bob', 'api')`);
  });
  afterAll(async () => {
    await database.close();
    await test.drop();
  });

  const events = async (id: string) =>
    (
      await database.query<{ event_type: string }>(
        'select event_type from audit_events where request_id = $1 order by position',
        [id],
      )
    ).map((row) => row.event_type);

  it('writes state, decision, execution, audit events and news of a whole life together (ST-22)', async () => {
    const id = await storeRequest(database);
    await approve(database, id);
    await resume(database, id);
    const executionId = await claim(database, id);
    const moved = await finish(database, id, executionId);
    expect(moved.after.status).toBe('executed');
    expect(await events(id)).toEqual([
      'request.created',
      'request.approved',
      'request.dispatched',
      'execution.started',
      'execution.completed',
    ]);
    const state = await findState(database, id);
    expect(state?.request).toMatchObject({ status: 'executed', version: 5, fence: 1, claimedBy: null, finishedExecutions: 1 });
    expect(state?.request.execution).toMatchObject({
      id: executionId,
      status: 'completed',
      outcome: 'committed',
      unresolved: false,
    });
  });

  it('replaces the news of a dispatch at creation that nobody has taken, which then still starts the workflow', async () => {
    const id = await storeRequest(database, { dispatched: true });
    const executionId = await claim(database, id);
    await finish(database, id, executionId);
    const news = await database.query('select version, signal, starts from outbox where request_id = $1', [id]);
    expect(news).toEqual([{ version: 3, signal: 'completion', starts: true }]);
  });

  it('keeps the news of every decision (architecture: operators see every decision)', async () => {
    const id = await storeRequest(database);
    await reject(database, id);
    const news = await database.query('select version, signal from outbox where request_id = $1 order by version', [id]);
    expect(news).toEqual([
      { version: 1, signal: 'change' },
      { version: 2, signal: 'rejection' },
    ]);
  });

  it('leaves nothing behind when the rule refuses', async () => {
    const id = await storeRequest(database);
    await reject(database, id);
    const before = await findState(database, id);
    await expect(approve(database, id)).rejects.toMatchObject({ code: 'request.conflict' });
    expect((await findState(database, id))?.request).toEqual(before?.request);
    expect(await events(id)).toEqual(['request.created', 'request.rejected']);
  });

  it('refuses to change or remove an audit event (AU-3)', async () => {
    await storeRequest(database);
    await expect(database.query(`update audit_events set reason = 'x'`)).rejects.toThrow(/append-only/);
    await expect(database.query('delete from audit_events')).rejects.toThrow(/append-only/);
    await expect(database.query('truncate audit_events')).rejects.toThrow(/append-only/);
  });
});
