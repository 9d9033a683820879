import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.js';
import { startCalls } from './calls-api.js';
import { callsToml } from './calls-toml.js';
import { type CreationOver, type GatewayCalls, gatewayCalls } from './gateway-calls.js';

let api: TestApi;
let calls: GatewayCalls;
let alice: string;
let dora: string;
beforeAll(async () => {
  ({
    api,
    calls,
    tokens: { alice, dora },
  } = await startCalls({ alice: { roles: ['requester'] }, dora: { roles: ['dba'] } }));
});
afterAll(() => api?.close());

const storedRequests = async () => (await calls.sql<{ count: number }>('select count(*) as count from requests'))[0]!.count;
const emergency = { emergency: true, reason: 'pager' };

interface BadRow {
  what: string;
  over: CreationOver;
  hint?: string | null;
  text?: string;
}

const badRows: BadRow[] = [
  { what: 'a missing detail', over: { detail: undefined }, hint: 'body.detail' },
  { what: 'a missing database', over: { database: undefined }, hint: 'body.database' },
  { what: 'a missing environment', over: { environment: undefined }, hint: 'body.environment' },
  { what: 'emergency null', over: { emergency: null }, hint: 'body.emergency' },
  { what: 'emergency as a number', over: { emergency: 1 }, hint: 'body.emergency' },
  { what: 'share_with null', over: { share_with: null }, hint: 'body.share_with' },
  { what: 'a number in share_with', over: { share_with: ['alice', 5] }, hint: 'body.share_with[1]' },
  { what: 'an operation in capitals', over: { operation: 'EXECUTE_DML' }, hint: 'body.operation' },
  { what: 'an operation of null', over: { operation: null }, hint: 'body.operation' },
  { what: 'a database in capitals', over: { database: 'App' }, hint: 'body.database' },
  { what: 'the database *', over: { database: '*' }, hint: 'body.database' },
  { what: 'a name of 64 characters', over: { environment: 'e'.repeat(64) }, hint: 'body.environment' },
  { what: '100,001 bytes of SQL', over: { detail: `select '${'x'.repeat(99_992)}'` }, hint: 'body.detail' },
  { what: '100,001 bytes in fewer characters', over: { detail: `select '${'é'.repeat(49_996)}'` }, hint: 'body.detail' },
  { what: 'a bundle of 1,048,577 bytes', over: { operation: 'migrate_up', detail: 'x'.repeat(1_048_577) }, hint: 'body.detail' },
  { what: 'a reason of 1025 bytes', over: { reason: `${'é'.repeat(512)}x` }, hint: 'body.reason' },
  { what: 'the key ""', over: { idempotency_key: '' }, hint: 'body.idempotency_key' },
  { what: 'a key of 256 bytes', over: { idempotency_key: 'é'.repeat(128) }, hint: 'body.idempotency_key' },
  { what: 'more than 64 KiB of metadata', over: { metadata: { text: 'x'.repeat(65_526) } }, hint: 'body.metadata' },
  { what: 'the selector role:', over: { share_with: ['role:'] }, hint: 'body.share_with[0]' },
  { what: 'a selector of another kind', over: { share_with: ['bob', 'team:x'] }, hint: 'body.share_with[1]' },
  { what: 'a user id with a blank', over: { share_with: ['a b'] }, hint: 'body.share_with[0]' },
  { what: '101 entries to share with', over: { share_with: Array(101).fill('alice') }, hint: 'body.share_with' },
  { what: 'allow_ddl without emergency (RQ-14)', over: { allow_ddl: true }, hint: 'body.allow_ddl' },
  { what: 'migrate_repair without emergency (RQ-14)', over: { operation: 'migrate_repair', detail: '{}' } },
  { what: 'emergency without reason (RQ-15)', over: { emergency: true }, text: 'reason is required' },
  { what: 'emergency with a blank reason (RQ-15)', over: { emergency: true, reason: '  \n' }, text: 'reason is required' },
  {
    what: 'emergency with a reason in which nothing can be seen (RQ-15)',
    over: { emergency: true, reason: '\u0085\u200b \u3164' },
    text: 'reason is required',
  },
  { what: 'an unknown environment (RQ-19)', over: { environment: 'moon' }, text: 'not registered' },
  { what: 'an unknown database (RQ-19)', over: { database: 'moon' }, text: 'not registered', hint: null },
  { what: 'SQL of white space (RQ-20)', over: { detail: ' \n' } },
  { what: 'SQL of a comment only (RQ-20)', over: { detail: '-- nothing' } },
  { what: 'a GRANT (RQ-20)', over: { detail: 'grant select on t to bob' } },
  { what: 'a BEGIN (RQ-20)', over: { detail: 'begin' } },
  { what: 'SQL that does not parse (RQ-20)', over: { detail: 'selec 1' } },
  { what: 'a GRANT in an emergency (RQ-20)', over: { detail: 'grant select on t to bob', allow_ddl: true, ...emergency } },
  { what: 'SQL that does not parse in an emergency (RQ-20)', over: { detail: 'selec 1', allow_ddl: true, ...emergency } },
  { what: 'a pair without workflow (RQ-23)', over: { environment: 'lab' }, text: 'no workflow matches' },
  { what: 'a missing reason where the workflow wants one (RQ-24)', over: { environment: 'qa' }, text: 'reason is required' },
  {
    what: 'a blank reason where the workflow wants one (RQ-24)',
    over: { environment: 'qa', reason: ' ' },
    text: 'reason is required',
  },
];

