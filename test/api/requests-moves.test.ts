import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Person, TestApi } from '../support/api.js';
import { vouch } from '../support/vouch.js';
import { startCalls } from './calls-api.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';
import { reach } from './reach-status.js';

/** Single tests make hundreds of calls. */
vi.setConfig({ testTimeout: 60_000 });

let api: TestApi;
let calls: GatewayCalls;
let tokens: Record<string, string>;
beforeAll(async () => {
  const people: Record<string, Person> = {
    owner: { roles: ['requester'] },
    approver: { roles: ['requester'], groups: ['dba-team'] },
    operator: { roles: ['shop-operator'] },
    shared: { roles: ['requester'] },
    stranger: { roles: ['requester'] },
    lead: { groups: ['leads'] },
    both: { groups: ['dba-team', 'leads'] },
    erin: { roles: ['approver'] },
  };
  ({ api, calls, tokens } = await startCalls(people, ['shop/production', 'shop/staging', 'shop/dev'], {
    times: { cancelWaitMs: 50 },
  }));
});
afterAll(() => api?.close());

const forbidden = { error: 'forbidden', code: 'auth.forbidden', hint: expect.any(String) };
type Act = 'approve' | 'reject' | 'cancel' | 'resume';

/** What each kind of caller gets in each status; whoever is not named gets 403. */
const outcomes: Record<Act, Record<string, Partial<Record<string, number>>>> = {
  approve: {
    pending: { approver: 200 },
    expired: { owner: 410, approver: 410, admin: 410, operator: 410, shared: 410 },
  },
  reject: {
    pending: { owner: 200, approver: 200 },
    expired: { owner: 410, approver: 410, admin: 410, operator: 410, shared: 410 },
  },
  cancel: {
    ...each(['pending', 'approved', 'dispatched', 'execution_lost'], { owner: 200, admin: 200, operator: 200 }),
    running: { owner: 202, admin: 202, operator: 202 },
    ...each(['executed', 'failed', 'rejected', 'cancelled', 'expired'], { owner: 409, admin: 409, operator: 409 }),
  },
  resume: {
    ...each(['approved', 'execution_lost'], { owner: 200, admin: 200, operator: 200 }),
    ...each(['pending', 'dispatched', 'running', 'executed', 'failed', 'rejected', 'cancelled'], {
      owner: 409,
      admin: 409,
      operator: 409,
    }),
    expired: { owner: 410, approver: 410, admin: 410, operator: 410, shared: 410 },
  },
};
for (const act of ['approve', 'reject'] as const) {
  const late = ['approved', 'dispatched', 'running', 'executed', 'failed', 'rejected', 'cancelled', 'execution_lost'];
  Object.assign(outcomes[act], each(late, { owner: 409, approver: 409, admin: 409, operator: 409, shared: 409 }));
}

function each<T>(statuses: string[], row: T): Record<string, T> {
  return Object.fromEntries(statuses.map((status) => [status, row]));
}

const codes: Record<number, string> = { 409: 'request.conflict', 410: 'request.gone' };

describe.each(Object.keys(outcomes) as Act[])('%s by every kind of caller in every status (section 6)', (act) => {
  it.each(Object.keys(reach))('while %s', async (status) => {
    const prepared = async () => {
      const made = await reach[status]!(calls, { owner: tokens.owner!, approver: tokens.approver! });
      await calls.sql(`update requests set share_selectors = '{user:shared}' where id = $1`, [made]);
      await vouch(api.services.database, made);
      return made;
    };
    const row = async (of: string) => JSON.stringify(await calls.sql('select * from requests where id = $1', [of]));
    let id = await prepared();
    for (const caller of ['owner', 'approver', 'operator', 'shared', 'stranger', 'admin']) {
      const stored = await row(id);
      const before = await calls.eventTypes(id);
      const answer = await calls.act(tokens[caller]!, id, act);
      const expected = outcomes[act][status]?.[caller] ?? 403;
      expect([caller, answer.status, answer.text]).toEqual([caller, expected, answer.text]);
      if (expected === 403) expect(answer.body).toEqual(forbidden);
      if (codes[expected]) {
        expect(answer.body.code).toBe(codes[expected]);
        expectText(act, status, answer.body.error);
      }
      // What was refused changed nothing, so the next caller finds the same.
      if (expected >= 400) expect([await calls.eventTypes(id), await row(id)]).toEqual([before, stored]);
      else id = await prepared();
    }
  });
});

