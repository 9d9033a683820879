import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { seePlans, untilKnown } from '../support/planned.js';
import { connectEmptyDatabase, type TestDatabase } from '../support/postgres.js';
import { startTestAgent, type TestAgent } from '../support/test-agent.js';
import { databaseToml, dbaTeamToml, needsDbaToml } from '../support/toml.js';

const toml = [databaseToml('shop', ['staging']), dbaTeamToml, needsDbaToml()].join('');
const pair = { database: 'shop', environment: 'staging' };

let api: TestApi;
let database: TestDatabase;
let target: pg.Client;
let agent: TestAgent;
let dana: string;
let reader: string;
beforeAll(async () => {
  [api, { database, client: target }] = await Promise.all([startTestApi({ toml }), connectEmptyDatabase()]);
  reader = `reader_${new URL(database.url).pathname.slice(1)}`;
  await target.query(`
    create table parts (id int primary key, name text);
    create table hidden (id int primary key);
    create role ${reader} login password 'reader';
    grant select on parts to ${reader};
    create function spins() returns int language plpgsql immutable as $$ begin perform pg_sleep(60); return 1; end $$;
    create function tells(text) returns int language plpgsql immutable as $$ begin raise exception 'carol-9417 %', $1; end $$`);
  dana = await api.createUser('dana', { roles: ['requester'] });
  const readUrl = Object.assign(new URL(database.url), { username: reader, password: 'reader' }).href;
  const tables = `read_url = "${readUrl}"\nexplain_functions = ["spins", "tells"]\n[schema_sync]\nenabled = false\n`;
  agent = startTestAgent({ gateway: api, token: api.tokens.agent, url: database.url, tables });
  await untilKnown(api);
});
afterAll(async () => {
  agent?.stop();
  expect(await agent?.exit).toBe(0);
  await api?.close();
  await target?.query(`drop owned by ${reader}; drop role ${reader}`);
  await target?.end();
  await database?.drop();
});

const plannedOf = async (type: string): Promise<number | undefined> => {
  const answer = await api.call('GET', `/api/audit/events?event_type=${type}&limit=1`, { token: api.tokens.admin });
  return JSON.parse(answer.body.events[0].metadata_json).planned_statements;
};

describe('HD-3: a plan before approval', () => {
  it('names the place of an error in the statement itself', async () => {
    const { entry } = await seePlans(api, dana, 'select nam from parts');
    expect(entry.error).toContain('column "nam" does not exist (SQLSTATE 42703, position 8)');
  });

  it.each(['select * from hidden', "update parts set name = 'x' where id = 1"])(
    'is made as read_url, which may not: %s',
    async (sql) => {
      const { entry, impact } = await seePlans(api, dana, sql);
      expect(entry).toMatchObject({
        error: expect.stringMatching(/permission denied.*SQLSTATE 42501/),
        hint: expect.stringContaining('the role of read_url'),
      });
      expect(impact).toEqual({ status: 'error', error: entry.error, unknown_name: false });
      expect((await seePlans(api, dana, 'select * from parts')).entry).toHaveProperty('plan');
    },
  );

  it('ends after 5 s, whatever a preflight waits for, with a text of no data (HD-2)', async () => {
    const { entry, impact } = await seePlans(api, dana, 'select * from parts where id = spins()');
    expect(entry).toMatchObject({ error: 'the database refused the plan (SQLSTATE 57014)', hint: null });
    expect(impact.status).toBe('error');
  }, 20_000);

  it("leaves the database's words to the agent's log (HD-2)", async () => {
    const { entry, impact } = await seePlans(api, dana, "select * from parts where id = tells('it')");
    expect(entry).toMatchObject({ error: 'the database refused the plan (SQLSTATE P0001)', hint: null });
    expect(JSON.stringify([entry, impact])).not.toContain('carol');
    expect(agent.lines.join('\n')).toContain('carol-9417 it');
    const [stored] = await api.services.database.query<{ n: number }>(
      `select count(*)::int as n from dry_run_jobs where error like '%carol%' or plan like '%carol%'`,
    );
    expect(stored?.n).toBe(0);
  });

  it('is audited with the number of statements planned, with the creation or as preflight.attempted', async () => {
    await seePlans(api, dana, "select * from parts where name = table_to_xml('parts', true, false, '')::text");
    expect([await plannedOf('request.created'), await plannedOf('preflight.attempted')]).toEqual([0, 0]);
    await seePlans(api, dana, 'select * from parts where id = 7');
    expect([await plannedOf('request.created'), await plannedOf('preflight.attempted')]).toEqual([1, 1]);
    const detail =
      "update parts set name = 'x' where id = 1; update parts set name = name || nextval('s') where id = 2; delete from parts where id = 3";
    await api.call('POST', '/api/requests', { token: dana, body: { ...pair, detail } });
    expect(await plannedOf('request.created')).toBe(2);
    await api.call('POST', '/api/preflight', { token: dana, body: { ...pair, sql: 'select 1', include_explain: false } });
    expect(await plannedOf('preflight.attempted')).toBe(0);
  });
});
