import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { approvalDigest } from '../../crypto/execution-token.js';
import type { Operation } from '../../domain/policies.js';
import { eventually } from '../support/processes.js';
import { databaseToml, dbaTeamToml, groupToml, roleToml, workflowToml } from '../support/toml.js';
import { type GatewayBench, startGatewayBench } from './gateway-bench.js';

const dba = { group: 'dba-team' };
const toml = [
  databaseToml('shop', ['staging']),
  dbaTeamToml,
  groupToml('leads', ['approver']),
  roleToml('breaker', ['request.break_glass_dml', 'request.dml', 'request.view', 'request.resume']),
  workflowToml({
    environment: 'staging',
    more: 'operations = ["execute_dml"]',
    steps: [[dba], [{ group: 'leads' }]],
  }),
  workflowToml({ environment: 'staging', more: 'operations = ["execute_select"]', auto: '{ mode = "always" }' }),
  // A lost read may be sent again, and a run that ended may be sent once more.
  '[[execution_policies]]\nmax_executions = 1\nretry_on_failure = true\n',
].join('');

let bench: GatewayBench;
let token: string;
const people: Record<string, string> = {};
beforeAll(async () => {
  bench = await startGatewayBench(toml);
  token = await bench.agentToken();
  Object.assign(
    people,
    await bench.api.createUsers({
      dora: { groups: ['dba-team'] },
      lena: { groups: ['leads'] },
      mallory: { roles: ['requester', 'breaker'], groups: ['dba-team', 'leads'] },
    }),
  );
});
afterEach(async () => {
  await bench.stopAll();
  await bench.target.query('truncate entries');
});
afterAll(() => bench?.close());

const sql = <Row extends object>(text: string, values: unknown[] = []) => bench.calls.sql<Row>(text, values);
const statusOf = async (id: string) =>
  (await sql<{ status: string }>('select status from requests where id = $1', [id]))[0]?.status;

async function ended(id: string) {
  await eventually(async () => !/dispatched|running/.test((await statusOf(id)) ?? ''), 20_000);
  return statusOf(id);
}

const good = `insert into entries values ('good')`;
const evil = `insert into entries values ('evil')`;

/** A request of mallory that asks for something harmless. */
const pending = () => bench.calls.created(people.mallory!, { environment: 'staging', detail: good });

async function approved(): Promise<string> {
  const id = await pending();
  for (const who of ['dora', 'lena']) expect((await bench.calls.act(people[who]!, id, 'approve')).status).toBe(200);
  return id;
}

async function dispatched(): Promise<string> {
  await bench.calls.poll(['shop/staging'], token);
  const id = await approved();
  expect((await bench.calls.act(people.mallory!, id, 'resume')).status).toBe(200);
  return id;
}

/** Break-glass: dispatched without anybody's approval, like a read that its policy passes. */
const broken = () =>
  bench.calls.created(people.mallory!, { environment: 'staging', detail: good, emergency: true, reason: 'on fire' });

async function executed(): Promise<string> {
  const id = await dispatched();
  bench.start({ token });
  expect(await ended(id)).toBe('executed');
  await bench.stopAll();
  expect(await bench.words()).toEqual(['good']);
  return id;
}

/** The text and the digest that fits it, which anybody can compute. */
async function rewrite(id: string, over: { detail?: string; database?: string; operation?: Operation }): Promise<void> {
  const [row] = await sql<{
    detail: string;
    database: string;
    environment: string;
    operation: Operation;
    policyRevision: string;
  }>('select detail, database, environment, operation, policy_revision as "policyRevision" from requests where id = $1', [id]);
  const next = { ...row!, ...over };
  await sql('update requests set detail = $2, database = $3, operation = $4, approval_digest = $5 where id = $1', [
    id,
    next.detail,
    next.database,
    next.operation,
    approvalDigest(next),
  ]);
}

/** The statements of somebody who can write the gateway's database, and what is then asked of the gateway. */
interface Attack {
  from: () => Promise<string>;
  tamper: (id: string) => Promise<unknown>;
  act?: 'resume' | 'approve';
  /** Which request is to run, if another one. */
  on?: (id: string) => Promise<string>;
}

