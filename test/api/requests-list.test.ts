import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Person, TestApi } from '../support/api.js';
import { startCalls } from './calls-api.js';
import type { GatewayCalls } from './gateway-calls.js';
import { reach } from './reach-status.js';

/** Single tests make hundreds of calls. */
vi.setConfig({ testTimeout: 60_000 });

let api: TestApi;
let calls: GatewayCalls;
let tokens: Record<string, string>;
const ids: string[] = [];
/** A request of two steps, of which the first has one of its approvals. */
let half: string;

/** Callers by every relation of RQ-2: owners, approvers, people shared with, limited and wide roles, nobody. */
const people: Record<string, Person> = {
  alice: { roles: ['requester'] },
  bob: { roles: ['requester'], groups: ['dba-team'] },
  carla: { groups: ['leads'] },
  dave: { roles: ['ledger-user'], groups: ['dba-team'] },
  erin: { roles: ['approver'] },
  frank: { roles: ['shop-operator'] },
  gina: { roles: ['shop-viewer'], groups: ['readers'] },
  hans: { roles: ['shop-viewer'] },
  ivy: { roles: ['dba'] },
  jo: { roles: ['ledger-user', 'shop-viewer'] },
};

beforeAll(async () => {
  ({ api, calls, tokens } = await startCalls(people, ['shop/production', 'shop/staging', 'ledger/production', 'shop/qa']));
  for (const status of Object.keys(reach)) {
    ids.push(await reach[status]!(calls, { owner: tokens.alice!, approver: tokens.bob! }));
  }
  const shares = [[], ['user:hans'], ['group:readers'], ['role:shop-viewer'], ['role:ledger-user', 'gina'], ['requester']];
  for (const [index, share_with] of shares.entries()) {
    for (const [database, environment] of [
      ['shop', 'production'],
      ['ledger', 'production'],
      ['shop', 'qa'],
      ['shop', 'dev'],
      ['shop', 'staging'],
    ]) {
      const owner = ['alice', 'bob', 'ivy'][index % 3]!;
      ids.push(
        await calls.created(tokens[owner]!, { database, environment, share_with, reason: 'r', detail: `select ${index}` }),
      );
    }
  }
  const halfway = await calls.created(tokens.alice!, { environment: 'qa', reason: 'r' });
  await calls.act(tokens.bob!, halfway, 'approve');
  await calls.act(tokens.carla!, halfway, 'approve');
  ids.push(halfway);
  half = await calls.created(tokens.bob!, { environment: 'qa', reason: 'r' });
  await calls.act(tokens.carla!, half, 'approve');
  ids.push(half);
});
afterAll(() => api?.close());

async function listedIds(token: string, query: URLSearchParams): Promise<string[]> {
  query.set('limit', '100');
  const answer = await calls.list(token, `?${query}`);
  expect(answer.status).toBe(200);
  return answer.body.requests.map((item: { id: string }) => item.id);
}