describe('creations that are refused (sections 2 and 10)', () => {
  it.each(badRows)('$what is 400 and stores nothing', async ({ over, hint, text }) => {
    const before = await storedRequests();
    const answer = await calls.create(dora, over);
    expect([answer.status, answer.body.code]).toEqual([400, 'validation.failed']);
    if (hint !== undefined) expect(answer.body.hint).toBe(hint);
    if (text !== undefined) expect(answer.body.error).toContain(text);
    for (const other of ['reason is required', 'not registered'])
      if (other !== text) expect(answer.body.error).not.toContain(other);
    expect(await storedRequests()).toBe(before);
  });

  it('names up to five environments of the database that the caller may view (RQ-19)', async () => {
    const answer = await calls.create(alice, { environment: 'moon' });
    expect(answer.body.hint).toContain('staging, production, qa, lab, dev');
    const limited = await api.createUser('ledger-ann', { roles: ['ledger-user'] });
    const blind = await calls.create(limited, { database: 'ledger', environment: 'moon' });
    expect([blind.status, blind.body.hint]).toEqual([400, 'environments of ledger: staging, production']);
  });

  it('answers 403 before it tells whether a pair exists to a caller with roles elsewhere (RQ-17, HT-I4)', async () => {
    const limited = await api.createUser('ledger-bea', { roles: ['ledger-user'] });
    const known = await calls.create(limited, { database: 'shop' });
    const unknown = await calls.create(limited, { database: 'moon' });
    expect([known.status, known.body]).toEqual([403, { error: 'forbidden', code: 'auth.forbidden', hint: expect.any(String) }]);
    // What the caller named is all that differs.
    expect([unknown.status, unknown.text.replace('moon/', 'shop/')]).toEqual([known.status, known.text]);
  });

  it('checks the text of the call before permissions on the pair, and those before stored facts; who may create nothing anywhere is 403 before all (RQ-12 to RQ-17)', async () => {
    const limited = await api.createUser('ledger-bill', { roles: ['ledger-user'] });
    expect((await calls.create(limited, { database: 5 })).status).toBe(400);
    expect((await calls.create(limited, { allow_ddl: true })).status).toBe(400);
    expect((await calls.create(limited, {})).status).toBe(403);
    const nobody = await api.createUser('nobody', { roles: ['nothing-much'] });
    expect((await calls.create(nobody, { database: 5 })).status).toBe(403);
  });

  it('takes every size at its limit (RQ-12)', async () => {
    const detail = `select '${'é'.repeat(49_995)}x'`;
    expect(Buffer.byteLength(detail)).toBe(100_000);
    const over = {
      detail,
      reason: 'é'.repeat(512),
      idempotency_key: `${'é'.repeat(127)}x`,
      metadata: { text: 'x'.repeat(65_525) },
      share_with: Array.from({ length: 100 }, (_, index) => `user-${index}`),
    };
    const id = await calls.created(alice, over);
    const shown = (await calls.show(alice, id)).body;
    expect(shown).toMatchObject(over);
  });
});