/** Section 7.2: these texts are in these answers and in no other. */
function expectText(act: Act, status: string, error: string): void {
  expect(error.includes('already approved')).toBe(act === 'approve' && status === 'approved');
  expect(error.includes('already dispatched')).toBe(
    (act === 'approve' || act === 'resume') && (status === 'dispatched' || status === 'running'),
  );
  if (act === 'approve' && !['approved', 'dispatched', 'running', 'expired'].includes(status)) expect(error).toContain(status);
}

describe('bad input of approve, reject, cancel and resume (section 10)', () => {
  it.each([
    ['approve', { comment: 5 }, 'body.comment'],
    ['approve', { comment: `${'é'.repeat(512)}x` }, 'body.comment'],
    ['approve', { selector: 5 }, 'body.selector'],
    ['approve', { selector: 'group:other' }, 'body.selector'],
    ['approve', { selector: '' }, 'body.selector'],
    ['approve', [], 'body'],
    ['reject', { comment: 'x'.repeat(1025) }, 'body.comment'],
    ['cancel', { reason: 'x'.repeat(1025) }, 'body.reason'],
    ['cancel', { reason: {} }, 'body.reason'],
    ['resume', { reason: 'x'.repeat(1025) }, 'body.reason'],
  ] as const)('%s with %j is 400', async (act, body, hint) => {
    const id = await calls.created(tokens.owner!);
    const token = act === 'approve' || act === 'reject' ? tokens.approver! : tokens.owner!;
    const answer = await calls.act(token, id, act, body);
    expect([answer.status, answer.body.code, answer.body.hint]).toEqual([400, 'validation.failed', hint]);
  });

  it.each(['approve', 'reject', 'cancel', 'resume'] as const)('%s of an unknown id or of no id is 404', async (act) => {
    for (const id of ['4f0c9d0e-6a53-4c0b-9d4a-0f6b7c1f2a11', 'none']) {
      const answer = await calls.act(tokens.stranger!, id, act);
      expect([answer.status, answer.body.code]).toEqual([404, 'request.not_found']);
    }
  });

  it('takes notes of 1024 bytes and keeps them', async () => {
    const comment = 'é'.repeat(512);
    const id = await calls.created(tokens.owner!);
    expect((await calls.act(tokens.approver!, id, 'approve', { comment })).status).toBe(200);
    const shown = (await calls.show(tokens.owner!, id)).body;
    expect(shown.approval_progress.steps[0].approvals[0].comment).toBe(comment);
  });
});

