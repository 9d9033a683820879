import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Person, TestApi } from '../support/api.js';
import { startCalls } from './calls-api.js';
import { callsToml } from './calls-toml.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';
import { large } from './large-result.js';
import { reach } from './reach-status.js';

let api: TestApi;
let calls: GatewayCalls;
let tokens: Record<string, string>;
beforeAll(async () => {
  const people: Record<string, Person> = {
    owner: { roles: ['requester'] },
    approver: { roles: ['requester'], groups: ['dba-team'] },
    lead: { roles: ['requester'], groups: ['leads'] },
    friend: { roles: ['requester'] },
    operator: { roles: ['shop-operator'] },
    blind: { roles: ['nothing-much'] },
    stranger: { roles: ['requester'] },
  };
  ({ api, calls, tokens } = await startCalls(people, ['shop/production', 'shop/staging', 'ledger/production', 'ledger/staging'], {
    times: { resultWaitMs: 100 },
  }));
});
afterAll(() => api?.close());

const forbidden = { error: 'forbidden', code: 'auth.forbidden', hint: expect.any(String) };
const gone = { error: 'result not stored for this request', code: 'result.gone', hint: expect.anything() };
const rows = '{"rows":[{"id":9007199254740993}],"truncated":false,"truncation_reason":null}';
const owner = () => tokens.owner!;
const write = { detail: 'update t set a = 1 where id = 1' };

describe('who may read (RS-1, RS-3, RS-4)', () => {
  it.each([
    ['owner', 200],
    ['friend', 200],
    ['lead', 403],
    ['operator', 200],
    ['admin', 200],
    ['approver', 403],
    ['stranger', 403],
    ['blind', 403],
  ])('%s of a request in shop gets %i', async (name, status) => {
    const { id } = await calls.run(owner(), { share_with: ['friend', 'blind'] }, { success: true, result_data: rows });
    for (const answer of [await calls.content(tokens[name]!, id), await calls.stream(tokens[name]!, id)]) {
      expect(answer.status).toBe(status);
      if (status === 403) expect(answer.body).toEqual(forbidden);
    }
  });

  it('opens results by the access list of the policy in force, and to nobody who approved (RS-2, RS-4)', async () => {
    const id = await calls.created(owner(), { database: 'ledger', environment: 'production' });
    await calls.act(tokens.approver!, id, 'approve');
    await calls.act(owner(), id, 'resume');
    await calls.submit((await calls.claimed(id)).executionId, { success: true, result_data: rows });
    expect((await calls.content(tokens.lead!, id)).status).toBe(200);
    expect((await calls.content(tokens.approver!, id)).body).toEqual(forbidden);
    const [run] = (await calls.executions(owner(), id)).body.executions;
    expect(run.has_stored_result).toBe(true);
  });

  it.each(Object.keys(reach))('answers a stranger the same while %s (RS-3, RS-I7)', async (status) => {
    const id = await reach[status]!(calls, { owner: owner(), approver: tokens.approver! });
    for (const path of ['stream', 'content', 'content?execution_id=', 'content?execution_id=x']) {
      const answer = await api.call('GET', `/api/requests/${id}/result/${path}`, { token: tokens.stranger! });
      expect([answer.status, answer.body]).toEqual([403, forbidden]);
    }
  });
});

