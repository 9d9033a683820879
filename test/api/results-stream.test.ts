import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApi } from '../support/api.js';
import { ownerAndApprover, startCallsOnTwo } from './calls-api.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';
import { reach } from './reach-status.js';
import { untilWaiting } from './until-waiting.js';

let api: TestApi;
let other: TestApi;
let calls: GatewayCalls;
let elsewhere: GatewayCalls;
let close: () => Promise<void>;
let owner: string;
let approver: string;
beforeAll(async () => {
  ({
    api,
    calls,
    other,
    elsewhere,
    close,
    tokens: { owner, approver },
  } = await startCallsOnTwo(ownerAndApprover, ['shop/production', 'shop/staging'], {}, { times: { cancelWaitMs: 20 } }));
});
afterAll(() => close?.());

const rows = '{"rows":[{"n":1}]}';

/** A reader that waits. */
const reader = (id: string, { on = api, token = owner }: { on?: TestApi; token?: string } = {}) =>
  untilWaiting(on, () => gatewayCalls(on).stream(token, id));

const staging = async (over = {}) => calls.created(owner, { environment: 'staging', ...over });

describe('waiting for a result (RS-22 to RS-30)', () => {
  it('ends on every process when the run ends, with the same answer as content (RS-23, RS-29)', async () => {
    const id = await staging();
    const { executionId } = await calls.claimed(id);
    const readers = [];
    for (const on of [api, other, api, other]) readers.push(await reader(id, { on }));
    await elsewhere.submit(executionId, { success: true, result_data: rows });
    const answers = await Promise.all(readers.map(({ answer }) => answer));
    const content = await calls.content(owner, id);
    for (const answer of answers) expect([answer.status, answer.text]).toEqual([200, content.text]);
  });

  it('is for 60 readers one answer, also of a result that is not stored (RS-29, RS-45)', async () => {
    const id = await staging({ no_result_store: true });
    const { executionId } = await calls.claimed(id);
    const readers = Array.from({ length: 60 }, (_, index) => (index % 2 === 0 ? calls : elsewhere).stream(owner, id));
    await calls.submit(executionId, { success: true, result_data: rows });
    const answers = await Promise.all(readers);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]!.text).toContain(rows);
  });

  it('begins while the request is pending and lasts through approval, resume and claim', async () => {
    const id = await calls.created(owner);
    const { answer } = await reader(id);
    await elsewhere.act(approver, id, 'approve');
    await elsewhere.act(owner, id, 'resume');
    const { executionId } = await calls.claimed(id);
    await elsewhere.submit(executionId, { success: false, error_message: '42601: no' });
    expect((await answer).body).toMatchObject({ success: false, execution_id: executionId, error_message: '42601: no' });
  });

  it.each([
    ['rejected', (id: string) => elsewhere.act(approver, id, 'reject'), 'request rejected'],
    ['cancelled', (id: string) => elsewhere.act(owner, id, 'cancel'), 'request cancelled'],
    ['expired', (id: string) => elsewhere.fireClock(id, 'pending'), 'request expired'],
  ])('ends when the request becomes %s (RS-24)', async (_status, end, message) => {
    const id = await calls.created(owner);
    const { answer } = await reader(id);
    await end(id);
    // A clock that fires in a worker tells this process through the database; without a sender it looks again by itself (HT-102).
    expect((await answer).body).toMatchObject({ success: false, execution_id: '', error_message: message, result_data: null });
  });

  it('ends when the content turns out to be changed (RS-24, ST-23)', async () => {
    const id = await reach.dispatched!(calls, { owner, approver });
    const { answer } = await reader(id);
    await calls.sql(`update requests set detail = 'select 2' where id = $1`, [id]);
    await elsewhere.claim(id);
    expect((await answer).body).toMatchObject({ success: false, error_message: 'approved content changed' });
  });

  it('ends with 204 and no body when nobody claims the dispatch (RS-25, RS-30)', async () => {
    const id = await reach.dispatched!(calls, { owner, approver });
    const { answer } = await reader(id);
    await elsewhere.fireClock(id, 'dispatch');
    const ended = await answer;
    expect([ended.status, ended.text, ended.headers.get('content-type')]).toEqual([204, '', null]);
    expect((await calls.show(owner, id)).body.status).toBe('approved');
  });

  it('ends with 204 when the run is lost, and a reader that comes later gets the late result (RS-25, RS-27)', async () => {
    const id = await staging();
    const { executionId } = await calls.claimed(id);
    const first = await reader(id);
    await elsewhere.fireClock(id, 'lease');
    expect((await first.answer).status).toBe(204);
    const second = await reader(id);
    await elsewhere.submit(executionId, { success: true, result_data: rows });
    const late = await second.answer;
    expect([late.status, late.body.execution_id]).toEqual([200, executionId]);
    expect(late.text).toContain(rows);
  });

  it('is told of a cancelled run by its end (RS-24, ST-17)', async () => {
    const id = await staging();
    const { executionId } = await calls.claimed(id);
    const { answer } = await reader(id);
    expect((await elsewhere.act(owner, id, 'cancel')).status).toBe(202);
    await elsewhere.submit(executionId, { success: false, outcome: 'rolled_back', cancelled: true, error_message: '57014: x' });
    expect((await answer).body).toMatchObject({ execution_id: executionId, success: false, error_message: 'request cancelled' });
  });

  it('after a resume gives the new run, never the old one (RS-28)', async () => {
    const { id, executionId } = await calls.run(owner, {}, { success: true, result_data: '{"rows":["old"]}' });
    expect((await calls.stream(owner, id)).body.execution_id).toBe(executionId);
    await calls.act(owner, id, 'resume');
    const { answer } = await reader(id);
    const next = await calls.claimed(id);
    await elsewhere.submit(next.executionId, { success: true, result_data: '{"rows":["new"]}' });
    expect((await answer).body).toMatchObject({ execution_id: next.executionId, result_data: { rows: ['new'] } });
  });

  it('answers the run that had ended when it looked, whatever has begun since (RS-20)', async () => {
    const { id, executionId } = await calls.run(owner, {}, { success: true, result_data: '{"rows":["old"]}' });
    const { database } = api.services;
    const { query } = database;
    database.query = (async (text: string, values: readonly unknown[]) => {
      if (text.includes('left join results')) {
        database.query = query;
        await elsewhere.act(owner, id, 'resume');
        await elsewhere.claimed(id);
      }
      return query(text, values);
    }) as typeof query;
    try {
      expect((await calls.stream(owner, id)).body).toMatchObject({ execution_id: executionId, result_data: { rows: ['old'] } });
    } finally {
      database.query = query;
    }
  });

  it('is 204 when the time is up (RS-26)', async () => {
    const hasty = await api.another({ times: { resultWaitMs: 30 } });
    try {
      const lost = await reach.execution_lost!(calls, { owner, approver });
      for (const id of [await staging(), lost]) {
        const answer = await gatewayCalls(hasty).stream(owner, id);
        expect([answer.status, answer.text]).toEqual([204, '']);
      }
    } finally {
      await hasty.close();
    }
  });

  it('is 204 when its process drains, and the reader goes on elsewhere (RS-26, HT-105)', async () => {
    const third = await api.another();
    const id = await staging();
    const { answer } = await reader(id, { on: third });
    await third.close();
    expect((await answer).status).toBe(204);
    const { executionId } = await calls.claimed(id);
    const again = await reader(id);
    await calls.submit(executionId, { success: true, result_data: rows });
    expect((await again.answer).text).toContain(rows);
  });

  it('checks token and access again before it answers (HT-103)', async () => {
    const temporary = await api.createUser('temporary', { roles: ['requester'] });
    const friend = await api.createUser('friend', { roles: ['requester'] });
    const id = await calls.created(temporary, { environment: 'staging', share_with: ['friend'] });
    const { executionId } = await calls.claimed(id);
    const [revoked, demoted] = [await reader(id, { token: temporary }), await reader(id, { token: friend })];
    await calls.sql(`update tokens set revoked_at = clock_timestamp() where subject_id = 'temporary'`);
    await calls.sql(`update users set roles = '{nothing-much}' where id = 'friend'`);
    await elsewhere.submit(executionId, { success: true, result_data: rows });
    const [first, second] = await Promise.all([revoked.answer, demoted.answer]);
    expect([first.status, first.body.code]).toEqual([401, 'auth.invalid_token']);
    expect(second.status).toBe(403);
  });
});
