import { describe, expect, it } from 'vitest';
import type { Caller } from '../../../domain/caller.js';
import type { Move } from '../../../domain/request/moves.js';
import { STATUSES, type StoredRequest } from '../../../domain/request/types.js';
import { agent, builtinRole, role, user } from '../../support/callers.js';
import { approval, now, requestIn, steps, workflowSnapshot } from '../../support/stored-request.js';
import { approve, ask, cancel, reject, resume } from './moves.js';

/** Whoever may come: `first`, `second` and `third` are the groups of the three steps, of which the second is the current one. */
const callers: Record<string, Caller> = {
  owner: user('alice'),
  bare: user('alice', { roles: [] }),
  admin: user('root', { roles: [builtinRole('admin')] }),
  current: user('carl', { groups: ['second'] }),
  earlier: user('eve', { groups: ['first'] }),
  decided: user('dora', { groups: ['first', 'second'] }),
  later: user('lea', { groups: ['third'] }),
  shared: user('sam'),
  /** May cancel and resume everything, but has none of the relations of section 6. */
  operator: user('olaf', { roles: [role('operator', ['request.cancel:any', 'request.resume:any'])] }),
  stranger: user('zoe'),
  agent: agent('alice'),
};

const common = {
  policy: workflowSnapshot({ steps: steps('group:first', 'group:second', 'group:third') }),
  shareSelectors: ['user:sam'],
};
const halfway = { ...common, currentStep: 1, decisions: [approval(0, 'dora', 'group:first')] };

/** One stored request for each status, and further ones where a clock or a wish decides. */
const stored: Record<string, StoredRequest> = {
  ...Object.fromEntries(STATUSES.map((status) => [status, requestIn(status, status === 'pending' ? halfway : common)])),
  'pending,overdue': requestIn('pending', { ...halfway, expiresAt: now }),
  'pending,last': requestIn('pending', {
    ...halfway,
    policy: workflowSnapshot({ steps: steps('group:first', 'group:second') }),
  }),
  'approved,overdue': requestIn('approved', { ...common, dispatchBy: now }),
  'executed,overdue': requestIn('executed', { ...common, dispatchBy: now }),
  'running,asked': requestIn('running', { ...common, cancelRequestedAt: now - 1, cancelledBy: 'alice' }),
};

const approveTable = `
                 owner  bare  admin  current   earlier  decided  later  shared  operator  stranger  agent
pending            403   403    403  pending       403      409    403     403       403       403    403
pending,last       403   403    403  approved      403      409    403     403       403       403    403
pending,overdue    410   410    410      410       410      410    410     410       403       403    403
approved           409   409    409      409       409      409    409     409       403       403    403
dispatched         409   409    409      409       409      409    409     409       403       403    403
running            409   409    409      409       409      409    409     409       403       403    403
executed           409   409    409      409       409      409    409     409       403       403    403
failed             409   409    409      409       409      409    409     409       403       403    403
rejected           409   409    409      409       409      409    409     409       403       403    403
cancelled          409   409    409      409       409      409    409     409       403       403    403
expired            410   410    410      410       410      410    410     410       403       403    403
execution_lost     409   409    409      409       409      409    409     409       403       403    403`;

const rejectTable = `
                 owner     bare      admin  current   earlier  decided   later  shared  operator  stranger  agent
pending          rejected  rejected    403  rejected      403  rejected    403     403       403       403    403
pending,last     rejected  rejected    403  rejected      403  rejected    403     403       403       403    403
pending,overdue       410       410    410       410      410       410    410     410       403       403    403
approved              409       409    409       409      409       409    409     409       403       403    403
dispatched            409       409    409       409      409       409    409     409       403       403    403
running               409       409    409       409      409       409    409     409       403       403    403
executed              409       409    409       409      409       409    409     409       403       403    403
failed                409       409    409       409      409       409    409     409       403       403    403
rejected              409       409    409       409      409       409    409     409       403       403    403
cancelled             409       409    409       409      409       409    409     409       403       403    403
expired               410       410    410       410      410       410    410     410       403       403    403
execution_lost        409       409    409       409      409       409    409     409       403       403    403`;

const cancelTable = `
                 owner      bare  admin      current  earlier  decided  later  shared  operator  stranger  agent
pending          cancelled   403  cancelled      403      403      403    403     403       403       403    403
pending,overdue  cancelled   403  cancelled      403      403      403    403     403       403       403    403
approved         cancelled   403  cancelled      403      403      403    403     403       403       403    403
dispatched       cancelled   403  cancelled      403      403      403    403     403       403       403    403
running          running     403  running        403      403      403    403     403       403       403    403
running,asked    nothing     403  nothing        403      403      403    403     403       403       403    403
executed         409         403  409            403      403      403    403     403       403       403    403
failed           409         403  409            403      403      403    403     403       403       403    403
rejected         409         403  409            403      403      403    403     403       403       403    403
cancelled        409         403  409            403      403      403    403     403       403       403    403
expired          409         403  409            403      403      403    403     403       403       403    403
execution_lost   cancelled   403  cancelled      403      403      403    403     403       403       403    403`;

const resumeTable = `
                  owner       bare  admin       current  earlier  decided  later  shared  operator  stranger  agent
pending           409          403  409             403      403      403    403     403       403       403    403
pending,overdue   410          410  410             410      410      410    410     410       403       403    403
approved          dispatched   403  dispatched      403      403      403    403     403       403       403    403
approved,overdue  410          403  410             403      403      403    403     403       403       403    403
dispatched        409          403  409             403      403      403    403     403       403       403    403
running           409          403  409             403      403      403    403     403       403       403    403
executed          dispatched   403  dispatched      403      403      403    403     403       403       403    403
executed,overdue  410          403  410             403      403      403    403     403       403       403    403
failed            dispatched   403  dispatched      403      403      403    403     403       403       403    403
rejected          409          403  409             403      403      403    403     403       403       403    403
cancelled         409          403  409             403      403      403    403     403       403       403    403
expired           410          410  410             410      410      410    410     410       403       403    403
execution_lost    dispatched   403  dispatched      403      403      403    403     403       403       403    403`;

function check(table: string, moveOf: (caller: Caller) => Move) {
  const [head, ...rows] = table
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  expect(head).toEqual(Object.keys(callers));
  expect(rows.map(([name]) => name)).toEqual(expect.arrayContaining([...STATUSES]));
  const found = rows.map(([name]) => [name, ...head!.map((who) => ask(stored[name!]!, moveOf(callers[who]!)))]);
  expect(found).toEqual(rows);
}

describe('who may do what in which status (requests.md sections 1, 6 and 7)', () => {
  it('approves for a selector of the current step of a pending request only (RQ-4, RQ-50 to RQ-53, AV-12)', () =>
    check(approveTable, (who) => approve(who)));
  it('rejects for the owner and a selector of the current step only (RQ-5, RQ-60)', () =>
    check(rejectTable, (who) => reject(who)));
  it('cancels for owner and holder of :any who also may see it (RQ-6, RQ-70 to RQ-72)', () =>
    check(cancelTable, (who) => cancel(who)));
  it('resumes for owner and holder of :any who also may see it (RQ-7, RQ-80 to RQ-82)', () =>
    check(resumeTable, (who) => resume(who)));
});
