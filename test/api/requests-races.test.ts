import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiToken } from '../../crypto/api-token.js';
import { lockWaits } from '../support/active-statement.js';
import type { Answer, TestApi } from '../support/api.js';
import { eventually } from '../support/processes.js';
import { groupToml, workflowToml } from '../support/toml.js';
import { vouch } from '../support/vouch.js';
import { ownerAndApprover, startCallsOnTwo } from './calls-api.js';
import { callsToml } from './calls-toml.js';
import type { GatewayCalls } from './gateway-calls.js';
import { reach } from './reach-status.js';
import { ask, expectOneWinner, ofEach } from './rivals.js';

const crowdToml = [
  callsToml,
  groupToml('crowd', ['approver']),
  workflowToml({ database: 'ledger', environment: 'production', steps: [[{ group: 'crowd', min: 50 }]] }),
].join('');

let api: TestApi;
let calls: GatewayCalls;
let both: GatewayCalls[];
let close: () => Promise<void>;
let owner: string;
let approver: string;
let second: string;
beforeAll(async () => {
  const people = { ...ownerAndApprover, second: { groups: ['dba-team'] } };
  const started = await startCallsOnTwo(people, ['shop/production', 'shop/staging'], { toml: crowdToml });
  ({ api, calls, close } = started);
  ({ owner, approver, second } = started.tokens);
  both = [calls, started.elsewhere];
});
afterAll(() => close?.());

/** Makes approvers as rows: more than the plan lets anybody create by call. */
async function crowd(size: number): Promise<string[]> {
  const people = Array.from({ length: size }, (_, index) => ({ id: `crowd-${index}`, tokenId: randomUUID(), ...newApiToken() }));
  const column = (key: 'id' | 'tokenId' | 'hash' | 'prefix') => people.map((person) => person[key]);
  await calls.sql(`insert into users (id, source) select unnest($1::text[]), 'api'`, [column('id')]);
  await calls.sql(`insert into group_members (group_name, user_id) select 'crowd', unnest($1::text[])`, [column('id')]);
  await calls.sql(
    `insert into tokens (id, subject_type, subject_id, token_hash, token_prefix, scope_ceiling)
     select i, 'user', s, h, p, '{approver}' from unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) as t (i, s, h, p)`,
    [column('tokenId'), column('id'), column('hash'), column('prefix')],
  );
  return people.map((person) => person.token);
}

describe('approvals at once', () => {
  it('RQ-I4: takes 50 of 60 people where 50 are needed, and tells the others that it is approved', async () => {
    const tokens = await crowd(60);
    const id = await calls.created(owner, { database: 'ledger' });
    const answers = await Promise.all(tokens.map((token, index) => ask(() => both[index % 2]!.act(token, id, 'approve'))));
    const rows = await calls.sql<{ user: string }>('select user_id as user from decisions where request_id = $1', [id]);
    const counted = new Set(rows.map(({ user }) => user));
    expect([rows.length, counted.size]).toEqual([50, 50]);
    for (const [index, { status, isUnsure }] of answers.entries()) {
      const isCounted = counted.has(`crowd-${index}`);
      expect(isCounted && isUnsure ? [200, 409] : [isCounted ? 200 : 409]).toContain(status);
    }
    const last = ofEach(answers, 200).filter(({ body }) => body.status === 'approved');
    if (!(last.length === 0 && answers.some(({ isUnsure }) => isUnsure))) expect(last).toHaveLength(1);
    for (const { body } of ofEach(answers, 409)) expect(body.error).toContain('already approved');
    const { approval_progress: progress } = (await calls.show(owner, id)).body;
    expect(progress.steps[0].approvers_required).toEqual([{ selector: 'group:crowd', min: 50, current: 50 }]);
    const types = await calls.eventTypes(id);
    expect([types.filter((type) => type === 'step.approved').length, types.at(-1)]).toEqual([49, 'request.approved']);
  });

  it('counts one person once however often they ask at once', async () => {
    const id = await calls.created(owner, { environment: 'qa', reason: 'r' });
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) => ask(() => both[index % 2]!.act(approver, id, 'approve'))),
    );
    expectOneWinner(answers, 'already approved');
    expect(await calls.sql('select user_id as user from decisions where request_id = $1', [id])).toEqual([{ user: 'approver' }]);
  });
});

describe('resumes at once (RQ-87)', () => {
  it('dispatches once and tells the others so', async () => {
    const id = await reach.approved!(calls, { owner, approver });
    const tokens = [owner, api.tokens.admin];
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => ask(() => both[index % 2]!.act(tokens[index % 2]!, id, 'resume'))),
    );
    expectOneWinner(answers, 'already dispatched');
    expect((await calls.sql('select fence from requests where id = $1', [id]))[0]).toEqual({ fence: 1 });
    expect((await calls.eventTypes(id)).filter((type) => type === 'request.dispatched')).toHaveLength(1);
  });
});