describe('stored content (RS-31, RS-33, RS-36, RS-38, RS-39, RS-40)', () => {
  it('is the envelope, the same from the stream (RS-12, RS-14, RS-20)', async () => {
    const { id, executionId } = await calls.run(owner(), {}, { success: true, result_data: rows, truncated: true });
    const content = await calls.content(owner(), id);
    expect(Object.keys(content.body)).toEqual(
      '_svc_result execution_id success rows_affected truncated error_message result_data'.split(' '),
    );
    expect(content.body).toMatchObject({
      _svc_result: true,
      execution_id: executionId,
      success: true,
      rows_affected: null,
      truncated: true,
      error_message: null,
    });
    expect(content.text).toContain(rows);
    expect(content.headers.get('content-type')).toBe('application/json; charset=utf-8');
    const others = [await calls.stream(owner(), id), await calls.content(owner(), id, `?execution_id=${executionId}`)];
    for (const other of others) expect(other.text).toBe(content.text);
  });

  it('of a success without data is null (RS-39, RS-43d)', async () => {
    const { id } = await calls.run(owner(), write, { success: true, rows_affected: 3 });
    expect((await calls.content(owner(), id)).body).toMatchObject({ success: true, rows_affected: 3, result_data: null });
    const run = await calls.run(owner(), {}, { success: true, result_data: null });
    expect((await calls.stream(owner(), run.id)).body).toMatchObject({ success: true, result_data: null });
  });

  it('of a failure is the message, for no_result_store and delivery stream too (RS-13, RS-38, RS-43g)', async () => {
    const failure = { success: false, error_message: '42P01: relation "t" does not exist', result_data: '{"rows":[1]}' };
    for (const over of [{}, { no_result_store: true }, { database: 'ledger' }]) {
      const { id, executionId } = await calls.run(owner(), over, failure);
      for (const answer of [await calls.content(owner(), id), await calls.stream(owner(), id)]) {
        expect(answer.body).toEqual({
          _svc_result: true,
          execution_id: executionId,
          success: false,
          rows_affected: null,
          truncated: false,
          error_message: failure.error_message,
          result_data: null,
        });
      }
    }
  });

  it('of a migration that failed half-way is what was done, until its expiry; of other failures nothing (RS-13, RS-38, RS-43f)', async () => {
    const partial = '{"applied_before_failure":["0001"],"failed_version":"0002","error":"no"}';
    const asMigration = async (over: object, result: object) => {
      const id = await calls.created(owner(), { environment: 'staging', ...write, ...over });
      const { executionId } = await calls.claimed(id);
      // The digest binds the operation, so it changes after the claim.
      await calls.sql(`update requests set operation = 'migrate_up' where id = $1`, [id]);
      expect((await calls.submit(executionId, { success: false, error_message: 'no', ...result })).status).toBe(200);
      return id;
    };
    for (const over of [{}, { no_result_store: true }, { database: 'ledger' }]) {
      const id = await asMigration(over, { result_data: partial });
      for (const answer of [await calls.content(owner(), id), await calls.stream(owner(), id)]) {
        expect(answer.body).toMatchObject({ success: false, error_message: 'no' });
        expect(answer.text).toContain(`"result_data":${partial}}`);
      }
      const [{ outcome }] = (await calls.executions(owner(), id)).body.executions;
      expect(outcome).toBe('partial');
      expect((await api.call('GET', '/api/results', { token: owner() })).body.results[0].request_id).toBe(id);
      await calls.sql(`update results set expires_at = clock_timestamp() - interval '1 ms' where request_id = $1`, [id]);
      expect((await calls.content(owner(), id)).body).toMatchObject({ success: false, result_data: null });
    }
    for (const data of ['{"applied_before_failure":[]}', '{"rows":[1]}', 'no json "applied_before_failure"']) {
      const id = await asMigration({}, { result_data: data });
      expect((await calls.content(owner(), id)).body.result_data).toBeNull();
      expect((await calls.executions(owner(), id)).body.executions[0].outcome).toBe('rolled_back');
    }
  });

  it('keeps 4096 bytes of an error message, cut between characters (RS-44)', async () => {
    const { id } = await calls.run(owner(), {}, { success: false, error_message: `x${'é'.repeat(4000)}` });
    const { error_message: message } = (await calls.content(owner(), id)).body;
    expect(message).toBe(`x${'é'.repeat(2047)}`);
  });

  it.each([
    ['no_result_store', { no_result_store: true }],
    ['delivery stream', { database: 'ledger' }],
  ])('is 410 for a success under %s (RS-34, RS-43b, RS-43e)', async (_what, over) => {
    for (const result of [{ success: true, result_data: rows }, { success: true }]) {
      const { id, executionId } = await calls.run(owner(), over, result);
      const content = await calls.content(owner(), id);
      expect([content.status, content.body]).toEqual([410, gone]);
      expect((await calls.content(owner(), id, `?execution_id=${executionId}`)).status).toBe(410);
      expect((await calls.executions(owner(), id)).body.executions[0].has_stored_result).toBe(false);
    }
  });

  it('is 410 from its expiry on (RS-35, RS-60)', async () => {
    const { id } = await calls.run(owner(), {}, { success: true, result_data: rows });
    await calls.sql(`update results set expires_at = clock_timestamp() + interval '1 hour' where request_id = $1`, [id]);
    expect((await calls.content(owner(), id)).status).toBe(200);
    await calls.sql(`update results set expires_at = clock_timestamp() - interval '1 ms' where request_id = $1`, [id]);
    for (const answer of [await calls.content(owner(), id), await calls.stream(owner(), id)])
      expect([answer.status, answer.body]).toEqual([410, gone]);
    expect((await calls.executions(owner(), id)).body.executions[0].has_stored_result).toBe(false);
  });

  it('is 410 earlier when the policy in force now is shorter (RS-60)', async () => {
    const { id } = await calls.run(owner(), {}, { success: true, result_data: rows });
    await calls.sql(
      `update results set stored_at = clock_timestamp() - interval '31 days', expires_at = clock_timestamp() + interval '1 day' where request_id = $1`,
      [id],
    );
    expect((await calls.content(owner(), id)).status).toBe(410);
  });

  it('is 404 before anything has run and while the latest run goes on (RS-32)', async () => {
    const id = await calls.created(owner(), { environment: 'staging' });
    const none = { error: 'no result yet', code: 'result.not_found', hint: null };
    expect([(await calls.content(owner(), id)).status, (await calls.content(owner(), id)).body]).toEqual([404, none]);
    const { executionId } = await calls.claimed(id);
    expect((await calls.content(owner(), id)).body).toEqual(none);
    const named = await calls.content(owner(), id, `?execution_id=${executionId}`);
    expect([named.status, named.body]).toEqual([
      409,
      { error: 'execution is still running', code: 'result.conflict', hint: null },
    ]);
  });

  it('of another execution is 404 for ids of other requests and texts that are no ids (RS-31)', async () => {
    const { id } = await calls.run(owner(), {}, { success: true });
    const other = await calls.run(owner(), {}, { success: true });
    for (const executionId of [other.executionId, id, 'x', '']) {
      const answer = await calls.content(owner(), id, `?execution_id=${executionId}`);
      expect([executionId, answer.status, answer.body.code]).toEqual([executionId, 404, 'execution.not_found']);
    }
  });

  it('works for every status once an execution has finished, lost ones included (RS-38, RS-40)', async () => {
    const lost = await calls.created(owner(), { environment: 'staging', ...write });
    const { executionId } = await calls.claimed(lost);
    await calls.fireClock(lost, 'lease');
    const first = await calls.content(owner(), lost);
    expect(first.body).toMatchObject({
      execution_id: executionId,
      success: false,
      error_message: expect.stringMatching(/^lost: /),
    });
    await calls.act(owner(), lost, 'cancel');
    expect((await calls.content(owner(), lost)).text).toBe(first.text);
  });

  it('of an earlier run stays readable by its id (RS-31)', async () => {
    const run = await calls.run(owner(), {}, { success: true, result_data: '{"rows":[1]}' });
    await calls.act(owner(), run.id, 'resume');
    const second = await calls.claimed(run.id);
    expect((await calls.content(owner(), run.id)).status).toBe(404);
    expect((await calls.content(owner(), run.id, `?execution_id=${run.executionId}`)).text).toContain('{"rows":[1]}');
    await calls.submit(second.executionId, { success: true, result_data: '{"rows":[2]}' });
    expect((await calls.content(owner(), run.id)).text).toContain('{"rows":[2]}');
    expect((await calls.content(owner(), run.id, `?execution_id=${run.executionId}`)).text).toContain('{"rows":[1]}');
  });

  it('is 500 without a reason when the stored object is changed or missing, and the log says so (RS-36, HT-94)', async () => {
    const damages = [
      (path: string) => writeFile(path, large(rows).replace('3', '4')),
      (path: string) => writeFile(path, large(rows).slice(1)),
      (path: string) => rm(path),
    ];
    for (const damage of damages) {
      const { id, executionId } = await calls.run(owner(), {}, { success: true, result_data: large(rows) });
      const [stored] = await calls.sql<{ object_key: string }>('select object_key from results where execution_id = $1', [
        executionId,
      ]);
      await damage(join(api.config.resultStorage.rootDir, stored!.object_key));
      const answer = await calls.content(owner(), id);
      expect([answer.status, answer.body]).toEqual([
        500,
        { error: 'internal server error', code: 'internal', hint: `request id ${answer.headers.get('x-request-id')}` },
      ]);
      expect(api.logged.some((line) => line.includes(executionId))).toBe(true);
    }
  });
});

