import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApi } from '../support/api.js';
import { ownerAndApprover, startCalls } from './calls-api.js';
import type { GatewayCalls } from './gateway-calls.js';
import { reach } from './reach-status.js';

let api: TestApi;
let calls: GatewayCalls;
let owner: string;
let approver: string;
beforeAll(async () => {
  ({
    api,
    calls,
    tokens: { owner, approver },
  } = await startCalls(ownerAndApprover, ['shop/production', 'shop/staging', 'ledger/production', 'shop/qa']));
});
afterAll(() => api?.close());

const changes = [
  ['detail', `'delete from t'`],
  ['database', `'ledger'`],
  ['environment', `'qa'`],
  ['policy_revision', `'r999'`],
  ['operation', `'execute_dml'`],
  ['approval_digest', `repeat('0', 64)`],
] as const;
const changed = {
  code: 'request.conflict',
  reason: 'content_changed',
  error: expect.stringContaining('approved content changed'),
};

async function integrityEvent(id: string) {
  const events = await calls.sql<Record<string, string>>(
    `select * from audit_events where request_id = $1 and event_type = 'request.integrity_failed'`,
    [id],
  );
  expect(events).toHaveLength(1);
  return { ...events[0]!, metadata: JSON.parse(events[0]!.metadata_json!) };
}

describe('a stored digest that no longer fits (ET-13, ST-23, C15)', () => {
  const moves = [
    ['approve', 'pending', () => approver],
    ['resume', 'approved', () => owner],
    ['claim', 'dispatched', () => api.tokens.agent],
  ] as const;
  const rows = moves.flatMap(([act, status, token]) => changes.map(([column, value]) => ({ act, status, token, column, value })));

  it.each(rows)('ends a $status request at $act after a change of $column', async ({ act, status, token, column, value }) => {
    const id = await reach[status]!(calls, { owner, approver });
    const { approval_digest: digest } = (await calls.show(owner, id)).body;
    await calls.sql(`update requests set ${column} = ${value} where id = $1`, [id]);
    const answer = act === 'claim' ? await calls.claim(id) : await calls.act(token(), id, act);
    expect([answer.status, answer.body]).toEqual([409, { ...changed, hint: expect.anything() }]);

    const event = await integrityEvent(id);
    expect(event).toMatchObject({ outcome: 'failure', actor_id: 'system', actor_type: 'system', resource_id: id });
    expect(event.metadata).toMatchObject({ noticed_by: act });
    if (column === 'approval_digest') expect(event.metadata.found_digest).toBe(digest);
    else expect(event.metadata.expected_digest).toBe(digest);

    const shown = (await calls.show(owner, id)).body;
    expect(shown).toMatchObject({ status: 'failed', dispatch_by: null });
    expect((await calls.executions(owner, id)).body.executions).toEqual([]);
    expect((await calls.stream(owner, id)).body).toMatchObject({
      execution_id: '',
      success: false,
      error_message: 'approved content changed',
      result_data: null,
    });
    expect((await calls.content(owner, id)).body.code).toBe('result.not_found');
    expect((await calls.act(owner, id, 'resume')).status).toBe(409);
    expect((await calls.show(owner, id)).body.status).toBe('failed');
  });

  it('keeps an executed request executed when a resume notices it', async () => {
    const { id } = await calls.run(owner, { detail: 'update t set a = 1 where id = 1' }, { success: true });
    await calls.sql(`update requests set detail = 'delete from t' where id = $1`, [id]);
    const answer = await calls.act(owner, id, 'resume');
    expect([answer.status, answer.body]).toEqual([409, { ...changed, hint: expect.anything() }]);
    expect((await integrityEvent(id)).metadata.noticed_by).toBe('resume');
    expect((await calls.show(owner, id)).body.status).toBe('executed');
  });

  it.each(['rolled_back', 'not_started', 'unknown', null])(
    'a run that applied a part is not run again once its outcome is said to be %s (HD-50, RQ-84)',
    async (outcome) => {
      const { id } = await calls.run(
        owner,
        { detail: 'update t set a = 1 where id = 1' },
        { success: false, outcome: 'partial' },
      );
      expect((await calls.act(owner, id, 'resume')).body).toMatchObject({ code: 'request.conflict', reason: 'partly_applied' });
      await calls.sql('update executions set outcome = $2 where request_id = $1', [id, outcome]);
      const answer = await calls.act(owner, id, 'resume');
      expect([answer.status, answer.body]).toEqual([409, { ...changed, hint: expect.anything() }]);
      expect((await integrityEvent(id)).metadata).toMatchObject({ noticed_by: 'resume', part: 'state' });
    },
  );

  it('does not look at the digest for reject and cancel', async () => {
    for (const [token, act, status] of [
      [approver, 'reject', 'rejected'],
      [owner, 'cancel', 'cancelled'],
    ] as const) {
      const id = await calls.created(owner);
      await calls.sql(`update requests set detail = 'delete from t' where id = $1`, [id]);
      expect((await calls.act(token, id, act)).body).toEqual({ id, status });
    }
  });
});
