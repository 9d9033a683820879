import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { topic } from '../../db/notifications.js';
import type { TestApi } from '../support/api.js';
import { startCallsOnTwo } from './calls-api.js';
import type { CreationOver, GatewayCalls } from './gateway-calls.js';
import { untilWaiting } from './until-waiting.js';

let api: TestApi;
let calls: GatewayCalls;
let elsewhere: GatewayCalls;
let close: () => Promise<void>;
let alice: string;
let bob: string;
beforeAll(async () => {
  const people = { alice: { roles: ['requester'] }, bob: { roles: ['requester'], groups: ['dba-team'] } };
  ({
    api,
    calls,
    elsewhere,
    close,
    tokens: { alice, bob },
  } = await startCallsOnTwo(people, ['shop/production']));
});
afterAll(() => close?.());

/** Called with each statement of all servers. */
let onStatement = (_text: string) => {};

/** Statements of all servers that read the whole state of a request, with their ids. */
const reads: string[] = [];
beforeEach(() => {
  reads.length = 0;
  onStatement = () => {};
  const { query } = pg.Client.prototype;
  vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...given: unknown[]) {
    const { text, values } = given[0] as { text?: string; values?: string[] };
    onStatement(text ?? '');
    if (text?.includes('request_contexts c where') && text.includes('where r.id = $1')) reads.push(values![0]!);
    return Reflect.apply(query, this, given);
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});
const readsOf = (id: string) => reads.filter((read) => read === id).length;

/** A request that is too old for the probe of the listener, which tells of each once more. */
async function old(over: CreationOver): Promise<string> {
  const id = await calls.created(alice, over);
  await calls.sql(`update requests set updated_at = updated_at - interval '1 minute' where id = $1`, [id]);
  return id;
}

/** One that waits for no plan. */
async function settled(over: CreationOver = {}): Promise<string> {
  const id = await old(over);
  await calls.sql(`update dry_run_jobs set state = 'failed', error = 'none' where request_id = $1`, [id]);
  return id;
}

describe('a state that nobody was notified of', () => {
  it('is read once for a wait that ends by time, for those beside it, and for those that follow', async () => {
    const id = await settled();
    const shown = (await calls.show(alice, id)).body;
    expect((await calls.show(alice, id, '?wait=1')).body).toEqual(shown);
    const beside = await Promise.all([calls.show(alice, id, '?wait=1'), calls.show(bob, id, '?wait=1&seen=pending')]);
    expect(beside.map(({ status, body }) => [status, body.status])).toEqual([
      [200, 'pending'],
      [200, 'pending'],
    ]);
    // The call without `wait`, and the first wait.
    expect(readsOf(id)).toBe(2);
  });

  it('is read anew by a call that does not wait', async () => {
    const id = await settled();
    await calls.show(alice, id, '?wait=1');
    const before = readsOf(id);
    await calls.show(alice, id);
    expect(readsOf(id)).toBe(before + 1);
  });

  it('answers no caller who has seen a later one (HT-100)', async () => {
    const id = await settled();
    await calls.show(alice, id, '?wait=1');
    // As if the notification were still on its way.
    await calls.sql(`update requests set status = 'approved' where id = $1`, [id]);
    const { body } = await calls.show(alice, id, '?wait=1&seen=approved');
    expect(body.status).toBe('approved');
  });

  it('is not opened to a caller who may not see it, or no longer', async () => {
    const id = await settled();
    const mallory = await api.createUser('mallory', { roles: ['requester'] });
    const { answer } = await untilWaiting(api, () => calls.show(alice, id, '?wait=2'));
    expect((await calls.show(mallory, id, '?wait=1')).status).toBe(403);
    expect((await answer).status).toBe(200);
    const leaving = await api.createUser('leaving', { roles: ['requester'], groups: ['dba-team'] });
    const left = calls.show(leaving, id, '?wait=1');
    await calls.sql(`update tokens set revoked_at = clock_timestamp() where subject_id = 'leaving'`);
    expect((await left).status).toBe(401);
  });
});

