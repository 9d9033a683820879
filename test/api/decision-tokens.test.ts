import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApi } from '../support/api.js';
import { ownerAndApprover, startCalls } from './calls-api.js';
import type { GatewayCalls } from './gateway-calls.js';

let api: TestApi;
let calls: GatewayCalls;
let owner: string;
let approver: string;
beforeAll(async () => {
  ({
    api,
    calls,
    tokens: { owner, approver },
  } = await startCalls(ownerAndApprover));
});
afterAll(() => api?.close());

describe('a decision', () => {
  it.each(['approve', 'reject'] as const)('to %s keeps the token it was made with (HD-50)', async (act) => {
    const id = await calls.created(owner);
    expect((await calls.act(approver, id, act)).status).toBe(200);
    const kept = await calls.sql<{ action: string; subject_id: string; token_prefix: string }>(
      'select d.action, t.subject_id, t.token_prefix from decisions d join tokens t on t.id = d.token_id where d.request_id = $1',
      [id],
    );
    expect(kept).toEqual([{ action: act, subject_id: 'approver', token_prefix: approver.slice(4, 12) }]);
  });
});
