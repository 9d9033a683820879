import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Answer, TestApi } from '../support/api.js';
import { groupToml, workflowToml } from '../support/toml.js';
import { startCalls } from './calls-api.js';
import { callsToml } from './calls-toml.js';
import type { CreationOver, GatewayCalls } from './gateway-calls.js';

const toml =
  callsToml +
  groupToml('watchers', []) +
  workflowToml({ database: 'ledger', environment: 'production', steps: [[{ role: 'dba' }]] }) +
  workflowToml({
    database: 'ledger',
    environment: 'staging',
    steps: [{ any: [{ group: 'dba-team' }, { group: 'watchers' }, { user: 'named' }] }],
  });

let api: TestApi;
let calls: GatewayCalls;
/** The requester of every test: an admin who also asks for changes. */
let boss: string;
/** Another admin, independent of the boss. */
let peer: string;
let bob: string;
let next = 0;
let name = '';
beforeAll(async () => {
  const everything = ['admin', 'requester', 'dba'];
  const people = {
    boss: { roles: everything },
    peer: { roles: everything },
    bob: { groups: ['dba-team'], roles: ['requester'] },
  };
  ({
    api,
    calls,
    tokens: { boss, peer, bob },
  } = await startCalls(people, [], { toml }));
});
afterAll(() => api?.close());
beforeEach(async () => {
  next += 1;
  name = `puppet-${next}`;
  await makeRoom();
});

/** Keeps below the limit of users; who made whom stays stored. */
const makeRoom = (last = '') => calls.sql(`update users set status = 'suspended' where id like 'puppet-%' and id <> $1`, [last]);

const post = (token: string, path: string, body?: unknown) => api.call('POST', path, { token, body });
const patch = async (token: string, id: string, body: unknown) => {
  const answer = await api.call('PATCH', `/api/users/${id}`, { token, body });
  expect(answer.status, answer.text).toBe(200);
};
const makes = async (token: string, id: string, groups: string[], roles: string[] = []): Promise<string> => {
  const answer = await post(token, '/api/users', { id, roles, groups });
  expect(answer.status, answer.text).toBe(201);
  return answer.body.token;
};
const reissues = async (token: string, id: string): Promise<string> => {
  const answer = await post(token, `/api/users/${id}/reissue-initial-token`);
  expect(answer.status, answer.text).toBe(200);
  return answer.body.token;
};
const mints = async (token: string, id: string, roles?: string[]): Promise<string> => {
  const ceiling = roles === undefined ? {} : { scope_ceiling: { roles } };
  const answer = await post(token, '/api/tokens', { subject_id: id, subject_type: 'user', ...ceiling });
  expect(answer.status, answer.text).toBe(201);
  return answer.body.token;
};
const asks = (over: CreationOver = {}, token = boss) => calls.created(token, over);
const approves = (token: string, id: string, body?: unknown) => calls.act(token, id, 'approve', body);
const pendingFor = async (token: string, id: string) => {
  const list = await calls.list(token, '?pending_for_me=true&limit=100');
  return list.body.requests.some((request: { id: string }) => request.id === id) as boolean;
};

/** Refused with a reason, not offered in the list, and still waiting. */
async function refused(token: string, id: string, why: RegExp, body?: unknown): Promise<Answer> {
  const answer = await approves(token, id, body);
  expect([answer.status, answer.body.code]).toEqual([403, 'auth.forbidden']);
  expect(answer.body.hint).toMatch(why);
  expect(await pendingFor(token, id)).toBe(false);
  expect((await calls.show(boss, id)).body.status).toBe('pending');
  return answer;
}

async function counts(token: string, id: string, body?: unknown): Promise<void> {
  expect(await pendingFor(token, id)).toBe(true);
  const answer = await approves(token, id, body);
  expect(answer.status, answer.text).toBe(200);
}