describe('what a list holds (RQ-11)', () => {
  it.each([...Object.keys(people), 'admin'])('RQ-I6: is for %s exactly what show answers', async (name) => {
    const token = tokens[name]!;
    const open = [];
    for (const id of ids) if ((await calls.show(token, id)).status === 200) open.push(id);
    const listed = await listedIds(token, new URLSearchParams());
    expect(listed.sort()).toEqual(open.sort());
  });

  it('RQ-I6, HT-84: is for every caller and filter what of the unfiltered list has these values', async () => {
    const all = (await calls.list(tokens.admin!, '?limit=100')).body.requests as Record<string, string>[];
    const someOf = (key: string, other = 'unknown') =>
      fc.option(fc.constantFrom(...new Set(all.map((item) => item[key]!)), other), { nil: undefined });
    const filters = fc.record({
      status: someOf('status', 'execution_lost'),
      user: someOf('requester'),
      database: someOf('database'),
      environment: someOf('environment'),
      operation: someOf('operation', 'migrate_repair'),
    });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...Object.keys(people)), filters, async (name, filter) => {
        const query = new URLSearchParams(
          Object.entries(filter).filter(([, value]) => value !== undefined) as [string, string][],
        );
        const visible = new Set(await listedIds(tokens[name]!, new URLSearchParams()));
        const wanted = all.filter(
          (item) =>
            visible.has(item.id!) &&
            Object.entries(filter).every(
              ([key, value]) => value === undefined || item[key === 'user' ? 'requester' : key] === value,
            ),
        );
        expect(await listedIds(tokens[name]!, query)).toEqual(wanted.map((item) => item.id));
      }),
      { numRuns: 60 },
    );
  });

  it('needs request.view in some role, but for pending_for_me (RQ-2, RQ-3)', async () => {
    const blind = await api.createUser('blind', { roles: ['nothing-much'] });
    expect((await calls.list(blind)).body).toEqual({ error: 'forbidden', code: 'auth.forbidden', hint: expect.any(String) });
    expect((await calls.list(blind, '?pending_for_me=true')).body).toEqual({
      requests: [],
      total: 0,
      total_is_estimate: false,
      limit: 50,
      offset: 0,
    });
    expect((await calls.list(blind, '?limit=x')).status).toBe(403);
    expect((await calls.list(blind, '?pending_for_me=true&limit=x')).status).toBe(400);
    expect((await calls.list(blind, '?pending_for_me=true&pending_for_me=false')).status).toBe(400);
  });

  it('leaves whoever has approved what they read, and other approvers nothing once the step has ended (RQ-8)', async () => {
    const id = await calls.created(tokens.alice!, { environment: 'qa', reason: 'r' });
    const carla = tokens.carla!;
    const other = await api.createUser('coleader', { groups: ['leads'] });
    expect((await calls.show(other, id)).status).toBe(200);
    expect((await calls.show(carla, id)).status).toBe(200);
    await calls.act(carla, id, 'approve');
    expect((await calls.show(carla, id)).status).toBe(200);
    await calls.act(tokens.bob!, id, 'approve');
    expect((await calls.show(carla, id)).status).toBe(200);
    expect(await listedIds(carla, new URLSearchParams({ user: 'alice' }))).toContain(id);
    expect((await calls.content(carla, id)).body.code).toBe('auth.forbidden');
    expect((await calls.show(other, id)).body.code).toBe('auth.forbidden');
    expect(await listedIds(other, new URLSearchParams({ user: 'alice' }))).not.toContain(id);
    ids.push(id);
  });

  it('tells each reader what they have to do with it, and lists what they decided on (RQ-37)', async () => {
    const id = await calls.created(tokens.alice!, { environment: 'qa', reason: 'r' });
    const related = async (name: string) => {
      const { requests } = (await calls.list(tokens[name]!, '?limit=100&user=alice')).body;
      const listed = requests.find((item: { id: string }) => item.id === id)?.related;
      expect((await calls.show(tokens[name]!, id)).body.related).toEqual(listed);
      return listed;
    };
    const decidedBy = (name: string, more = '') => listedIds(tokens[name]!, new URLSearchParams(`decided_by_me=true${more}`));
    expect([await related('alice'), await related('carla'), await related('admin')]).toEqual([['requested'], ['can_decide'], []]);
    expect(await decidedBy('carla')).not.toContain(id);
    await calls.act(tokens.carla!, id, 'approve');
    expect([await related('carla'), await related('bob')]).toEqual([['decided'], ['can_decide']]);
    await calls.act(tokens.bob!, id, 'approve');
    await calls.act(tokens.erin!, id, 'reject');
    for (const name of ['carla', 'bob', 'erin'])
      expect([await related(name), await decidedBy(name)]).toEqual([['decided'], expect.arrayContaining([id])]);
    expect(await decidedBy('carla', '&status=rejected&user=alice')).toContain(id);
    expect(await decidedBy('carla', '&status=pending')).not.toContain(id);
    expect(await decidedBy('carla', '&pending_for_me=true')).not.toContain(id);
    expect(await decidedBy('alice')).toEqual([]);
    await calls.act(tokens.alice!, id, 'cancel');
    ids.push(id);
    const mine = await calls.created(tokens.alice!, { reason: 'r' });
    await calls.act(tokens.alice!, mine, 'reject');
    expect((await calls.show(tokens.alice!, mine)).body.related).toEqual(['requested', 'decided']);
    ids.push(mine);
    // Past its end, though no timer has fired.
    const late = await calls.created(tokens.alice!, { reason: 'r' });
    await calls.sql(`update requests set expires_at = clock_timestamp() - interval '1 ms' where id = $1`, [late]);
    expect((await calls.show(tokens.bob!, late)).body.related).toEqual([]);
    ids.push(late);
  });

  it('holds the keys of its table, those of the steps while pending only', async () => {
    const always = ['created_at', 'database', 'detail', 'emergency', 'environment', 'expires_at', 'id', 'operation'];
    always.push('reason', 'related', 'requester', 'risk_level', 'status', 'updated_at');
    const { requests } = (await calls.list(tokens.admin!, '?limit=100')).body;
    expect(new Set(requests.map((item: { status: string }) => item.status)).size).toBe(10);
    for (const item of requests) {
      const steps = item.status === 'pending' ? ['current_step', 'next_approvers', 'total_steps'] : [];
      expect(Object.keys(item).sort()).toEqual([...always, ...steps].sort());
    }
    const shown = requests.find((item: { id: string }) => item.id === half)!;
    expect(shown).toMatchObject({ current_step: 0, total_steps: 2, next_approvers: ['group:dba-team', 'group:leads'] });
  });

  it('tells each reader the risk that show tells them (RQ-11)', async () => {
    for (const name of ['alice', 'bob', 'gina', 'admin']) {
      const { requests } = (await calls.list(tokens[name]!, '?limit=100')).body;
      expect(requests.length).toBeGreaterThan(0);
      for (const { id, risk_level } of requests)
        expect([id, risk_level]).toEqual([id, (await calls.show(tokens[name]!, id)).body.decision_trace.risk.level]);
    }
  });
});

