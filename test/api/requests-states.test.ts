import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApi } from '../support/api.js';
import { ownerAndApprover, startCalls } from './calls-api.js';
import type { CreationOver, GatewayCalls } from './gateway-calls.js';
import { reach } from './reach-status.js';

let api: TestApi;
let calls: GatewayCalls;
let owner: string;
let approver: string;
let dora: string;
beforeAll(async () => {
  const people = { ...ownerAndApprover, dora: { roles: ['dba'] } };
  ({
    api,
    calls,
    tokens: { owner, approver, dora },
  } = await startCalls(people, ['shop/production', 'shop/staging'], { times: { cancelWaitMs: 20 } }));
});
afterAll(() => api?.close());

/** What the agent of the newest execution reports, or that of the one so many before it. */
async function report(id: string, outcome: string, more: object = {}, back = 0) {
  const [run] = await calls.sql<{ id: string; fence: number }>(
    'select id, fence from executions where request_id = $1 order by fence desc limit 1 offset $2',
    [id, back],
  );
  return calls.submit(run!.id, { success: outcome === 'committed', outcome, fence: run!.fence, ...more });
}

const steps: Record<string, (id: string) => Promise<unknown>> = {
  approve: (id) => calls.act(approver, id, 'approve'),
  reject: (id) => calls.act(approver, id, 'reject'),
  cancel: (id) => calls.act(owner, id, 'cancel'),
  resume: (id) => calls.act(owner, id, 'resume'),
  claim: (id) => calls.claim(id),
  'pending-ends': (id) => calls.fireClock(id, 'pending'),
  'approval-ends': (id) => calls.fireClock(id, 'approved'),
  'dispatch-ends': (id) => calls.fireClock(id, 'dispatch'),
  'lease-ends': (id) => calls.fireClock(id, 'lease'),
  'approval-over': (id) => calls.sql(`update requests set dispatch_by = clock_timestamp() - interval '1 ms' where id = $1`, [id]),
  changed: (id) => calls.sql(`update requests set detail = 'select 2' where id = $1`, [id]),
  committed: (id) => report(id, 'committed'),
  'rolled-back': (id) => report(id, 'rolled_back'),
  'failed-itself': (id) => report(id, 'rolled_back', { cancelled: false }),
  partial: (id) => report(id, 'partial'),
  unknown: (id) => report(id, 'unknown'),
  'not-started': (id) => report(id, 'not_started'),
  'older-committed': (id) => report(id, 'committed', {}, 1),
};

/** Where a row begins: a status of `reach`, or one of these. */
const begins: Record<string, () => Promise<string>> = {
  'two-steps': () => calls.created(owner, { environment: 'qa', reason: 'r' }),
  write: writeClaimed,
  'lost-write-again': claimedAgain,
  'lost-twice': async () => {
    const id = await claimedAgain();
    await calls.fireClock(id, 'lease');
    return id;
  },
};

async function writeClaimed(): Promise<string> {
  const id = await calls.created(owner, { environment: 'staging', detail: 'update t set a = 1 where id = 1' });
  await calls.claimed(id);
  return id;
}

async function claimedAgain(): Promise<string> {
  const id = await writeClaimed();
  await calls.fireClock(id, 'lease');
  await calls.act(owner, id, 'resume');
  await calls.claimed(id);
  return id;
}

/** Section 7 but for creations, ST-19 and ST-20: how it begins and what happens then, the last of which is the move; the status and the events that it makes. */
const table = `
ST-4  | two-steps approve                     | pending        | step.approved
ST-5  | pending approve                       | approved       | request.approved
ST-6  | pending reject                        | rejected       | request.rejected
ST-7  | pending pending-ends                  | expired        | request.expired
ST-8  | approved approval-ends                | expired        | request.expired
ST-9  | approved resume                       | dispatched     | request.dispatched
ST-9  | write committed resume                | dispatched     | request.dispatched
ST-9  | write rolled-back resume              | dispatched     | request.dispatched
ST-9  | write lease-ends resume               | dispatched     | request.dispatched
ST-10 | dispatched claim                      | running        | execution.started
ST-11 | dispatched dispatch-ends              | approved       | request.dispatch_timeout
ST-11 | dispatched approval-over dispatch-ends | expired        | request.dispatch_timeout,request.expired
ST-12 | write committed                       | executed       | execution.completed
ST-12 | write cancel committed                | executed       | execution.completed
ST-13 | write rolled-back                     | failed         | execution.failed
ST-13 | write cancel partial                  | failed         | execution.failed
ST-13 | write cancel failed-itself            | failed         | execution.failed
ST-14 | write lease-ends                      | execution_lost | execution.lost
ST-14 | write cancel lease-ends               | execution_lost | execution.lost
ST-14 | write unknown                         | execution_lost | execution.lost
ST-14 | running cancel lease-ends             | cancelled      | execution.lost,request.cancelled
ST-15 | write lease-ends committed            | executed       | execution.completed
ST-15 | write lease-ends rolled-back          | failed         | execution.failed
ST-15 | write cancel lease-ends rolled-back   | cancelled      | execution.cancelled,request.cancelled
ST-15 | write cancel lease-ends partial       | failed         | execution.failed
ST-16 | pending cancel                        | cancelled      | request.cancelled
ST-16 | approved cancel                       | cancelled      | request.cancelled
ST-16 | dispatched cancel                     | cancelled      | request.cancelled
ST-16 | execution_lost cancel                 | cancelled      | request.cancelled
ST-17 | write cancel rolled-back              | cancelled      | execution.cancelled,request.cancelled
ST-18 | write lease-ends cancel committed     | executed       | execution.completed
ST-18 | write lease-ends cancel rolled-back   | cancelled      | execution.late_result
ST-18 | write lease-ends resume cancel committed | executed    | execution.completed
ST-18 | write lease-ends resume dispatch-ends cancel committed | executed | execution.completed
ST-18 | lost-twice cancel older-committed     | executed       | execution.completed
ST-18 | lost-twice resume cancel older-committed | executed    | execution.completed
ST-18 | lost-write-again cancel not-started older-committed | executed | execution.completed
ST-24 | lost-twice older-committed cancel     | executed       | execution.completed
ST-24 | lost-twice older-committed resume cancel | executed    | execution.completed
ST-24 | lost-write-again older-committed cancel not-started | executed | execution.cancelled,execution.completed
ST-24 | write lease-ends resume committed cancel | executed    | execution.completed
ST-24 | write lease-ends resume dispatch-ends committed cancel | executed | execution.completed
ST-23 | pending changed approve               | failed         | request.integrity_failed
ST-23 | approved changed resume               | failed         | request.integrity_failed
ST-23 | dispatched changed claim              | failed         | request.integrity_failed`;

