import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { groupToml, roleToml, workflowToml } from '../support/toml.js';
import { callsToml } from './calls-toml.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';

/** A role for each permission alone, everywhere and on another database only. */
const alone = ['query', 'view', 'cancel', 'resume', 'view:any', 'cancel:any', 'resume:any'].flatMap((action) => {
  const name = `request-${action.replace(':', '-')}`;
  const permissions = [`request.${action}`];
  return [
    { name, toml: roleToml(name, permissions) },
    { name: `${name}-shop`, toml: roleToml(`${name}-shop`, permissions, { databases: ['shop'] }) },
  ];
});

// Whoever approves on ledger/staging holds no permission at all unless a row gives one.
const toml = [
  callsToml,
  groupToml('bare', ['nothing-much']),
  workflowToml({ database: 'ledger', environment: 'staging', steps: [[{ group: 'bare' }]] }),
  ...alone.map((role) => role.toml),
].join('');

let api: TestApi;
let calls: GatewayCalls;
const tokens: Record<string, string> = {};
beforeAll(async () => {
  api = await startTestApi({ toml });
  calls = gatewayCalls(api);
  // A token may use the roles its user held when it was made.
  const roles = [...alone.map(({ name }) => name), 'nothing-much', 'requester', 'admin'];
  for (const name of ['owner', 'shared', 'stranger']) tokens[name] = await api.createUser(name, { roles });
  for (const name of ['approver', 'other']) tokens[name] = await api.createUser(name, { roles, groups: ['bare'] });
  await calls.sql(`update users set roles = '{nothing-much}' where id = any($1)`, [Object.keys(tokens)]);
});
afterAll(() => api?.close());

const ledger = { database: 'ledger', environment: 'staging' };

const grant = (who: string, roles: string[]) => calls.sql('update users set roles = $2 where id = $1', [who, roles]);

/** A request of `owner` on ledger/staging, shared with `shared`; `who` then holds just this role. */
async function placed(who: string, role: string, status: 'pending' | 'approved'): Promise<{ id: string; token: string }> {
  await grant('owner', ['requester']);
  const id = await calls.created(tokens.owner!, { ...ledger, share_with: ['shared'] });
  if (status === 'approved') expect((await calls.act(tokens.other!, id, 'approve')).status).toBe(200);
  await grant(who, [role]);
  return { id, token: tokens[who]! };
}

/** Section 1: who (relation), the roles that are held, and what the call answers. */
const table = `
RQ-1  create  stranger                               403
RQ-1  create  stranger  request-view                 403
RQ-1  create  stranger  request-query-shop           403
RQ-1  create  stranger  request-query                201
RQ-2  show    owner     request-view                 200
RQ-2  show    owner                                  403
RQ-2  show    owner     request-view-shop            403
RQ-2  show    approver  request-view                 200
RQ-2  show    approver                               403
RQ-2  show    shared    request-view                 200
RQ-2  show    shared                                 403
RQ-2  show    stranger  request-view                 403
RQ-2  show    stranger  request-view-any             200
RQ-2  show    stranger  request-view-any-shop        403
RQ-3  mine    approver                               200
RQ-4  approve approver                               200
RQ-4  approve shared    request-view                 403
RQ-4  approve stranger  admin                        403
RQ-4  approve owner     requester                    403
RQ-5  reject  owner                                  200
RQ-5  reject  approver                               200
RQ-5  reject  shared    request-view                 403
RQ-5  reject  stranger  admin                        403
RQ-6  cancel  owner     request-cancel               200
RQ-6  cancel  owner                                  403
RQ-6  cancel  owner     request-cancel-shop          403
RQ-6  cancel  shared    request-cancel               403
RQ-6  cancel  approver  request-cancel               403
RQ-6  cancel  shared    request-cancel-any           200
RQ-6  cancel  shared    request-cancel-any-shop      403
RQ-7  resume  owner     request-resume               200
RQ-7  resume  owner                                  403
RQ-7  resume  owner     request-resume-shop          403
RQ-7  resume  shared    request-resume               403
RQ-7  resume  approver  request-resume               403
RQ-7  resume  shared    request-resume-any           200
RQ-7  resume  shared    request-resume-any-shop      403
RQ-10 approve shared    request-view-any             403`;