describe('permissions of a creation (RQ-21)', () => {
  const rows = [
    { what: 'a read', over: {}, needs: ['request.query'] },
    { what: 'a write', over: { detail: 'delete from t where id = 1' }, needs: ['request.dml'] },
    { what: 'a read and a write', over: { detail: 'select 1; delete from t where id = 1' }, needs: ['request.dml'] },
    {
      what: 'a write and DDL',
      over: { detail: 'delete from t where id = 1; create table t (id int)' },
      needs: ['request.dml', 'request.ddl'],
    },
    { what: 'DDL', over: { detail: 'create table t (id int)' }, needs: ['request.ddl'] },
    { what: 'an emergency read', over: emergency, needs: ['request.break_glass_query'] },
    {
      what: 'an emergency write',
      over: { detail: 'delete from t where id = 1', ...emergency },
      needs: ['request.break_glass_dml'],
    },
    {
      what: 'emergency DDL',
      over: { detail: 'create table t (id int)', ...emergency },
      needs: ['request.break_glass_dml', 'request.ddl'],
    },
    {
      what: 'an emergency with allow_ddl',
      over: { detail: 'create table t (id int)', allow_ddl: true, ...emergency },
      needs: ['request.break_glass_dml', 'request.ddl', 'request.break_glass_ddl'],
    },
  ];
  const all = [...new Set(rows.flatMap(({ needs }) => needs))];
  const roleToml = (name: string, permissions: string[]) =>
    `[[auth.roles]]\nname = "${name}"\npermissions = ${JSON.stringify(permissions)}\n`;
  let own: TestApi;
  const tokens = new Map<string, string>();

  beforeAll(async () => {
    const roles = [
      roleToml('has-all', all),
      ...all.map((permission, index) =>
        roleToml(
          `lacks-${index}`,
          all.filter((other) => other !== permission),
        ),
      ),
    ];
    own = await startTestApi({ toml: `${callsToml}${roles.join('')}` });
    for (const name of ['has-all', ...all.map((_, index) => `lacks-${index}`)])
      tokens.set(name, await own.createUser(name, { roles: [name] }));
  });
  afterAll(() => own?.close());

  it.each(rows)('$what needs exactly $needs', async ({ over, needs }) => {
    const ownCalls = gatewayCalls(own);
    expect((await ownCalls.create(tokens.get('has-all')!, over)).status).toBe(201);
    for (const [index, permission] of all.entries()) {
      const answer = await ownCalls.create(tokens.get(`lacks-${index}`)!, over);
      expect([permission, answer.status]).toEqual([permission, needs.includes(permission) ? 403 : 201]);
    }
  });
});