describe('the relay (RS-45, RS-46)', () => {
  it('gives a result that is not stored to every reader of the stream until its time is over', async () => {
    const { id, executionId } = await calls.run(owner(), { no_result_store: true }, { success: true, result_data: rows });
    for (let reader = 0; reader < 3; reader += 1) {
      const answer = await calls.stream(owner(), id);
      expect([answer.status, answer.body.execution_id]).toEqual([200, executionId]);
      expect(answer.text).toContain(rows);
    }
    const [slot] = await calls.sql<{ secs: number }>(
      `select round(extract(epoch from r.expires_at - e.finished_at))::int as secs from result_relay r join executions e on e.id = r.execution_id
       where r.execution_id = $1`,
      [executionId],
    );
    expect(slot).toEqual({ secs: 600 });
    await calls.sql(`update result_relay set expires_at = clock_timestamp() - interval '1 ms' where execution_id = $1`, [
      executionId,
    ]);
    const late = await calls.stream(owner(), id);
    expect([late.status, late.body]).toEqual([410, gone]);
  });

  it('answers 410 when a crash has emptied it, while the status stays true', async () => {
    const { id } = await calls.run(owner(), { no_result_store: true }, { success: true, result_data: rows });
    await calls.sql('truncate result_relay');
    expect((await calls.stream(owner(), id)).status).toBe(410);
    expect((await calls.show(owner(), id)).body.status).toBe('executed');
  });

  it('holds nothing of a request that was resumed', async () => {
    const { id, executionId } = await calls.run(owner(), { no_result_store: true }, { success: true, result_data: rows });
    expect((await calls.act(owner(), id, 'resume')).status).toBe(200);
    expect(await calls.sql('select 1 from result_relay where execution_id = $1', [executionId])).toEqual([]);
    expect((await calls.stream(owner(), id)).status).toBe(204);
  });

  it('passes an envelope of a success without data', async () => {
    const { id } = await calls.run(owner(), { no_result_store: true, ...write }, { success: true, rows_affected: 2 });
    expect((await calls.stream(owner(), id)).body).toMatchObject({ success: true, rows_affected: 2, result_data: null });
  });

  it('removes the oldest when it is full', async () => {
    const small = await api.another({ toml: `${callsToml}\n[result_channel]\nmax_slots = 2\n`, times: { resultWaitMs: 100 } });
    try {
      await calls.sql('truncate result_relay');
      const smallCalls = gatewayCalls(small);
      const ids = [];
      for (let index = 0; index < 3; index += 1)
        ids.push((await smallCalls.run(owner(), { no_result_store: true }, { success: true, result_data: `${index}` })).id);
      const statuses = await Promise.all(ids.map(async (id) => (await smallCalls.stream(owner(), id)).status));
      expect(statuses).toEqual([410, 200, 200]);
    } finally {
      await small.close();
    }
  });
});

describe('a run that did not get to a result (RS-21)', () => {
  it.each([
    ['rejected', 'request rejected'],
    ['cancelled', 'request cancelled'],
    ['expired', 'request expired'],
  ])('answers a %s request at once', async (status, message) => {
    const id = await reach[status]!(calls, { owner: owner(), approver: tokens.approver! });
    const answer = await calls.stream(owner(), id);
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        _svc_result: true,
        execution_id: '',
        success: false,
        rows_affected: null,
        truncated: false,
        error_message: message,
        result_data: null,
      },
    ]);
  });

  it('names the last execution of a request that was cancelled after it was lost', async () => {
    const id = await calls.created(owner(), { environment: 'staging' });
    const { executionId } = await calls.claimed(id);
    await calls.fireClock(id, 'lease');
    await calls.act(owner(), id, 'cancel');
    expect((await calls.stream(owner(), id)).body).toMatchObject({
      execution_id: executionId,
      success: false,
      error_message: 'request cancelled',
    });
  });
});
