import { describe, expect, it } from 'vitest';
import type { Caller } from '../../../domain/caller.js';
import { mayMove, mayReadResult, maySee } from '../../../domain/request/relation.js';
import { agent, builtinRole, role, user } from '../../support/callers.js';
import { approval, requestIn, steps, storedRequest, workflowSnapshot } from '../../support/stored-request.js';

const shared = ['group:team', 'role:auditor', 'user:sam'];
const workflow = workflowSnapshot({ steps: steps('group:first', 'role:lead', 'user:last') });
const pending = storedRequest({
  policy: workflow,
  currentStep: 1,
  decisions: [approval(0, 'dora', 'group:first')],
  shareSelectors: shared,
});
const approved = requestIn('approved', {
  policy: workflow,
  shareSelectors: shared,
  decisions: [approval(0, 'dora', 'group:first')],
});
const access = ['group:analysts', 'role:reader', 'requester'];

const elsewhere = { databases: ['other'] };
const view = (scope = {}) => role('viewer', ['request.view', 'result.view'], scope);
const viewAny = (scope = {}) => role('overseer', ['request.view:any', 'result.view:any'], scope);
const bare = { roles: [] };

/** Caller; may move and may see while step 2 of 3 is open; the same once approved; may read results. */
const table: [string, Caller, string][] = [
  ['the owner', user('alice'), 'move see | move see | result'],
  ['the owner without any role', user('alice', bare), 'move | move |'],
  ['the owner whose roles cover another database', user('alice', { roles: [view(elsewhere)] }), 'move | move |'],
  ['an agent with the id of the owner', agent('alice'), '| |'],
  ['a stranger', user('zoe'), '| |'],
  ['an admin', user('root', { roles: [builtinRole('admin')] }), 'move see | move see | result'],
  ['a holder of :any', user('zoe', { roles: [viewAny()] }), 'move see | move see | result'],
  ['a holder of :any for another database', user('zoe', { roles: [viewAny(elsewhere)] }), '| |'],
  ['an approver of the current step', user('bob', { roles: [view(), role('lead', [])] }), 'move see | move |'],
  ['an approver of the current step without request.view', user('bob', { roles: [role('lead', [])] }), 'move | move |'],
  ['one whose role of that name covers another database', user('bob', { roles: [view(), role('lead', [], elsewhere)] }), '| |'],
  ['an approver of an earlier step who has decided', user('dora', { groups: ['first'] }), 'move see | move see |'],
  ['one who decided and is in no group any more', user('dora'), 'see | see |'],
  ['one who decided, without request.view', user('dora', { groups: ['first'], roles: [] }), 'move | move |'],
  ['one who decided, whose roles cover another database', user('dora', { roles: [view(elsewhere)] }), '| |'],
  ['an agent with the id of one who decided', agent('dora'), '| |'],
  ['one in the group of somebody who decided', user('bob', { groups: ['first'] }), 'move | move |'],
  ['an approver of a later step', user('last'), 'move | move |'],
  ['a member of a group it is shared with', user('tom', { groups: ['team'] }), 'move see | move see | result'],
  ['a user it is shared with', user('sam'), 'move see | move see | result'],
  ['a user it is shared with, without permissions', user('sam', bare), 'move | move |'],
  ['a holder of a role it is shared with', user('zoe', { roles: [view(), role('auditor', [])] }), 'move see | move see | result'],
  ['a holder of that role on another database', user('zoe', { roles: [view(), role('auditor', [], elsewhere)] }), '| |'],
  ['one named by the result policy', user('zoe', { groups: ['analysts'] }), '| | result'],
  [
    'one named by the result policy without result.view',
    user('zoe', { groups: ['analysts'], roles: [role('viewer', ['request.view'])] }),
    '| |',
  ],
  [
    'one named by the result policy by a role of another database',
    user('zoe', { roles: [view(), role('reader', [], elsewhere)] }),
    '| |',
  ],
];

describe('what a relation opens (section 6, RQ-2, RQ-8, RQ-9, RQ-10, RS-1)', () => {
  it.each(table)('%s', (_, caller, expected) => {
    const words = (request: typeof pending) =>
      [mayMove(caller, request) && 'move', maySee(caller, request) && 'see'].filter(Boolean).join(' ');
    const result = mayReadResult(caller, approved, access) ? 'result' : '';
    const found = `${words(pending)} | ${words(approved)} | ${result}`;
    expect(found.replace(/\s+/g, ' ').trim()).toBe(expected);
  });

  it('is opened to the owner by `requester` in share_with, and to nobody by `requester` in an access list (RQ-10, RS-4)', () => {
    const request = storedRequest({ shareSelectors: ['requester'] });
    expect(maySee(user('alice'), request)).toBe(true);
    expect([maySee(user('zoe'), request), mayReadResult(user('zoe'), request, ['requester'])]).toEqual([false, false]);
  });

  it('needs result.view for results where request.view is not enough, and the other way round (RQ-2, RS-1)', () => {
    const onlyView = user('alice', { roles: [role('a', ['request.view'])] });
    const onlyResults = user('alice', { roles: [role('b', ['result.view'])] });
    expect([maySee(onlyView, pending), mayReadResult(onlyView, pending, [])]).toEqual([true, false]);
    expect([maySee(onlyResults, pending), mayReadResult(onlyResults, pending, [])]).toEqual([false, true]);
  });
});