const rows = table
  .trim()
  .split('\n')
  .map((line) => line.split(/\s+/))
  .map(
    ([rule, call, who, ...rest]) =>
      [rule!, call!, who!, rest.length > 1 ? rest[0]! : 'nothing-much', Number(rest.at(-1))] as const,
  );

describe('who may do what (section 1)', () => {
  it.each(rows)('%s: %s by %s with %s is %i', async (_, call, who, role, status) => {
    const { id, token } = await placed(who, role, call === 'resume' ? 'approved' : 'pending');
    const before = await calls.eventTypes(id);
    if (call === 'create') expect((await calls.create(token, ledger)).status).toBe(status);
    else if (call === 'mine') expect((await calls.list(token, '?pending_for_me=true')).body.requests[0]).toMatchObject({ id });
    else if (call === 'show') await expectSeen(token, id, status);
    else {
      const answer = await calls.act(token, id, call as 'approve');
      expect([answer.status, answer.body.code]).toEqual([status, status === 403 ? 'auth.forbidden' : undefined]);
      expect((await calls.eventTypes(id)).length).toBe(before.length + (status === 200 ? 1 : 0));
    }
  });

  it('RQ-2: who has to do with a request hears which permission is missing; a stranger hears nothing of it (HT-93)', async () => {
    const why = async (who: string, role: string, call: 'show' | 'cancel' | 'resume') => {
      const { id, token } = await placed(who, role, call === 'resume' ? 'approved' : 'pending');
      const { body } = call === 'show' ? await calls.show(token, id) : await calls.act(token, id, call);
      return [body.error, body.code, body.hint];
    };
    const because = (hint: string) => ['forbidden', 'auth.forbidden', hint];
    const hidden = because('this request is not open to you; its requester can share it');
    expect(await why('owner', 'request-view-shop', 'show')).toEqual(because('you lack request.view on ledger/staging'));
    expect(await why('shared', 'request-view-shop', 'show')).toEqual(
      because('you lack request.view on its database and environment'),
    );
    expect(await why('stranger', 'request-view', 'show')).toEqual(hidden);
    expect(await why('owner', 'request-cancel-shop', 'cancel')).toEqual(because('you lack request.cancel on ledger/staging'));
    expect(await why('shared', 'request-cancel', 'cancel')).toEqual(
      because('you lack request.cancel:any on its database and environment'),
    );
    expect(await why('stranger', 'request-cancel-any', 'cancel')).toEqual(hidden);
    expect(await why('owner', 'request-resume-shop', 'resume')).toEqual(because('you lack request.resume on ledger/staging'));
    expect(await why('stranger', 'request-resume-any', 'resume')).toEqual(hidden);
    expect(await why('shared', 'nothing-much', 'resume')).toEqual(because('you lack request.resume'));
  });

  it('RQ-8: who has rejected a request keeps reading it, while request.view covers its pair', async () => {
    const { id, token } = await placed('approver', 'request-view', 'pending');
    await expectSeen(token, id, 200);
    expect((await calls.act(token, id, 'reject')).status).toBe(200);
    await expectSeen(token, id, 200);
    await calls.sql(`delete from group_members where user_id = 'approver'`);
    await expectSeen(token, id, 200);
    for (const role of ['nothing-much', 'request-view-shop', 'request-cancel']) {
      await grant('approver', [role]);
      await expectSeen(token, id, 403);
    }
    await expectSeen(tokens.owner!, id, 200);
    await calls.sql(`insert into group_members (group_name, user_id) values ('bare', 'approver')`);
  });
});

/** RQ-11: show, executions and list agree. */
async function expectSeen(token: string, id: string, status: number): Promise<void> {
  const answers = [await calls.show(token, id), await calls.executions(token, id)];
  expect(answers.map((answer) => answer.status)).toEqual([status, status]);
  const listed = await calls.list(token, '?limit=100');
  expect(listed.text.includes(id)).toBe(status === 200);
}