describe('what a creation answers (section 2, RQ-26)', () => {
  it('waits for the approvers of the first step', async () => {
    await api.createUsers({ bob: { groups: ['dba-team'] }, carla: { groups: ['leads'] }, erin: { roles: ['approver'] } });
    const answer = await calls.create(alice, { environment: 'qa', reason: 'check' });
    expect(answer.status).toBe(201);
    expect(Object.keys(answer.body).sort()).toEqual(['approvers', 'expires_at', 'id', 'idempotent', 'operation', 'status']);
    expect(answer.body).toMatchObject({
      status: 'pending',
      operation: 'execute_select',
      approvers: ['group:dba-team', 'group:leads'],
      idempotent: false,
    });
    expect(answer.body.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(answer.body.expires_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const shown = (await calls.show(alice, answer.body.id)).body;
    expect(shown.expires_at).toBe(answer.body.expires_at);
    expect(Date.parse(shown.expires_at) - Date.parse(shown.created_at)).toBe(86_400_000);
  });

  it('dispatches at once what is approved by rule (ST-2)', async () => {
    const answer = await calls.create(alice, { environment: 'staging', detail: 'delete from t where id = 1' });
    expect(answer.body).toMatchObject({ status: 'dispatched', operation: 'execute_dml', approvers: [], expires_at: null });
    expect(await calls.eventTypes(answer.body.id)).toEqual(['request.auto_approved', 'request.dispatched']);
  });

  it('dispatches an emergency at once, also where no workflow is (ST-3, BG-1)', async () => {
    for (const environment of ['production', 'lab']) {
      const answer = await calls.create(dora, { environment, ...emergency });
      expect(answer.body).toMatchObject({ status: 'dispatched', approvers: [] });
      const shown = (await calls.show(dora, answer.body.id)).body;
      expect(shown.approval_progress === null).toBe(environment === 'lab');
      expect(shown.decision_trace.decision).toMatchObject({ reasons: ['break_glass'] });
      expect(await calls.eventTypes(answer.body.id)).toEqual(['request.break_glass', 'request.dispatched']);
    }
  });

  it.each(['execute_query', 'execute', 'query', '', undefined, 'execute_select', 'execute_dml'])(
    'decides the operation by the SQL when %j is asked for',
    async (operation) => {
      const read = await calls.create(alice, { operation });
      const write = await calls.create(alice, { operation, detail: 'update t set a = 1 where id = 2' });
      expect([read.body.operation, write.body.operation]).toEqual(['execute_select', 'execute_dml']);
    },
  );

  it('ignores unknown fields and takes null where a field may be null (D20, HT-48)', async () => {
    const id = await calls.created(alice, { reason: null, idempotency_key: null, metadata: null, colour: 'red' });
    expect((await calls.show(alice, id)).body).toMatchObject({
      reason: null,
      metadata: {},
      share_with: [],
      idempotency_key: null,
    });
  });

  it('counts a reason of white space as none', async () => {
    const id = await calls.created(alice, { reason: ' \t ' });
    expect((await calls.show(alice, id)).body.reason).toBeNull();
  });

  it('keeps SQL byte for byte (RQ-28)', async () => {
    const detail = "\r\n  select\t1 ,\u00a0 'é\u2028𝄞' ;;  -- end\r\n";
    const id = await calls.created(alice, { detail, environment: 'staging' });
    expect((await calls.show(alice, id)).body.detail).toBe(detail);
    await calls.poll(['shop/staging']);
    expect((await calls.claim(id)).body.detail).toBe(detail);
  });

  it('keeps metadata exactly: digits, order and repeated keys are as they were sent', async () => {
    const metadata = '{ "z": 9007199254740993, "a": [1.10, 1e400, -0], "metadata": null, "a": "\\u00e9" }';
    const raw = `{"metadata":{"first":1},"database":"shop","environment":"production","detail":"select 1","metadata":${metadata}}`;
    const answer = await api.call('POST', '/api/requests', {
      token: alice,
      raw,
      headers: { 'content-type': 'application/json' },
    });
    expect(answer.status).toBe(201);
    expect((await calls.show(alice, answer.body.id)).text).toContain(`"metadata":${metadata},"idempotency_key":null`);
  });

  it.each([[[1, null, 'x']], ['text'], [5], [false], [{ a: { b: [] } }]])('keeps %j as metadata', async (metadata) => {
    const id = await calls.created(alice, { metadata });
    expect((await calls.show(alice, id)).body.metadata).toEqual(metadata);
  });
});

describe('a creation that fails half-way', () => {
  it('writes nothing (RQ-27)', async () => {
    const before = await storedRequests();
    const news = async () => (await calls.sql<{ count: number }>('select count(*) as count from outbox'))[0]!.count;
    const waiting = await news();
    await calls.sql(`alter table outbox add constraint no_news check (signal <> 'change') not valid`);
    const refused = await calls.create(alice, {});
    await calls.sql('alter table outbox drop constraint if exists no_news');
    expect(refused.status).toBeGreaterThanOrEqual(500);
    expect([await storedRequests(), await news()]).toEqual([before, waiting]);
    const events = await calls.sql(
      'select 1 from audit_events where request_id is not null and request_id not in (select id from requests)',
    );
    expect(events).toEqual([]);
  });
});