const rows = table
  .trim()
  .split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([rule, path, ends, events]) => [rule!, path!, ends!, events!.split(',')] as const);

const some = expect.any(String);
const runnable = { dispatch_by: some, claimed_by: null };
/** What else a move into a status sets. */
const set: Record<string, object> = {
  pending: { expires_at: some, approved_at: null, dispatch_by: null, resolved_at: null },
  approved: { approved_at: some, dispatch_by: some, resolved_at: some },
  dispatched: { dispatch_by: some, claimed_by: null, lost_reason: null, cancel_requested_at: null },
  running: { claimed_by: some, dispatch_by: some },
  executed: { ...runnable, resolved_at: some },
  failed: { claimed_by: null, resolved_at: some },
  execution_lost: { ...runnable, resolved_at: some, lost_reason: some },
  cancelled: { claimed_by: null, cancelled_by: 'owner', resolved_at: some },
  rejected: { dispatch_by: null, resolved_at: some },
  expired: { resolved_at: some },
};

const stored = async (id: string) => {
  const [found] = await calls.sql<{ fence: number; version: number; seconds: number | null }>(
    'select fence, version, extract(epoch from dispatch_deadline - dispatched_at)::int as seconds from requests where id = $1',
    [id],
  );
  return { ...found!, types: await calls.eventTypes(id) };
};

describe('section 7 over HTTP', () => {
  it.each<[string, CreationOver, string, string[]]>([
    ['ST-1: needs approval', {}, 'pending', ['request.created']],
    ['ST-2: auto-approved', { environment: 'staging' }, 'dispatched', ['request.auto_approved', 'request.dispatched']],
    ['ST-3: emergency', { emergency: true, reason: 'r' }, 'dispatched', ['request.break_glass', 'request.dispatched']],
    [
      'ST-3: emergency that lifts a block',
      { emergency: true, reason: 'r', detail: 'drop table t', allow_ddl: true },
      'dispatched',
      ['request.break_glass', 'request.dispatched', 'ddl.break_glass_bypass'],
    ],
  ])('%s (TT-4)', async (_, over, status, types) => {
    const id = await calls.created(dora, over);
    const clocks = status === 'pending' ? set.pending : { ...set.dispatched, approved_at: some, expires_at: null };
    expect((await calls.show(dora, id)).body).toMatchObject({ status, resolved_at: null, ...clocks });
    const dispatch = status === 'pending' ? { fence: 0, seconds: null } : { fence: 1, seconds: 300 };
    expect(await stored(id)).toMatchObject({ types, ...dispatch });
  });

  it.each(rows)('%s: %s ends %s (ST-21, TT-4)', async (_, path, ends, events) => {
    const [start, ...happened] = path.split(' ');
    const id = await (begins[start!] ?? (() => reach[start!]!(calls, { owner, approver })))();
    for (const name of happened.slice(0, -1)) await steps[name]!(id);
    const [before, { updated_at: since }] = [await stored(id), (await calls.show(owner, id)).body];
    await steps[happened.at(-1)!]!(id);
    const [after, found] = [await stored(id), (await calls.show(owner, id)).body];
    expect(found).toMatchObject({ status: ends, ...set[ends] });
    if (ends === 'failed') expect(found.dispatch_by).toEqual(events.includes('execution.failed') ? some : null);
    expect(after.types).toEqual([...before.types, ...events]);
    const moves = !events.includes('execution.late_result');
    expect([after.version > before.version, found.updated_at > since]).toEqual([moves, moves]);
    expect([after.fence - before.fence, after.seconds]).toEqual(ends === 'dispatched' ? [1, 300] : [0, null]);
    expect([found.resumable, (await calls.act(owner, id, 'resume')).status === 200]).toEqual([found.resumable, found.resumable]);
  });
});