describe('what waits for a caller (RQ-36)', () => {
  it.each([...Object.keys(people), 'admin'])('is for %s exactly what an approval would take', async (name) => {
    const token = tokens[name]!;
    const waiting = await listedIds(token, new URLSearchParams({ pending_for_me: 'true' }));
    const taken: string[] = [];
    for (const id of ids) {
      const before = await calls.sql('select * from requests where id = $1', [id]);
      const answer = await calls.act(token, id, 'approve', { selector: null });
      // An ambiguous selector is a question, not a refusal: naming one would be taken.
      if (answer.status === 200 || (answer.status === 400 && answer.body.error.includes('ambiguous'))) taken.push(id);
      if (answer.status === 200) await restore(id, before[0] as Record<string, unknown>);
    }
    expect(waiting.sort()).toEqual(taken.sort());
  });

  it('leaves out what is past expires_at although no timer has fired', async () => {
    const id = await calls.created(tokens.alice!);
    ids.push(id);
    const mine = new URLSearchParams({ pending_for_me: 'true', user: 'alice' });
    expect(await listedIds(tokens.bob!, mine)).toContain(id);
    await calls.sql(`update requests set expires_at = clock_timestamp() - interval '1 ms' where id = $1`, [id]);
    expect(await listedIds(tokens.bob!, mine)).not.toContain(id);
    expect((await calls.show(tokens.bob!, id)).body.status).toBe('pending');
  });
});

/** Takes an approval back, so that the next caller meets the same request. */
async function restore(id: string, row: Record<string, unknown>): Promise<void> {
  await calls.sql(
    `delete from decisions where id = (select id from decisions where request_id = $1 order by decided_at desc limit 1)`,
    [id],
  );
  await calls.sql(
    `update requests set status = $2, current_step = $3, step_selectors = $4, open_selectors = $5, version = $6, state_mac = $7, approved_at = null,
       dispatch_by = null where id = $1`,
    [id, row.status, row.current_step, row.step_selectors, row.open_selectors, row.version, row.state_mac],
  );
}

describe('pages (HT-80, HT-81, HT-82, HT-83, HT-84)', () => {
  it('give the whole list without repeats, whatever their size (HT-I5)', async () => {
    const whole = (await calls.list(tokens.admin!, '?limit=100')).body;
    expect(whole.total).toBe(whole.requests.length);
    for (const limit of [1, 7, 50]) {
      const paged: string[] = [];
      for (let offset = 0; offset < whole.total; offset += limit) {
        const page = (await calls.list(tokens.admin!, `?limit=${limit}&offset=${offset}`)).body;
        expect([page.total, page.limit, page.offset]).toEqual([whole.total, limit, offset]);
        paged.push(...page.requests.map((item: { id: string }) => item.id));
      }
      expect(paged).toEqual(whole.requests.map((item: { id: string }) => item.id));
    }
  });

  it('are ordered by creation, newest first, then by id', async () => {
    const before = await calls.sql<{ id: string; created_at: string }>(
      `select id, created_at::text from requests where environment = 'qa'`,
    );
    await calls.sql(`update requests set created_at = '2026-01-01T00:00:00Z' where environment = 'qa'`);
    try {
      const { requests } = (await calls.list(tokens.admin!, '?limit=100')).body;
      const keys = requests.map((item: { created_at: string; id: string }) => `${item.created_at} ${item.id}`);
      expect(keys).toEqual([...keys].sort().reverse());
    } finally {
      for (const { id, created_at } of before)
        await calls.sql('update requests set created_at = $2 where id = $1', [id, created_at]);
    }
  });

  it('honour limit 0, clamp above 100, and are empty beyond the end', async () => {
    const none = (await calls.list(tokens.admin!, '?limit=0')).body;
    expect([none.requests, none.limit, none.total > 0]).toEqual([[], 0, true]);
    expect((await calls.list(tokens.admin!, '?limit=101')).body.limit).toBe(100);
    expect((await calls.list(tokens.admin!)).body).toMatchObject({ limit: 50, offset: 0 });
    const beyond = await calls.list(tokens.admin!, '?offset=4294967295');
    expect([beyond.status, beyond.body.requests]).toEqual([200, []]);
  });
});
