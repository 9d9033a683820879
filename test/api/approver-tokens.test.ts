import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApi } from '../support/api.js';
import { startCalls } from './calls-api.js';
import type { GatewayCalls } from './gateway-calls.js';

let api: TestApi;
let calls: GatewayCalls;
let owner: string;
let dba: string;
let lead: string;
beforeAll(async () => {
  const people = { owner: { roles: ['requester'] }, dba: { groups: ['dba-team'] }, lead: { groups: ['leads'] } };
  ({
    api,
    calls,
    tokens: { owner, dba, lead },
  } = await startCalls(people));
});
afterAll(() => api?.close());

/** Its first step asks for both groups, its second for an operator. */
const pending = () => calls.created(owner, { environment: 'qa', reason: 'r' });

describe('whom a narrow token approves as (IM-42, IM-52)', () => {
  it('IM-52, HD-71: a ceiling takes roles away from selectors, and groups that give none of what is left', async () => {
    const toToken = async (token: string, id: string, roles: string[]) =>
      (await api.call('POST', '/api/tokens', { token, body: { subject_id: id, subject_type: 'user', scope_ceiling: { roles } } }))
        .body.token as string;
    const whole = await api.createUser('operator', { roles: ['requester', 'shop-operator'], groups: ['leads'] });
    const narrow = await toToken(whole, 'operator', ['approver']);
    const narrower = await toToken(whole, 'operator', ['requester']);
    const [byGroup, byRole] = [await pending(), await pending()];
    expect((await calls.act(narrower, byGroup, 'approve', { selector: 'group:leads' })).status).toBe(403);
    expect((await calls.act(narrow, byGroup, 'approve', { selector: 'group:leads' })).status).toBe(200);
    for (const member of [dba, lead]) expect((await calls.act(member, byRole, 'approve')).status).toBe(200);
    expect((await calls.act(narrow, byRole, 'approve')).status).toBe(403);
    expect((await calls.act(whole, byRole, 'approve')).body.status).toBe('approved');
  });

  it('IM-42, D5: * is no selector: an admin approves nothing that asks for a group', async () => {
    const id = await pending();
    expect((await calls.act(api.tokens.admin, id, 'approve')).status).toBe(403);
    const nothing = await api.createUser('mere-member', { roles: ['nothing-much'], groups: ['leads'] });
    expect((await calls.act(nothing, id, 'approve')).status).toBe(200);
  });
});