describe('approving (RQ-50 to RQ-56, AV-10 to AV-14)', () => {
  const pending = () => calls.created(tokens.owner!, { environment: 'qa', reason: 'r' });

  it('answers the step reached, and approved after the last one', async () => {
    const id = await pending();
    const first = await calls.act(tokens.approver!, id, 'approve');
    expect(first.body).toEqual({
      id,
      status: 'pending',
      approved_by: 'approver',
      matched_selector: 'group:dba-team',
      step_completed: 0,
      current_step: 0,
      total_steps: 2,
    });
    const second = await calls.act(tokens.lead!, id, 'approve');
    expect(second.body).toMatchObject({ status: 'pending', matched_selector: 'group:leads', step_completed: 1, current_step: 1 });
    const third = await calls.act(tokens.erin!, id, 'approve');
    expect(third.body).toMatchObject({ status: 'approved', matched_selector: 'user:erin', step_completed: 2, current_step: 2 });
    expect(await calls.eventTypes(id)).toEqual(['request.created', 'step.approved', 'step.approved', 'request.approved']);
  });

  it('asks which selector when several are open, and names them (RQ-55)', async () => {
    const id = await pending();
    const answer = await calls.act(tokens.both!, id, 'approve');
    expect([answer.status, answer.body.error]).toEqual([400, expect.stringContaining('ambiguous')]);
    expect(answer.body.hint).toContain('group:dba-team, group:leads');
    const named = await calls.act(tokens.both!, id, 'approve', { selector: 'group:leads' });
    expect(named.body.matched_selector).toBe('group:leads');
  });

  it('takes the one selector that is still open, and refuses one that is satisfied (RQ-54, RQ-55)', async () => {
    const id = await pending();
    await calls.act(tokens.lead!, id, 'approve');
    const satisfied = await calls.act(tokens.both!, id, 'approve', { selector: 'group:leads' });
    expect([satisfied.status, satisfied.body.code]).toEqual([409, 'request.conflict']);
    expect((await calls.act(tokens.both!, id, 'approve')).body.matched_selector).toBe('group:dba-team');
  });

  it('counts a person once in a step, in two groups too (AV-11), and not in a later one (AV-13)', async () => {
    const id = await pending();
    await calls.act(tokens.both!, id, 'approve', { selector: 'group:leads' });
    const again = await calls.act(tokens.both!, id, 'approve', { selector: 'group:dba-team' });
    expect([again.status, again.body.error]).toEqual([409, expect.stringContaining('already approved')]);
    await calls.act(tokens.approver!, id, 'approve');
    await calls.sql(`update users set roles = '{shop-operator}' where id = 'both'`);
    const later = await calls.act(tokens.both!, id, 'approve');
    await calls.sql(`update users set roles = '{}' where id = 'both'`);
    expect([later.status, later.body.error]).toEqual([409, expect.stringContaining('already approved')]);
  });

  it('refuses the owner and everybody without a selector, admin included (AV-12, D5)', async () => {
    const approver = tokens.approver!;
    const own = await calls.created(approver);
    const because = (hint: string) => ({ ...forbidden, hint });
    expect((await calls.act(approver, own, 'approve')).body).toEqual(because('you cannot approve your own request'));
    const noApprover = because('you are not an approver of its current step: group:dba-team');
    expect((await calls.act(tokens.admin!, own, 'approve')).body).toEqual(noApprover);
    expect((await calls.act(tokens.admin!, own, 'reject')).body).toEqual(noApprover);
  });

  it('refuses an approver whose step has not come yet (RQ-53)', async () => {
    const id = await pending();
    // Who may not see it yet does not hear whom it waits for.
    const notYet = { ...forbidden, hint: 'you are not an approver of its current step' };
    expect((await calls.act(tokens.erin!, id, 'approve')).body).toEqual(notYet);
    expect((await calls.act(tokens.erin!, id, 'reject')).body).toEqual(notYet);
  });

  it('lets owner and one approver do everything where the workflow allows both (AV-12, AV-13), within its own times (TT-1 to TT-3)', async () => {
    const self = tokens.approver!;
    const id = await calls.created(self, { environment: 'dev' });
    expect((await calls.act(self, id, 'approve')).body).toMatchObject({ status: 'pending', step_completed: 1 });
    expect((await calls.act(self, id, 'approve')).body).toMatchObject({ status: 'approved', step_completed: 2 });
    const approved = (await calls.show(self, id)).body;
    expect(Date.parse(approved.expires_at) - Date.parse(approved.created_at)).toBe(3_600_000);
    expect(Date.parse(approved.dispatch_by) - Date.parse(approved.approved_at)).toBe(1_800_000);
    await calls.act(self, id, 'resume');
    expect((await calls.show(self, id)).body.dispatch_by).toBe(approved.dispatch_by);
    await calls.submit((await calls.claimed(id)).executionId, { success: true });
    const executed = (await calls.show(self, id)).body;
    expect(Date.parse(executed.dispatch_by) - Date.parse(executed.resolved_at)).toBe(600_000);
  });

  it('looks at the roles that the token may use, and at groups by the roles they give (RQ-9, HD-71)', async () => {
    const full = await api.createUser('narrowed', { roles: ['shop-operator', 'requester'], groups: ['leads'] });
    const limited = async (...roles: string[]) => {
      const body = { subject_id: 'narrowed', subject_type: 'user', scope_ceiling: { roles } };
      const made = await api.call('POST', '/api/tokens', { token: full, body });
      expect(made.status).toBe(201);
      return made.body.token as string;
    };
    const [narrow, narrower] = [await limited('approver'), await limited('requester')];
    const id = await pending();
    await calls.act(tokens.approver!, id, 'approve');
    const waits = async (token: string) => (await calls.list(token, `?pending_for_me=true&limit=100`)).text.includes(id);
    const second = await pending();
    await calls.act(tokens.approver!, second, 'approve');
    await calls.act(tokens.lead!, second, 'approve');
    expect((await calls.act(narrow, second, 'approve')).body).toEqual(forbidden);
    expect([await waits(narrower), (await calls.act(narrower, id, 'approve')).status]).toEqual([false, 403]);
    expect([await waits(narrow), (await calls.act(narrow, id, 'approve')).status]).toEqual([true, 200]);
    expect((await calls.act(full, second, 'approve')).body).toMatchObject({
      status: 'approved',
      matched_selector: 'role:shop-operator',
    });
  });

  it('keeps an approval when its giver loses the group (AV-14)', async () => {
    const id = await pending();
    const leaver = await api.createUser('leaver', { groups: ['dba-team'] });
    await calls.act(leaver, id, 'approve');
    await calls.sql(`delete from group_members where user_id = 'leaver'`);
    const after = await calls.act(tokens.lead!, id, 'approve');
    expect(after.body).toMatchObject({ current_step: 1 });
  });
});

