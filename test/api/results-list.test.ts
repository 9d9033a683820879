import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Person, TestApi } from '../support/api.js';
import { startCalls } from './calls-api.js';
import type { GatewayCalls } from './gateway-calls.js';

let api: TestApi;
let calls: GatewayCalls;
let tokens: Record<string, string>;
const people: Record<string, Person> = {
  owner: { roles: ['requester'] },
  other: { roles: ['requester'] },
  approver: { roles: ['requester'], groups: ['dba-team'] },
  lead: { roles: ['requester'], groups: ['leads'] },
  friend: { roles: ['requester'] },
  reader: { roles: ['shop-viewer'], groups: ['readers'] },
  ledger: { roles: ['ledger-user'] },
  operator: { roles: ['shop-operator'] },
  viewer: { roles: ['shop-viewer'] },
  blind: { roles: ['nothing-much'] },
};
beforeAll(async () => {
  ({ api, calls, tokens } = await startCalls(people, ['shop/production', 'shop/staging', 'ledger/production', 'ledger/staging'], {
    times: { resultWaitMs: 100 },
  }));
});
afterAll(() => api?.close());

const list = (name: string, query = '') => api.call('GET', `/api/results${query}`, { token: tokens[name]! });
const data = { success: true, result_data: '{"rows":[{"id":9007199254740993}],"truncated":false}' };

async function runOn(token: string, environment: string, over: object, result: object): Promise<string> {
  if (environment === 'staging') return (await calls.run(token, { environment, ...over }, result)).id;
  const id = await calls.created(token, { environment, ...over });
  await calls.act(tokens.approver!, id, 'approve');
  await calls.act(token, id, 'resume');
  const { executionId } = await calls.claimed(id);
  expect((await calls.submit(executionId, result)).status).toBe(200);
  return id;
}

describe('GET /api/results', () => {
  it('shows what is stored of a run, with its end and its bytes (RS-41, RS-42, RS-47, RS-59)', async () => {
    const { id, executionId } = await calls.run(tokens.owner!, {}, data);
    const { results } = (await list('owner')).body;
    expect(results[0]).toEqual({
      request_id: id,
      execution_id: executionId,
      database: 'shop',
      environment: 'staging',
      operation: 'execute_select',
      stored_at: expect.any(String),
      expires_at: expect.any(String),
      content_length: data.result_data.length,
    });
    expect(Date.parse(results[0].expires_at) - Date.parse(results[0].stored_at)).toBe(30 * 86_400_000);
  });

  it('holds for every caller exactly the stored results whose content answers 200 (RS-5, RS-I3)', async () => {
    const places: [string, string][] = [
      ['shop', 'staging'],
      ['shop', 'production'],
      ['ledger', 'staging'],
      ['ledger', 'production'],
    ];
    const shares = [
      {},
      { share_with: ['friend'] },
      { share_with: ['group:readers', 'requester'] },
      { share_with: ['role:shop-viewer'] },
    ];
    for (const [database, environment] of places) {
      for (const owner of ['owner', 'other'])
        for (const share of shares) await runOn(tokens[owner]!, environment, { database, ...share }, data);
      await runOn(tokens.owner!, environment, { database, no_result_store: true }, data);
      await runOn(tokens.owner!, environment, { database }, { success: true });
      await runOn(tokens.owner!, environment, { database }, { success: false, error_message: 'no' });
    }
    const ended = await calls.run(tokens.owner!, {}, data);
    await calls.sql(`update results set expires_at = clock_timestamp() - interval '1 ms' where request_id = $1`, [ended.id]);
    const shorter = await calls.run(tokens.owner!, {}, data);
    const back = `stored_at = stored_at - interval '31 days', expires_at = expires_at + interval '31 days'`;
    await calls.sql(`update results set ${back} where request_id = $1`, [shorter.id]);
    const stored = await calls.sql<{ request_id: string; execution_id: string }>('select request_id, execution_id from results');
    for (const name of Object.keys(tokens).filter((one) => one !== 'blind')) {
      const readable = [];
      for (const { request_id: id, execution_id: execution } of stored)
        if ((await calls.content(tokens[name]!, id, `?execution_id=${execution}`)).status === 200) readable.push(execution);
      const { results } = (await list(name, '?limit=100')).body;
      const listed = results.map((item: { execution_id: string }) => item.execution_id);
      expect([name, [...listed].sort()]).toEqual([name, readable.sort()]);
    }
    const counts = await Promise.all(
      ['admin', 'owner', 'friend', 'reader', 'viewer', 'operator', 'lead', 'ledger'].map((name) => list(name)),
    );
    expect(counts.map(({ body }) => body.results.length > 0)).toEqual([true, true, true, true, true, true, true, false]);
  }, 60_000);

  it('is ordered by the instant of storing, then by execution, newest first', async () => {
    const { results } = (await list('admin', '?limit=100')).body as { results: { stored_at: string; execution_id: string }[] };
    const sorted = results.toSorted(
      (a, b) => b.stored_at.localeCompare(a.stored_at) || (a.execution_id < b.execution_id ? -1 : 1),
    );
    expect(results).toEqual(sorted);
    expect((await list('admin', '?limit=3')).body.results).toEqual(results.slice(0, 3));
  });

  it('shows an end that the policy in force has brought forward (RS-60)', async () => {
    const { id } = await calls.run(tokens.owner!, {}, data);
    await calls.sql(`update results set retention_days = 90, expires_at = stored_at + interval '90 days' where request_id = $1`, [
      id,
    ]);
    const [item] = (await list('owner', '?limit=1')).body.results;
    expect(item.request_id).toBe(id);
    expect(Date.parse(item.expires_at) - Date.parse(item.stored_at)).toBe(30 * 86_400_000);
  });

  it('keeps its limits and refuses who may read no result anywhere (section 9)', async () => {
    for (const query of ['?limit=-1', '?limit=x', '?limit=', '?limit=1.5']) {
      const { status, body } = await list('owner', query);
      expect([query, status, body.code, body.hint]).toEqual([query, 400, 'validation.failed', 'query.limit']);
    }
    expect((await list('owner', '?limit=0')).body).toEqual({ results: [] });
    for (let run = 0; run < 5; run += 1) await calls.run(tokens.other!, {}, data);
    await calls.sql(
      `insert into executions (id, request_id, fence, agent_id, claim_answer, mutating, marker, status, lease_secs, window_secs, lease_expires_at,
         created_at, finished_at, success, result_kept)
       select gen_random_uuid(), r.id, n, 'a', '', false, 'none', 'completed', 1, 1, clock_timestamp(), clock_timestamp(), clock_timestamp(), true, 'object'
       from (select id from requests where requester = 'other' limit 1) r, generate_series(100, 250) n`,
    );
    await calls.sql(
      `insert into results (execution_id, request_id, backend, object_key, content_length, sha256, valid_json, stored_at, retention_days, expires_at,
         requester, database, environment, share_selectors)
       select e.id, r.id, 'local', '', 0, '', true, clock_timestamp(), 30, clock_timestamp() + interval '1 day', r.requester, r.database, r.environment, '{}'
       from executions e join requests r on r.id = e.request_id where e.fence >= 100`,
    );
    try {
      expect((await list('other', '?limit=5000')).body.results).toHaveLength(100);
      expect((await list('other')).body.results).toHaveLength(50);
    } finally {
      await calls.sql('delete from results where execution_id in (select id from executions where fence >= 100)');
      await calls.sql('delete from executions where fence >= 100');
    }
    expect((await list('blind')).body).toEqual({ error: 'forbidden', code: 'auth.forbidden', hint: expect.any(String) });
  });
});