describe('a state that changed', () => {
  it('is read again by the next wait, whatever of it changed, and on which server', async () => {
    const id = await settled({ environment: 'qa', reason: 'r' });
    await calls.show(alice, id, '?wait=1');
    await elsewhere.act(bob, id, 'approve', { comment: 'fine' });
    const { body } = await calls.show(alice, id, '?wait=1');
    expect(body.approval_progress.steps[0].approvals).toMatchObject([{ user: 'bob', comment: 'fine' }]);
  });

  it('is read at the end of a wait if its notification came no sooner, as after a pause of the process (HT-102)', async () => {
    const id = await settled();
    const { answer } = await untilWaiting(api, () => calls.show(alice, id, '?wait=1'));
    await calls.sql(`update requests set status = 'approved' where id = $1`, [id]);
    onStatement = (text) => {
      if (text.includes('from tokens')) api.services.notifications.publish([topic.request(id)]);
    };
    expect((await answer).body.status).toBe('approved');
  });

  it('is read a few times for all who wait for it, however many they are', async () => {
    const id = await settled();
    const answers = Promise.all(Array.from({ length: 100 }, () => calls.show(alice, id, '?wait=60')));
    const waiting = async () => (await api.services.metrics.longPolls.get()).values.reduce((sum, { value }) => sum + value, 0);
    await expect.poll(waiting, { timeout: 20_000 }).toBe(100);
    reads.length = 0;
    await elsewhere.act(bob, id, 'approve');
    for (const { body } of await answers) expect(body.status).toBe('approved');
    expect(readsOf(id)).toBeLessThan(30);
  });

  it('is told after a late result whose sender died before it told anybody (AG-44, HT-102)', async () => {
    const id = await settled();
    await elsewhere.act(bob, id, 'approve');
    await calls.sql(`update requests set updated_at = updated_at - interval '1 minute' where id = $1`, [id]);
    await calls.sql(
      `insert into executions (id, request_id, fence, agent_id, claim_answer, mutating, marker, status, lost, unresolved, lease_secs, window_secs, lease_expires_at, created_at)
       values (gen_random_uuid(), $1, 1, 'a', '', true, 'none', 'failed', true, true, 1, 1, clock_timestamp(), clock_timestamp())`,
      [id],
    );
    expect((await calls.show(alice, id, '?wait=1')).body.resumable).toBe(false);
    const { answer } = await untilWaiting(api, () => calls.show(alice, id, '?wait=1'));
    await calls.sql('update executions set unresolved = false where request_id = $1', [id]);
    expect((await answer).body.resumable).toBe(true);
  });

  it('is told with a plan that came during the wait (AG-69)', async () => {
    const id = await old({ detail: 'select * from parts' });
    const { answer } = await untilWaiting(api, () => calls.show(alice, id, '?wait=2'));
    await calls.sql(`update dry_run_jobs set state = 'completed', plan = '[{"Plan":{}}]' where request_id = $1`, [id]);
    expect((await answer).body.context).toMatchObject({ status: 'ready', explain: [{ plan: [{ Plan: {} }] }] });
  });
});

it('is not believed by a server that hears of nothing (HT-102)', async () => {
  const id = await settled({ environment: 'qa', reason: 'r' });
  await calls.show(alice, id, '?wait=1');
  const admin = new pg.Client({ connectionString: api.database.adminUrl });
  await admin.connect();
  const mayConnect = (limit: number) =>
    admin.query(`do $$ begin execute format('alter database %I connection limit ${limit}', current_database()); end $$`);
  try {
    await mayConnect(0);
    await admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name like '% listen'`,
    );
    await expect.poll(() => api.services.notifications.hears(), { timeout: 10_000 }).toBe(false);
    await elsewhere.act(bob, id, 'approve', { comment: 'fine' });
    const { body } = await calls.show(alice, id, '?wait=1');
    expect(body.approval_progress.steps[0].approvals).toMatchObject([{ user: 'bob', comment: 'fine' }]);
  } finally {
    await mayConnect(-1);
    await admin.end();
  }
});