describe('rejecting (RQ-60, RQ-61)', () => {
  it('is open to one who has approved an earlier entry, and ends the request', async () => {
    const id = await calls.created(tokens.owner!, { environment: 'qa', reason: 'r' });
    await calls.act(tokens.both!, id, 'approve', { selector: 'group:leads' });
    const answer = await calls.act(tokens.both!, id, 'reject', { comment: 'on second thoughts' });
    expect([answer.status, answer.body]).toEqual([200, { id, status: 'rejected' }]);
    const [event] = await calls.sql<{ outcome: string; reason: string; metadata_json: string }>(
      `select outcome, reason, metadata_json from audit_events where request_id = $1 and event_type = 'request.rejected'`,
      [id],
    );
    expect([event!.outcome, event!.reason]).toEqual(['denied', 'on second thoughts']);
    expect(JSON.parse(event!.metadata_json)).toMatchObject({
      step_number: 1,
      total_steps: 2,
      matched_selector: 'group:dba-team',
    });
  });
});

describe('cancelling (RQ-70 to RQ-73)', () => {
  it('of a running request waits for the outcome: 202 when it goes on, and the second cancel writes nothing', async () => {
    const id = await reach.running!(calls, { owner: tokens.owner!, approver: tokens.approver! });
    const first = await calls.act(tokens.owner!, id, 'cancel', { reason: 'wrong table' });
    expect([first.status, first.body]).toEqual([202, { id, status: 'running', cancel_requested: true }]);
    const [before] = await calls.sql<{ version: number }>('select * from requests where id = $1', [id]);
    expect((await calls.act(tokens.admin!, id, 'cancel')).status).toBe(202);
    expect((await calls.sql('select * from requests where id = $1', [id]))[0]).toEqual(before);
    const shown = (await calls.show(tokens.owner!, id)).body;
    expect(shown).toMatchObject({ status: 'running', cancelled_by: 'owner', cancel_reason: 'wrong table' });
    expect(shown.cancel_requested_at).not.toBeNull();
  });

  it.each([
    ['cancelled', { success: false, outcome: 'rolled_back', cancelled: true }, 200],
    ['executed', { success: true }, 409],
    ['failed', { success: false, outcome: 'rolled_back', cancelled: false, error_message: 'x' }, 409],
  ])('of a running request ends with its outcome: %s', async (status, result, expected) => {
    const patient = await api.another();
    try {
      const id = await calls.created(tokens.owner!, { environment: 'staging' });
      const { executionId } = await calls.claimed(id);
      const cancel = gatewayCalls(patient).act(tokens.owner!, id, 'cancel');
      await expect
        .poll(async () => (await calls.show(tokens.owner!, id)).body.cancel_requested_at, { timeout: 10_000 })
        .not.toBeNull();
      await calls.submit(executionId, result);
      const answer = await cancel;
      expect(answer.status).toBe(expected);
      if (expected === 200) expect(answer.body).toEqual({ id, status });
      else expect([answer.body.code, answer.body.error]).toEqual(['request.conflict', expect.stringContaining(status)]);
    } finally {
      await patient.close();
    }
  });

  it('answers 202 with execution_lost when a running write is lost meanwhile', async () => {
    const patient = await api.another();
    try {
      const id = await calls.created(tokens.owner!, { environment: 'staging', detail: 'delete from t where id = 1' });
      await calls.claimed(id);
      const cancel = gatewayCalls(patient).act(tokens.owner!, id, 'cancel');
      await expect
        .poll(async () => (await calls.show(tokens.owner!, id)).body.cancel_requested_at, { timeout: 10_000 })
        .not.toBeNull();
      await calls.fireClock(id, 'lease');
      const answer = await cancel;
      expect([answer.status, answer.body]).toEqual([202, { id, status: 'execution_lost' }]);
      expect((await calls.act(tokens.owner!, id, 'cancel')).body).toEqual({ id, status: 'cancelled' });
    } finally {
      await patient.close();
    }
  });
});

