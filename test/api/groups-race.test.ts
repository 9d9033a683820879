import { afterAll, beforeAll, expect, it } from 'vitest';
import { syncGeneration } from '../../runtime/generation.js';
import { startTestApi, type TestApi } from '../support/api.js';
import { databaseToml, groupToml, passesToml } from '../support/toml.js';

const toml = [
  databaseToml('shop', ['staging']),
  groupToml('stays', ['approver']),
  groupToml('leaves', ['approver']),
  passesToml(),
];

let api: TestApi;
let other: TestApi;
beforeAll(async () => {
  api = await startTestApi({ toml: toml.join('') });
  other = await api.another();
});
afterAll(async () => {
  await other?.close();
  await api?.close();
});

it.each([0, 1, 2, 3, 4, 5, 6, 7])(
  'IM-75: a group that leaves while others join it keeps no member, and each that it had is told once, round %i',
  async (round) => {
    const { database } = api.services;
    const token = api.tokens.admin;
    const { shared } = api.config;
    const without = { ...shared, auth: { ...shared.auth, groups: shared.auth.groups.filter(({ name }) => name !== 'leaves') } };
    const here = await syncGeneration(database, api.config);
    await expect.poll(() => other.services.generation().number, { timeout: 15_000 }).toBe(here.number);
    await expect.poll(() => api.services.generation().number, { timeout: 15_000 }).toBe(here.number);
    const [last] = await database.query<{ position: number }>('select max(position) as position from audit_events');
    const people = ['one', 'two', 'three'].map((name) => `${name}-${round}`);
    for (const id of people) await api.createUser(id);
    await api.call('PATCH', `/api/users/${people[0]}`, { token, body: { add_groups: ['leaves', 'stays'] } });
    const join = (id: string, where: TestApi) =>
      where.call('PATCH', `/api/users/${id}`, { token, body: { add_groups: ['leaves'] } });
    const make = (id: string, where: TestApi) => where.call('POST', '/api/users', { token, body: { id, groups: ['leaves'] } });
    const joins = [() => join(people[1]!, api), () => join(people[2]!, other), () => make(`new-${round}`, other)];
    const leave = () => syncGeneration(round % 2 === 0 ? database : other.services.database, { ...api.config, shared: without });
    joins.splice(round % 4, 0, leave as never);
    const answers = await Promise.all(joins.map((start) => start()));
    for (const answer of answers) if ('status' in answer) expect([200, 201, 400], answer.text).toContain(answer.status);
    const members = await database.query(`select user_id from group_members where group_name = 'leaves'`);
    expect(members).toEqual([]);
    const count = async (type: string) =>
      (
        await database.query(
          `select 1 from audit_events where event_type = $1 and metadata_json::jsonb ->> 'group' = 'leaves' and position > $2`,
          [type, last!.position],
        )
      ).length;
    expect(await count('group.member_removed')).toBe(await count('group.member_added'));
    expect(await count('group.member_removed')).toBeGreaterThan(0);
    for (const id of [...people, `new-${round}`]) await api.call('DELETE', `/api/users/${id}`, { token });
  },
);
