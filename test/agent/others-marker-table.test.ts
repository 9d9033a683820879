import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type FakeGateway, startFakeGateway } from '../support/fake-gateway.js';
import { connectEmptyDatabase } from '../support/postgres.js';
import { startTestAgent } from '../support/test-agent.js';

type Connected = Awaited<ReturnType<typeof connectEmptyDatabase>>;

let database: Connected['database'];
let root: Connected['client'];
let gateway: FakeGateway;
let role: string;
/** Somebody who has a schema, and in it a table like that of the markers, which everybody may read and clean. */
beforeEach(async () => {
  ({ database, client: root } = await connectEmptyDatabase());
  gateway = await startFakeGateway();
  role = `other_${randomBytes(6).toString('hex')}`;
  await root.query(`create table parts (id int primary key, qty int); insert into parts values (1, 10);
    create role ${role}; create schema other authorization ${role}; set role ${role};
    grant usage on schema other to public; create table other.seen (who text); grant insert on other.seen to public;
    create function other.note() returns int language plpgsql as
      $$ begin if current_user <> '${role}' then insert into other.seen values (current_user); end if; return 1; end $$;
    create function other.code() returns int immutable language plpgsql as $$ declare n int; begin select other.note() into n; return n; end $$;
    create function other.fired() returns trigger language plpgsql as $$ begin perform other.note(); return null; end $$;
    create table other.svc_execution_marker (request_id text not null, fence bigint not null, step text not null default '', mode text not null,
      state text not null, execution_id text not null, agent_id text not null, approval_digest text not null, rows_affected bigint,
      created_at timestamptz not null default now(), primary key (request_id, fence, step));
    grant select, update, delete on other.svc_execution_marker to public; reset role`);
});
afterEach(async () => {
  await gateway.close();
  await root.query(`drop owned by ${role} cascade; drop role ${role}`);
  await root.end();
  await database.drop();
});

it.each([
  ['an index over it', 'create index on other.svc_execution_marker ((other.code()))'],
  ['a partial index of it', 'create index on other.svc_execution_marker (fence) where other.code() = 1'],
  [
    'a trigger on it',
    `create trigger t after delete on other.svc_execution_marker for each statement execute function other.fired();
     create trigger u after update on other.svc_execution_marker for each statement execute function other.fired()`,
  ],
])('HD-41: code of another owner does not run with the rights of the agent by %s', async (_, sql) => {
  const change = async (input: object = {}) => {
    const done = await gateway.offer({ operation: 'execute_dml', detail: 'update parts set qty = qty + 1', ...input }).result;
    expect(done).toMatchObject({ outcome: 'committed' });
  };
  const agent = startTestAgent({ gateway, url: database.url, timings: { markerCleanupMs: 20 } });
  await gateway.nextPoll();
  await root.query(`set role ${role}; ${sql}; reset role`);
  await change();
  await change({ fence: 2, unresolvedFences: [1] });
  await root.query(
    `insert into svc.svc_execution_marker values ('old', 1, '', 'tx', 'done', '-', '-', '-', 1, now() - interval '1 year')`,
  );
  const old = `select 1 from svc.svc_execution_marker where request_id = 'old'`;
  await expect.poll(async () => (await root.query(old)).rows).toEqual([]);
  agent.stop();
  await agent.exit;
  expect((await root.query('select who from other.seen')).rows).toEqual([]);
});