const set = (assignments: string) => (id: string) => sql(`update requests set ${assignments} where id = $1`, [id]);
const open = `dispatch_by = clock_timestamp() + interval '1 hour', expires_at = clock_timestamp() + interval '1 hour'`;

const attacks: Record<string, Attack> = {
  'another text and its digest, approved': { from: approved, tamper: (id) => rewrite(id, { detail: evil }), act: 'resume' },
  'another text and its digest, dispatched': { from: dispatched, tamper: (id) => rewrite(id, { detail: evil }) },
  'another text and its digest, broken glass': { from: broken, tamper: (id) => rewrite(id, { detail: evil }) },
  'a status nobody approved': {
    from: pending,
    tamper: set(`status = 'approved', approved_at = clock_timestamp(), ${open}`),
    act: 'resume',
  },
  'a dispatch nobody asked for': {
    from: pending,
    tamper: set(
      `status = 'dispatched', fence = 1, dispatched_at = clock_timestamp(), dispatch_deadline = clock_timestamp() + interval '1 hour', ${open}`,
    ),
  },
  'approvals made up': {
    from: pending,
    tamper: async (id) => {
      await sql(
        `insert into decisions (id, request_id, step, user_id, action, selector, decided_at)
         values (gen_random_uuid(), $1, 0, 'dora', 'approve', 'group:dba-team', clock_timestamp()),
           (gen_random_uuid(), $1, 1, 'lena', 'approve', 'group:leads', clock_timestamp())`,
        [id],
      );
      await set(`status = 'approved', approved_at = clock_timestamp(), current_step = 2, ${open}`)(id);
    },
    act: 'resume',
  },
  'approvals taken from another request': {
    from: pending,
    tamper: async (id) => {
      await sql('update decisions set request_id = $1 where request_id = $2', [id, await approved()]);
      await set(`status = 'approved', approved_at = clock_timestamp(), current_step = 2, ${open}`)(id);
    },
    act: 'resume',
  },
  'a state taken from another request': {
    from: pending,
    tamper: async (id) => {
      const other = await approved();
      await sql('update decisions set request_id = $1 where request_id = $2', [id, other]);
      const columns = 'status, version, current_step, approved_at, resolved_at, dispatch_by, state_mac';
      const there = await hasColumn('state_mac');
      const names = there ? columns : columns.replace(', state_mac', '');
      await sql(`update requests set (${names}) = (select ${names} from requests where id = $2) where id = $1`, [id, other]);
    },
    act: 'resume',
  },
  'the first approval counted for both steps': {
    from: async () => {
      const id = await pending();
      expect((await bench.calls.act(people.dora!, id, 'approve')).status).toBe(200);
      return id;
    },
    tamper: async (id) => {
      await sql(
        `insert into decisions select (jsonb_populate_record(d, jsonb_build_object('id', gen_random_uuid(), 'step', 1, 'user_id', 'lena',
           'selector', 'group:leads'))).* from decisions d where request_id = $1`,
        [id],
      );
      await set(`status = 'approved', approved_at = clock_timestamp(), current_step = 2, ${open}`)(id);
    },
    act: 'resume',
  },
  'no steps': {
    from: pending,
    tamper: set(`workflow = jsonb_set(workflow, '{steps}', '[]'), status = 'approved', ${open}`),
    act: 'resume',
  },
  'no workflow': { from: pending, tamper: set(`workflow = null, status = 'approved', ${open}`), act: 'resume' },
  'a step that asks for less': {
    from: async () => {
      const id = await pending();
      expect((await bench.calls.act(people.dora!, id, 'approve')).status).toBe(200);
      return id;
    },
    tamper: set(`workflow = jsonb_set(workflow, '{steps}', (workflow -> 'steps') - 1), status = 'approved', ${open}`),
    act: 'resume',
  },
  'leave to approve one’s own': {
    from: pending,
    tamper: set(`workflow = workflow || '{"allowSelfApprove":true,"allowSameApproverAcrossSteps":true}'`),
    act: 'approve',
  },
  'another requester': {
    from: pending,
    tamper: set(`requester = 'dana', workflow = workflow || '{"allowSameApproverAcrossSteps":true}'`),
    act: 'approve',
  },
  'a dispatch that passed by itself': {
    from: pending,
    tamper: async (id) => {
      await set(
        `emergency = true, status = 'dispatched', fence = 1, dispatched_at = clock_timestamp(), dispatch_deadline = clock_timestamp() + interval '1 hour', ${open}`,
      )(id);
      if (await hasColumn('passed_by')) await set(`passed_by = 'break_glass'`)(id);
    },
  },
  'a row under a new id': {
    from: executed,
    tamper: async (id) => {
      const copy = randomUUID();
      await sql(
        `insert into requests select (jsonb_populate_record(r, jsonb_build_object('id', $2::text, 'status', 'approved', 'fence', 0))).* from requests r where id = $1`,
        [id, copy],
      );
      await sql(
        `insert into decisions select (jsonb_populate_record(d, jsonb_build_object('id', gen_random_uuid(), 'request_id', $2::text))).* from decisions d where request_id = $1`,
        [id, copy],
      );
      copies.set(id, copy);
    },
    on: async (id) => copies.get(id)!,
    act: 'resume',
  },
  'a run forgotten': {
    from: executed,
    tamper: async (id) => {
      await sql('delete from executions where request_id = $1', [id]);
      await set(`status = 'approved', ${open}`)(id);
    },
    act: 'resume',
  },
  'a run that never counted': {
    from: executed,
    tamper: async (id) => {
      await sql(`update executions set lost = true, unresolved = false where request_id = $1`, [id]);
      await set(`status = 'execution_lost', ${open}`)(id);
    },
    act: 'resume',
  },
  'a run whose dispatch timed out': {
    from: executed,
    tamper: async (id) => {
      await sql('delete from executions where request_id = $1', [id]);
      await set(`status = 'dispatched', dispatch_deadline = clock_timestamp() - interval '1 second', ${open}`)(id);
      await bench.calls.fireClock(id, 'dispatch');
      expect(await statusOf(id)).not.toBe('dispatched');
    },
    act: 'resume',
  },
  'an approval that is over': {
    from: async () => {
      const id = await approved();
      await bench.calls.fireClock(id, 'approved');
      expect(await statusOf(id)).toBe('expired');
      return id;
    },
    tamper: set(`status = 'approved', ${open}`),
    act: 'resume',
  },
  'a rejection withdrawn': {
    from: async () => {
      const id = await pending();
      expect((await bench.calls.act(people.dora!, id, 'reject')).status).toBe(200);
      return id;
    },
    tamper: async (id) => {
      await sql('delete from decisions where request_id = $1', [id]);
      await set(`status = 'approved', ${open}`)(id);
    },
    act: 'resume',
  },
};

const copies = new Map<string, string>();

async function hasColumn(name: string): Promise<boolean> {
  const rows = await sql(`select 1 from information_schema.columns where table_name = 'requests' and column_name = $1`, [name]);
  return rows.length > 0;
}

describe('somebody who can write the gateway’s database (HD-50)', () => {
  it.each(Object.entries(attacks))('gets nothing run by %s', async (_, { from, tamper, act, on }) => {
    const first = await from();
    const before = await bench.words();
    await tamper(first);
    const id = (await on?.(first)) ?? first;
    bench.start({ token });
    if (act === 'approve') for (const _ of [1, 2]) await bench.calls.act(people.mallory!, id, 'approve');
    if (act !== undefined) for (const who of [people.mallory!, bench.dana]) await bench.calls.act(who, id, 'resume');
    await ended(id);
    expect(await bench.words()).toEqual(before);
    expect(await statusOf(id)).not.toBe('executed');
  });

  it('changes nothing for what nobody touched', async () => {
    const id = await executed();
    expect(await bench.words()).toEqual(['good']);
    expect(await bench.audited(id, 'request.integrity_failed')).toEqual([]);
  });
});
