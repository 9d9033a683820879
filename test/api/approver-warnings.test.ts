import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { databaseToml, dbaTeamToml, groupToml, passesToml, roleToml, workflowToml } from '../support/toml.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';

const toml = [
  databaseToml('shop', ['team', 'named', 'role', 'open']),
  dbaTeamToml,
  groupToml('keepers', ['keeper']),
  roleToml('keeper', ['request.view'], { databases: ['shop'] }),
  workflowToml({ environment: 'team', steps: [[{ group: 'dba-team', min: 2 }]] }),
  workflowToml({ environment: 'named', steps: [[{ user: 'nemo' }]] }),
  workflowToml({ environment: 'role', steps: [[{ role: 'keeper' }]] }),
  passesToml('open'),
].join('');

let api: TestApi;
let calls: GatewayCalls;
let alice: string;
beforeAll(async () => {
  api = await startTestApi({ toml });
  calls = gatewayCalls(api);
  alice = await api.createUser('alice', { roles: ['requester'], groups: ['dba-team'] });
});
afterAll(() => api?.close());

const stuck = (selectors: string) =>
  `nobody can approve step 1 of 1 as things are: too few active users match ${selectors} besides you`;
async function warned(environment: string): Promise<string[] | undefined> {
  const made = await calls.create(alice, { environment });
  expect(made.status).toBe(201);
  const body = { database: 'shop', environment, sql: 'select 1', include_explain: false };
  const looked = await api.call('POST', '/api/preflight', { token: alice, body });
  expect(looked.body.warnings).toEqual(made.body.warnings);
  return made.body.warnings;
}

describe('a request that nobody can approve (RQ-38)', () => {
  it('is warned of when it is made and in a preflight, until somebody can', async () => {
    expect(await warned('open')).toBeUndefined();
    expect(await warned('team')).toEqual([stuck('group:dba-team')]);
    await api.createUser('bob', { groups: ['dba-team'] });
    expect(await warned('team')).toEqual([stuck('group:dba-team')]);
    await api.createUser('eve', { groups: ['dba-team'] });
    expect(await warned('team')).toBeUndefined();
    await api.call('POST', '/api/users/eve/suspend', { token: api.tokens.admin });
    expect(await warned('team')).toEqual([stuck('group:dba-team')]);
  });

  it('is warned of for a user who is not there, suspended or deleted, in the same words', async () => {
    const before = await warned('named');
    expect(before).toEqual([stuck('user:nemo')]);
    await api.createUser('nemo', { roles: ['approver'] });
    expect(await warned('named')).toBeUndefined();
    for (const how of ['suspend', 'DELETE']) {
      const path = how === 'DELETE' ? '/api/users/nemo' : `/api/users/nemo/${how}`;
      await api.call(how === 'DELETE' ? 'DELETE' : 'POST', path, { token: api.tokens.admin });
      expect(await warned('named')).toEqual(before);
    }
  });

  it('counts a role that is held directly or through a group', async () => {
    expect(await warned('role')).toEqual([stuck('role:keeper')]);
    await api.createUser('kim', { groups: ['keepers'] });
    expect(await warned('role')).toBeUndefined();
    await calls.sql(`delete from group_members where user_id = 'kim'`);
    expect(await warned('role')).toEqual([stuck('role:keeper')]);
    await api.createUser('karl', { roles: ['keeper'] });
    expect(await warned('role')).toBeUndefined();
  });

  it('is not warned of again once it is decided, nor where looking fails', async () => {
    const key = { environment: 'team', idempotency_key: 'once' };
    expect((await calls.create(alice, key)).body.warnings).toEqual([stuck('group:dba-team')]);
    await calls.act(alice, (await calls.create(alice, key)).body.id, 'cancel');
    expect((await calls.create(alice, key)).body.warnings).toBeUndefined();
    const { database } = api.services;
    const query = database.query;
    database.query = ((text: string, ...more: never[]) =>
      text.includes('"accountOrigins" from users u where')
        ? Promise.reject(new Error('no'))
        : query.call(database, text, ...more)) as typeof query;
    const made = await calls.create(alice, { environment: 'team' });
    database.query = query;
    expect([made.status, made.body.warnings]).toEqual([201, undefined]);
  });
});
