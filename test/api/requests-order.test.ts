import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lockWaits } from '../support/active-statement.js';
import type { TestApi } from '../support/api.js';
import { eventually } from '../support/processes.js';
import { roleToml } from '../support/toml.js';
import { startCalls } from './calls-api.js';
import { callsToml } from './calls-toml.js';
import { type CreationOver, type GatewayCalls, gatewayCalls } from './gateway-calls.js';

let api: TestApi;
let calls: GatewayCalls;
let tokens: Record<string, string>;
const elsewhere = roleToml('elsewhere', ['request.query'], { databases: ['none'] });
const toml = `${callsToml}${roleToml('reader', ['request.query', 'request.view'])}${elsewhere}`;
beforeAll(async () => {
  const people = { stranger: { roles: ['elsewhere'] }, reader: { roles: ['reader'] }, alice: { roles: ['requester'] } };
  ({ api, calls, tokens } = await startCalls(people, [], { toml }));
  await calls.created(tokens.reader!, { idempotency_key: 'taken' });
  await calls.created(tokens.reader!, { idempotency_key: 'same', environment: 'qa', reason: 'r' });
});
afterAll(() => api?.close());

const write = 'delete from t where id = 1';

describe('of two checks of a creation that fail the earlier one answers (section 2)', () => {
  it.each<[string, string, CreationOver, number, string]>([
    ['RQ-12 before RQ-14', 'stranger', { environment: 5, allow_ddl: true }, 400, 'body.environment'],
    ['RQ-14 before RQ-17', 'stranger', { allow_ddl: true }, 400, 'body.allow_ddl'],
    ['RQ-14 before RQ-17', 'stranger', { operation: 'migrate_repair', detail: '{}' }, 400, 'body.emergency'],
    ['RQ-15 before RQ-17', 'stranger', { emergency: true }, 400, 'reason is required'],
    ['RQ-17 before RQ-19', 'stranger', { environment: 'moon' }, 403, 'forbidden'],
    ['RQ-17 before RQ-20', 'stranger', { detail: 'selec' }, 403, 'forbidden'],
    ['RQ-18 before RQ-19', 'reader', { idempotency_key: 'taken', environment: 'moon' }, 409, 'belongs to another request'],
    ['RQ-18 before RQ-20', 'reader', { idempotency_key: 'taken', detail: 'selec' }, 409, 'belongs to another request'],
    ['RQ-18 before RQ-21', 'reader', { idempotency_key: 'taken', detail: write }, 409, 'belongs to another request'],
    ['RQ-18 before RQ-24', 'reader', { idempotency_key: 'same', environment: 'qa' }, 409, 'belongs to another request'],
    ['RQ-19 before RQ-20', 'reader', { environment: 'moon', detail: 'selec' }, 400, 'not registered'],
    ['RQ-19 before RQ-21', 'reader', { environment: 'moon', detail: write }, 400, 'not registered'],
    ['RQ-20 before RQ-21', 'reader', { detail: 'grant select on t to bob' }, 400, 'validation.failed'],
    ['RQ-20 before RQ-21', 'reader', { detail: 'delete from t' }, 400, 'validation.failed'],
    ['RQ-21 before RQ-23', 'reader', { environment: 'lab', detail: write }, 403, 'forbidden'],
    ['RQ-21 before RQ-24', 'reader', { environment: 'qa', detail: write }, 403, 'forbidden'],
  ])('%s: %s with %j is %i', async (_, who, over, status, word) => {
    const answer = await calls.create(tokens[who]!, over);
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(word)]);
  });
});