describe('resuming (RQ-80 to RQ-88)', () => {
  const staging = (over = {}) => ({ environment: 'staging', detail: 'update t set a = 1 where id = 1', ...over });

  it('raises the fence by one and keeps the reason in the audit event', async () => {
    const id = await reach.approved!(calls, { owner: tokens.owner!, approver: tokens.approver! });
    const answer = await calls.act(tokens.owner!, id, 'resume', { reason: 'window is open' });
    expect([answer.status, answer.body]).toEqual([200, { id, status: 'dispatched' }]);
    const [event] = await calls.sql<{ reason: string; metadata_json: string }>(
      `select reason, metadata_json from audit_events where request_id = $1 and event_type = 'request.dispatched'`,
      [id],
    );
    expect([event!.reason, JSON.parse(event!.metadata_json).fence]).toEqual(['window is open', 1]);
  });

  it('is refused after dispatch_by, before the timer has fired (RQ-82)', async () => {
    const id = await reach.approved!(calls, { owner: tokens.owner!, approver: tokens.approver! });
    await calls.sql(`update requests set dispatch_by = clock_timestamp() - interval '1 ms' where id = $1`, [id]);
    const answer = await calls.act(tokens.owner!, id, 'resume');
    expect([answer.status, answer.body.code]).toEqual([410, 'request.gone']);
  });

  it('runs again up to max_executions, lost ones not counted (RQ-83)', async () => {
    const { id } = await calls.run(tokens.owner!, staging(), { success: true });
    expect((await calls.act(tokens.owner!, id, 'resume')).status).toBe(200);
    await calls.claimed(id);
    await calls.fireClock(id, 'lease');
    for (let run = 2; run <= 3; run += 1) {
      expect((await calls.act(tokens.owner!, id, 'resume')).status).toBe(200);
      await calls.submit((await calls.claimed(id)).executionId, { success: true });
    }
    const answer = await calls.act(tokens.owner!, id, 'resume');
    expect([answer.status, answer.body.code]).toEqual([409, 'request.conflict']);
    const fences = (await calls.executions(tokens.owner!, id)).body.executions.map((run: { fence: number }) => run.fence);
    expect(fences).toEqual([4, 3, 2, 1]);
  });

  it('that is repeated, or of somebody who has not seen another one, runs nothing again where several runs are allowed (RQ-88)', async () => {
    const { id } = await calls.run(tokens.owner!, staging(), { success: true });
    const { fence } = (await calls.show(tokens.owner!, id)).body;
    expect(fence).toBe(1);
    const resume = () => calls.act(tokens.owner!, id, 'resume', { expected_fence: fence });
    const answers = [(await resume()).status, (await resume()).body.reason];
    expect(answers).toEqual([200, 'already_dispatched']);
    await calls.submit((await calls.claimed(id)).executionId, { success: true });
    const late = await resume();
    expect([late.status, late.body.reason, late.body.error]).toEqual([
      409,
      'already_dispatched',
      'request is already dispatched: it was resumed since it was shown',
    ]);
    expect((await calls.show(tokens.owner!, id)).body).toMatchObject({ status: 'executed', fence: 2 });
    expect((await calls.act(tokens.owner!, id, 'resume', { expected_fence: 2 })).status).toBe(200);
  });

  it('does not run again what ended partial (RQ-84, C14)', async () => {
    const partial = { success: false, outcome: 'partial', error_message: '23505: duplicate' };
    const { id } = await calls.run(tokens.owner!, staging(), partial);
    const answer = await calls.act(tokens.owner!, id, 'resume');
    expect([answer.status, answer.body.code]).toEqual([409, 'request.conflict']);
    expect(answer.body.hint).toMatch(/check the database and create a new request/);
  });

  it('does not run again a lost write that nobody can prove (RQ-85), but does a provable one and a read', async () => {
    for (const [marker, detail, status] of [
      ['none', 'delete from t where id = 1', 409],
      ['required', 'delete from t where id = 1', 200],
      ['none', 'select 1', 200],
    ] as const) {
      const id = await calls.created(tokens.owner!, staging({ detail }));
      await calls.claimed(id);
      await calls.sql('update executions set marker = $2 where request_id = $1', [id, marker]);
      await vouch(api.services.database, id);
      await calls.fireClock(id, 'lease');
      const answer = await calls.act(tokens.owner!, id, 'resume');
      expect([marker, detail, answer.status]).toEqual([marker, detail, status]);
      if (status === 409) expect(answer.body.hint).toMatch(/attempt 1 cannot be proven; check the database/);
    }
  });

  it('is refused for a suspended owner and for a pair with another dialect (RQ-86)', async () => {
    const leaving = await api.createUser('leaving', { roles: ['requester'] });
    const id = await reach.approved!(calls, { owner: leaving, approver: tokens.approver! });
    await calls.sql(`update users set status = 'suspended' where id = 'leaving'`);
    expect((await calls.act(tokens.admin!, id, 'resume')).status).toBe(409);
    const judged = await reach.approved!(calls, { owner: tokens.owner!, approver: tokens.approver! });
    await calls.sql(`update requests set dialect = 'mysql' where id = $1`, [judged]);
    expect((await calls.act(tokens.owner!, judged, 'resume')).status).toBe(409);
  });
});