describe('who the requester made approves nothing of theirs (HD-70)', () => {
  it('a user the requester created', async () => {
    const puppet = await makes(boss, name, ['dba-team']);
    await refused(puppet, await asks(), /created your account/);
    await counts(puppet, await asks({}, peer));
  });

  it('a user whose creator the requester created, however long the chain', async () => {
    let maker = boss;
    for (const link of ['a', 'b', 'c']) maker = await makes(maker, `${name}${link}`, [], ['admin']);
    await refused(await makes(maker, name, ['dba-team']), await asks(), /created your account/);
  });

  it('a user made with a token that the requester took by reissue', async () => {
    await makes(peer, name, [], ['admin']);
    const taken = await reissues(boss, name);
    await refused(await makes(taken, `${name}b`, ['dba-team']), await asks(), /created your account/);
  });

  it('a chain that is longer than is kept counts as made by anybody', async () => {
    let maker = peer;
    for (let link = 0; link < 70; link += 1) {
      maker = await makes(maker, `${name}.${link}`, [], ['admin']);
      await makeRoom(`${name}.${link}`);
    }
    const last = await makes(maker, name, ['dba-team']);
    await refused(last, await asks(), /created your account/);
    await counts(bob, await asks());
  });

  it('also not after another admin suspended, activated, reissued and granted anew', async () => {
    await makes(boss, name, ['dba-team']);
    for (const what of ['suspend', 'activate']) expect((await post(peer, `/api/users/${name}/${what}`)).status).toBe(200);
    await patch(peer, name, { rm_groups: ['dba-team'] });
    await patch(peer, name, { add_groups: ['dba-team'] });
    await refused(await reissues(peer, name), await asks(), /created your account/);
  });

  it('nor under an id that was deleted, which is never free again', async () => {
    await makes(boss, name, ['dba-team']);
    expect((await api.call('DELETE', `/api/users/${name}`, { token: boss })).status).toBe(200);
    expect((await post(peer, '/api/users', { id: name, groups: ['dba-team'] })).status).toBe(409);
  });

  it('unless the workflow lets requesters approve their own', async () => {
    const puppet = await makes(boss, name, ['dba-team']);
    await counts(puppet, await asks({ environment: 'dev' }));
  });
});

describe('a token that the requester issued approves nothing of theirs (HD-70)', () => {
  it('a reissued one, while the older token of its owner does', async () => {
    const first = await makes(peer, name, ['dba-team']);
    const own = await mints(first, name);
    await refused(await reissues(boss, name), await asks(), /issued the token/);
    await counts(own, await asks());
  });

  it('one that was made with it, and one made with that, also when both are revoked and gone', async () => {
    await makes(peer, name, ['dba-team']);
    const taken = await reissues(boss, name);
    const second = await mints(taken, name);
    const third = await mints(second, name);
    await calls.sql(`delete from tokens where subject_id = $1 and token_prefix <> $2`, [name, third.slice(4, 12)]);
    await refused(third, await asks(), /issued the token/);
  });

  it('until an independent admin issues another', async () => {
    await makes(peer, name, ['dba-team']);
    await reissues(boss, name);
    await counts(await reissues(peer, name), await asks());
  });
});

describe('a selector that the requester granted does not count (HD-70)', () => {
  it('a membership, given before or after the request, until somebody else gives it anew', async () => {
    await makes(peer, name, [], ['requester', 'approver']);
    const before = await asks();
    await patch(boss, name, { add_groups: ['dba-team'] });
    const token = await reissues(peer, name);
    for (const id of [before, await asks()]) await refused(token, id, /group:dba-team/);
    await patch(peer, name, { add_groups: ['dba-team'] });
    await refused(token, before, /group:dba-team/);
    await patch(peer, name, { rm_groups: ['dba-team'] });
    await patch(peer, name, { add_groups: ['dba-team'] });
    await counts(token, before);
  });

  it('nor one that replaced the grant of somebody else', async () => {
    const token = await makes(peer, name, ['dba-team']);
    await patch(boss, name, { rm_groups: ['dba-team'] });
    await patch(boss, name, { add_groups: ['dba-team'] });
    await refused(token, await asks(), /group:dba-team/);
  });

  it('nor in the moment in which it is taken away and given back', async () => {
    await makes(peer, name, [], ['requester', 'approver']);
    const token = await reissues(peer, name);
    const id = await asks();
    const ends = Date.now() + 1500;
    const seen = new Set<string>();
    const goesOn = () => Date.now() < ends || seen.size < 2;
    const turns = async () => {
      while (goesOn()) for (const what of ['add_groups', 'rm_groups']) await patch(boss, name, { [what]: ['dba-team'] });
    };
    const tries = async () => {
      while (goesOn()) {
        const { status, body } = await approves(token, id);
        seen.add(`${status} ${body.hint?.includes('group:dba-team') ? 'granted by the requester' : body.hint}`);
      }
    };
    await Promise.all([turns(), tries(), tries(), tries()]);
    expect([...seen].sort()).toEqual([
      '403 granted by the requester',
      '403 this request is not open to you; its requester can share it',
    ]);
  });

  it('nor one that a user of the requester gave', async () => {
    const puppet = await makes(boss, name, [], ['admin']);
    const second = await makes(peer, `${name}b`, [], ['approver']);
    await patch(puppet, `${name}b`, { add_groups: ['dba-team'] });
    await refused(second, await asks(), /group:dba-team/);
  });

  it('a direct role, which other changes of roles leave as it was granted', async () => {
    const to = { database: 'ledger' };
    await makes(peer, name, [], ['requester']);
    await patch(boss, name, { add_roles: ['dba'] });
    const token = await reissues(peer, name);
    await refused(token, await asks(to), /role:dba/);
    await patch(peer, name, { roles: ['approver', 'dba'] });
    await refused(await reissues(peer, name), await asks(to), /role:dba/);
    await patch(peer, name, { rm_roles: ['dba'] });
    await patch(peer, name, { add_roles: ['dba'] });
    await counts(await reissues(peer, name), await asks(to));
  });

  it('while another selector of the step that somebody else granted does, and is chosen', async () => {
    const to = { database: 'ledger', environment: 'staging' };
    const token = await makes(peer, name, ['watchers'], ['approver']);
    await patch(boss, name, { add_groups: ['dba-team'] });
    const id = await asks(to);
    expect((await approves(token, id, { selector: 'group:dba-team' })).body.hint).toMatch(/group:dba-team/);
    expect(await pendingFor(token, id)).toBe(true);
    expect((await approves(token, id)).body.matched_selector).toBe('group:watchers');
  });

  it('a user that the workflow names, by who created them', async () => {
    const token = await makes(boss, 'named', [], ['approver']);
    const to = { database: 'ledger', environment: 'staging' };
    await refused(token, await asks(to), /created your account/);
    await counts(token, await asks(to, peer));
  });
});