it('tells the permissions that a text needs and its author lacks (RQ-21, HT-93)', async () => {
  const why = async (over: CreationOver, who = 'reader') => (await calls.create(tokens[who]!, over)).body.hint;
  expect(await why({ detail: write })).toBe('you lack request.dml on shop/production');
  expect(await why({ detail: 'create table t (id int)' })).toBe('you lack request.ddl on shop/production');
  expect(await why({ emergency: true, reason: 'r' })).toBe('you lack request.break_glass_query on shop/production');
  const ddl = { detail: 'create table t (id int)', emergency: true, allow_ddl: true, reason: 'r' };
  expect(await why(ddl)).toBe('you lack request.break_glass_dml, request.ddl and request.break_glass_ddl on shop/production');
  expect(await why({ operation: 'migrate_status', detail: '', emergency: true, reason: 'r' })).toBe(
    'you lack request.break_glass_dml on shop/production',
  );
  expect(await why({}, 'stranger')).toMatch(/^you lack request\.query, .* or request\.break_glass_ddl on shop\/production$/);
});

describe('RQ-25: a key that is taken while its creation is being judged', () => {
  /** Another process inserts a request of alice with the key, and ends its transaction once a creation waits for it. */
  async function whileTaken(key: string, end: 'commit' | 'rollback', over: CreationOver = {}) {
    const twin = await calls.created(tokens.alice!, { idempotency_key: `${key}-twin`, reason: 'r' });
    const names = await calls.sql<{ name: string }>(
      `select column_name as name from information_schema.columns where table_name = 'requests' and column_name not in ('id', 'idempotency_key')`,
    );
    const columns = names.map(({ name }) => name).join(', ');
    const client = new pg.Client({ connectionString: api.database.adminUrl });
    await client.connect();
    try {
      await client.query('begin');
      const { rows } = await client.query(
        `insert into requests (id, idempotency_key, ${columns}) select gen_random_uuid(), $2, ${columns} from requests where id = $1 returning id`,
        [twin, key],
      );
      const answer = calls.create(tokens.alice!, { idempotency_key: key, reason: 'r', ...over });
      await eventually(async () => (await client.query(lockWaits)).rows.length > 0, 2500);
      await client.query(end);
      return { answer: await answer, taken: rows[0].id as string };
    } finally {
      await client.end();
    }
  }
  const countOf = async (key: string) => (await calls.sql('select 1 from requests where idempotency_key = $1', [key])).length;

  it('RQ-25, RQ-32: by the same creation is a replay', async () => {
    const { answer, taken } = await whileTaken('meanwhile', 'commit');
    expect([answer.status, answer.body]).toMatchObject([200, { id: taken, idempotent: true }]);
    expect(await countOf('meanwhile')).toBe(1);
  });

  it('RQ-25, RQ-33: by another creation is a conflict', async () => {
    const { answer, taken } = await whileTaken('otherwise', 'commit', { detail: 'select 2' });
    expect([answer.status, answer.body]).toMatchObject([409, { code: 'request.conflict', hint: `request ${taken}` }]);
    expect(await countOf('otherwise')).toBe(1);
  });

  it('RQ-25, RQ-34: by a creation that then fails is free', async () => {
    const { answer, taken } = await whileTaken('given-up', 'rollback');
    expect([answer.status, answer.body.idempotent]).toEqual([201, false]);
    expect(answer.body.id).not.toBe(taken);
  });
});

it('RQ-35: neither a permission that is gone nor a rule that has come turns a repeat into an error', async () => {
  const changing = await api.createUser('changing', { roles: ['requester', 'reader'] });
  const over = { idempotency_key: 'later', detail: write };
  const id = await calls.created(changing, over);
  await calls.sql(`update users set roles = '{reader}' where id = 'changing'`);
  expect((await calls.create(changing, { detail: write })).status).toBe(403);
  const step = 'environment = "production"\n[[workflows.steps]]';
  const stricter = await api.another({ toml: toml.replaceAll(step, step.replace('\n', '\nrequire_reason = true\n')) });
  try {
    const there = gatewayCalls(stricter);
    expect((await there.create(changing)).body.error).toContain('reason is required');
    expect(await there.create(changing, over)).toMatchObject({ status: 200, body: { id, idempotent: true } });
  } finally {
    await stricter.close();
  }
});