describe('approve, reject, cancel and expiry at once', () => {
  it.each(Array.from({ length: 12 }, (_, index) => index))(
    'RQ-I3: leave one outcome that every answer agrees with, round %i',
    async (round) => {
      const id = await calls.created(owner);
      const starts = [
        () => both[0]!.act(approver, id, 'approve'),
        () => both[1]!.act(second, id, 'reject'),
        () => both[round % 2]!.act(owner, id, 'cancel'),
        () => calls.fireClock(id, 'pending').then(() => null),
      ];
      // Rounds begin with another one each, so that each of them wins some.
      const started = starts.map((_, index) => (index + round) % starts.length);
      const results = new Map<number, Answer | null>();
      await Promise.all(started.map(async (which) => results.set(which, await starts[which]!())));
      const [approve, reject, cancel] = [0, 1, 2].map((which) => results.get(which)!.status);
      const { status } = (await calls.show(owner, id)).body;
      expect([status === 'rejected', status === 'cancelled']).toEqual([reject === 200, cancel === 200]);
      if (status === 'approved') expect(approve).toBe(200);
      if (approve === 200) expect(['approved', 'cancelled']).toContain(status);
      if (status === 'expired') expect([approve, reject, cancel]).toEqual([410, 410, 409]);
      for (const answer of [approve, reject]) expect([200, 403, 409, 410]).toContain(answer);
      const ends = (await calls.eventTypes(id)).filter((type) => /rejected|cancelled|expired/.test(type));
      expect(ends).toHaveLength(status === 'approved' ? 0 : 1);
    },
  );
});

/** Holds a request's row lock, as a slow move would; the waiting for it is seen within the server's lock timeout of 3 s. */
async function holdLock(
  id: string,
): Promise<{ untilSeenWaiting: () => Promise<unknown>; releaseAfter: (column: string) => Promise<void> }> {
  const client = new pg.Client({ connectionString: api.database.adminUrl });
  await client.connect();
  await client.query('begin');
  await client.query('select 1 from requests where id = $1 for update', [id]);
  return {
    untilSeenWaiting: () => eventually(async () => (await client.query(lockWaits)).rows.length > 0, 2500),
    releaseAfter: async (column) => {
      await client.query(
        `select pg_sleep(greatest(0, extract(epoch from ${column} - clock_timestamp())) + 0.01) from requests where id = $1`,
        [id],
      );
      await client.query('rollback');
      await client.end();
    },
  };
}

describe('a move that waits for the row past its instant (TT-6, RQ-I12)', () => {
  it.each(['approve', 'reject'] as const)('%s is 410', async (act) => {
    const id = await calls.created(owner);
    await calls.sql(`update requests set expires_at = clock_timestamp() + interval '1500 milliseconds' where id = $1`, [id]);
    await vouch(api.services.database, id);
    const lock = await holdLock(id);
    const answer = calls.act(approver, id, act);
    await lock.untilSeenWaiting();
    await lock.releaseAfter('expires_at');
    const { status, body } = await answer;
    expect([status, body.code]).toEqual([410, 'request.gone']);
    expect((await calls.show(owner, id)).body.status).toBe('pending');
  });

  it('resume is 410', async () => {
    const id = await reach.approved!(calls, { owner, approver });
    await calls.sql(`update requests set dispatch_by = clock_timestamp() + interval '1500 milliseconds' where id = $1`, [id]);
    await vouch(api.services.database, id);
    const lock = await holdLock(id);
    const answer = calls.act(owner, id, 'resume');
    await lock.untilSeenWaiting();
    await lock.releaseAfter('dispatch_by');
    expect((await answer).status).toBe(410);
  });
});

describe('instants without a worker', () => {
  it('RQ-I12: refuses approve and reject from expires_at on, while cancel still works', async () => {
    const id = await calls.created(owner);
    await calls.sql(`update requests set expires_at = clock_timestamp() - interval '1 ms' where id = $1`, [id]);
    for (const [token, act] of [
      [approver, 'approve'],
      [approver, 'reject'],
      [owner, 'reject'],
      [owner, 'resume'],
    ] as const) {
      const answer = await calls.act(token, id, act);
      expect([act, answer.status, answer.body.code]).toEqual([act, 410, 'request.gone']);
    }
    expect(await calls.eventTypes(id)).toEqual(['request.created']);
    expect((await calls.act(owner, id, 'cancel')).body).toEqual({ id, status: 'cancelled' });
  });

  it('RQ-I12: refuses a claim from the dispatch deadline on', async () => {
    const id = await calls.created(owner, { environment: 'staging' });
    await calls.sql(`update requests set dispatch_deadline = clock_timestamp() - interval '1 ms' where id = $1`, [id]);
    expect((await calls.claim(id)).status).toBe(409);
  });
});