describe('what was there before it was recorded (HD-70)', () => {
  it('counts: nobody knows who made it', async () => {
    const token = await makes(boss, name, ['dba-team']);
    await calls.sql(`update users set created_by = null, role_grants = '{}' where id = $1`, [name]);
    await calls.sql('update group_members set granted_by = null where user_id = $1', [name]);
    await calls.sql('update tokens set issued_by = null where subject_id = $1', [name]);
    await counts(token, await asks());
  });

  it('by whom, with which token and when is stored, of a Slack link too', async () => {
    await makes(boss, name, ['dba-team'], ['requester']);
    await patch(peer, name, { slack_user_id: `U${next}` });
    const tokenOf = async (id: string) =>
      (await calls.sql<{ id: string }>(`select id from tokens where subject_id = $1 and provisioning_kind = 'initial'`, [id]))[0]!
        .id;
    const [row] = await calls.sql<Record<string, unknown>>(
      `select u.created_by, u.role_grants, u.slack_linked_by, m.granted_by, t.issued_by from users u
       join group_members m on m.user_id = u.id join tokens t on t.subject_id = u.id where u.id = $1`,
      [name],
    );
    const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);
    const byBoss = { by: 'boss', token: await tokenOf('boss'), origins: ['boss', 'admin'], at };
    expect(row).toEqual({
      created_by: byBoss,
      role_grants: { requester: byBoss },
      slack_linked_by: { by: 'peer', token: await tokenOf('peer'), origins: ['peer', 'admin'], at },
      granted_by: byBoss,
      issued_by: byBoss,
    });
    const [first] = await calls.sql<Record<string, unknown>>(`select created_by from users where id = 'admin'`);
    expect(first).toEqual({ created_by: { by: 'system', token: null, origins: [], at } });
  });
});

describe('a narrow token and the groups of its owner (HD-71)', () => {
  it('matches a group only with a role that the group gives', async () => {
    const whole = await makes(peer, name, ['dba-team'], ['requester']);
    const ci = await mints(whole, name, ['requester']);
    const id = await asks();
    expect((await approves(ci, id)).status).toBe(403);
    expect((await calls.act(ci, id, 'reject')).status).toBe(403);
    expect(await pendingFor(ci, id)).toBe(false);
    expect((await calls.show(ci, id)).status).toBe(403);
    expect((await api.call('GET', '/api/me', { token: ci })).body.groups).toEqual(['dba-team']);
    await counts(await mints(whole, name, ['approver']), id);
  });

  it('matches a group that gives no role only with all roles of its owner', async () => {
    const to = { database: 'ledger', environment: 'staging' };
    const whole = await makes(peer, name, ['watchers'], ['requester', 'approver']);
    const id = await asks(to);
    expect((await approves(await mints(whole, name, ['approver']), id)).status).toBe(403);
    await counts(whole, id);
  });

  it('opens nothing that is shared with such a group', async () => {
    const whole = await makes(peer, name, ['leads'], ['requester']);
    const ci = await mints(whole, name, ['requester']);
    const id = await asks({ share_with: ['group:leads'] });
    expect([(await calls.show(whole, id)).status, (await calls.show(ci, id)).status]).toEqual([200, 403]);
    const listed = async (token: string) => (await calls.list(token)).body.requests.map((request: { id: string }) => request.id);
    expect(await listed(whole)).toContain(id);
    expect(await listed(ci)).not.toContain(id);
  });
});
