import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { affectedTables, foundText, rowsExpected } from '../../console/format/affected.js';
import { changeText } from '../../console/format/change.js';
import { auditFields, requestFields } from '../../console/format/filter-fields.js';
import { addressOf, filtersIn } from '../../console/format/filters.js';
import { hiddenIn } from '../../console/format/hidden.js';
import { exactText, whenText } from '../../console/format/instants.js';
import { actionOf, stepped } from '../../console/format/keys.js';
import { chartsOf } from '../../console/format/last-hour.js';
import { changedRows, nodeText, noPlanText, planTree } from '../../console/format/plan.js';
import { readBundle, subjectOf } from '../../console/format/request-text.js';
import { factorText, riskText, riskTone } from '../../console/format/risk.js';
import { syncText } from '../../console/format/schema.js';
import { deadlineOf, statusShown, turnOf } from '../../console/format/status.js';
import { timelineOf } from '../../console/format/timeline.js';
import { traceSentences } from '../../console/format/trace.js';

const context = {
  status: 'ready',
  explain_enabled: true,
  tables: [],
  sql_review: null,
  risk: null,
  explain: null,
  schema_snapshot_collected_at: null,
} as const;
type Context = Parameters<typeof affectedTables>[0];
const contextOf = (change: object) => ({ ...context, ...change }) as unknown as Context;

test('times are relative up to 30 days, with the exact local time and UTC beside them (CO-31)', () => {
  const now = Date.parse('2026-05-01T12:00:00Z');
  expect(whenText('2026-05-01T11:57:00Z', now)).toBe('3 min ago');
  expect(whenText('2026-05-01T14:00:00Z', now)).toBe('in 2 h');
  expect(whenText('2026-05-01T12:00:03Z', now)).toBe('now');
  expect(whenText('2026-03-01T12:00:00Z', now)).toBe('2026-03-01');
  expect(whenText('no instant', now)).toBe('no instant');
  expect(exactText('2026-05-01T11:57:00Z', 'en-GB', 'Europe/Berlin')).toMatch(
    /^1 May 2026.*13:57:00.*, 2026-05-01 11:57:00 UTC$/,
  );
});

test('a text is known to hide characters, but for tabs, line breaks and emoji (CO-3)', () => {
  expect(hiddenIn("select '\u202aabc'\n")).toBe('\\u{202a}');
  expect(hiddenIn('select\u00a01')).toBe('\\u{a0}');
  expect(hiddenIn("select\t'\\u{202a} \u{1f468}\u200d\u{1f469}\u200d\u{1f467} ä'\r\nwhere true\n")).toBe(null);
});

test('a status that the page does not know is shown by its name', () => {
  expect(statusShown('execution_lost')).toMatchObject({ word: 'execution lost', tone: 'bad' });
  expect(statusShown('half_done')).toMatchObject({ word: 'half done', tone: 'off' });
  expect(statusShown('constructor').word).toBe('constructor');
});

test('the head says whose turn it is and until when', () => {
  const request = {
    status: 'pending',
    requester: 'alice',
    queue_hint: null,
    claimed_by: null,
    cancel_requested_at: null,
    cancelled_by: null,
    cancel_reason: null,
    lost_reason: null,
    related: [],
    approval_progress: {
      current_step: 0,
      total_steps: 1,
      steps: [
        {
          index: 0,
          mode: 'all',
          satisfied: false,
          approvals: [],
          approvers_required: [
            { selector: 'group:dba-team', min: 1, current: 0 },
            { selector: 'user:erin', min: 1, current: 1 },
          ],
        },
      ],
    },
  } as unknown as Parameters<typeof turnOf>[0];
  expect(turnOf(request, 'alice')).toBe('waits for group:dba-team');
  expect(turnOf({ ...request, related: ['can_decide'] }, 'bob')).toBe('waits for your decision, as one of group:dba-team');
  expect(turnOf({ ...request, status: 'approved' }, 'alice')).toBe('waits for you to resume it');
  expect(turnOf({ ...request, status: 'dispatched', queue_hint: 'agents_saturated' }, 'bob')).toBe(
    'waits for an agent: all are busy',
  );
  const clock = { status: 'pending', expires_at: 'soon', dispatch_by: null, resumable: false } as const;
  expect(deadlineOf(clock)).toEqual({ label: 'expires', at: 'soon' });
  expect(deadlineOf({ ...clock, status: 'failed', dispatch_by: 'later' })).toBeNull();
  expect(deadlineOf({ ...clock, status: 'failed', dispatch_by: 'later', resumable: true })).toEqual({
    label: 'the time to resume it ends',
    at: 'later',
  });
});

test('a list tells a request by the first line of its SQL that is no comment, a migration by its versions', () => {
  expect(subjectOf('execute_dml', '-- why\n\n  update orders\n set a = 1')).toBe('update orders set a = 1');
  expect(subjectOf('execute_dml', '-- only this')).toBe('-- only this');
  const bundle = {
    direction: 'up',
    migrations: ['1', '2', '3'].map((version) => ({ version, sql: 'select 1', transactional: version !== '2' })),
  };
  expect(subjectOf('migrate_up', JSON.stringify(bundle))).toBe('up: 3 files to 3');
  expect(subjectOf('migrate_up', 'no json')).toBe('no json');
  expect(readBundle('migrate_up', JSON.stringify(bundle))?.migrations[1]).toEqual({
    version: '2',
    sql: 'select 1',
    transactional: false,
  });
  expect(readBundle('migrate_up', '[]')?.migrations).toEqual([]);
  expect(readBundle('migrate_up', '7')).toBeNull();
});

test('a bundle with the keys of a repair is shown by its files, and a repair with files as a repair (CO-32, MI-15)', () => {
  const files = { direction: 'up', migrations: [{ version: '2', sql: 'drop table orders', transactional: true }] };
  const both = JSON.stringify({ ...files, action: 'mark_applied', version: '1' });
  expect(readBundle('migrate_up', both)).toMatchObject({ repair: null, migrations: files.migrations });
  expect(subjectOf('migrate_up', both)).toBe('up: 2');
  expect(readBundle('migrate_repair', both)?.repair).toBe('mark applied 1');
  expect(subjectOf('migrate_repair', both)).toBe('mark applied 1');
});

test.each([
  ['create index concurrently on orders (status)', 'schema change'],
  ['-- drop it\n/* later */ alter table orders add column note text', 'schema change'],
  ['set lock_timeout = 1; drop view recent;', 'schema change'],
  ["insert into notes values ('; drop table orders'); truncate notes", 'write and schema change'],
  ["update notes set text = 'x' where id = 1; -- ; drop table notes", 'write'],
  ['delete from "a;drop" where id = 1 and created is null', 'write'],
  ['delete from `a; drop` where id = 1 # ; drop table notes', 'write'],
  ['delete from notes where id = 1 as a$$; truncate notes; select 1 as a$$', 'write and schema change'],
  ['select * into copies from orders', 'write'],
])('of what writes, a schema change is called so: %s', (detail, text) => {
  expect(changeText({ operation: 'execute_dml', detail })).toBe(text);
});

test('what the risk says of the schema holds whatever the text begins with, and what only reads is a read', () => {
  const judged = (name: string) => ({ risk: { level: 'Medium', factors: [{ name }] } });
  const asked = (operation: 'execute_dml' | 'execute_select', name: string) => ({
    operation,
    detail: 'select * into copies from orders',
    context: contextOf(judged(name)),
  });
  expect(changeText(asked('execute_dml', 'ddl'))).toBe('schema change');
  expect(changeText(asked('execute_dml', 'large_table'))).toBe('write');
  expect(changeText({ operation: 'execute_select', detail: 'show create table orders' })).toBe('read');
  expect(changeText({ operation: 'migrate_up', detail: '{}' })).toBe('migrate up');
});

const request = (change: object, max: number | null = null, detail = 'x') => ({
  context: contextOf(change),
  max_affected_rows: max,
  operation: 'execute_dml' as const,
  detail,
});

test('the rows that are expected come from the plan, else from the bound', () => {
  const plan = [
    {
      Plan: {
        'Node Type': 'ModifyTable',
        'Plan Rows': 0,
        Plans: [{ 'Node Type': 'Seq Scan', 'Relation Name': 'orders', 'Plan Rows': 4000 }],
      },
    },
  ];
  expect(rowsExpected(request({ explain: [{ sql: 'x', plan }] }))).toEqual({ text: 'about 4,000', source: 'by the plan' });
  const [x, y] = [
    { sql: 'x', plan },
    { sql: 'y', plan: null, error: 'permission denied' },
  ];
  expect(rowsExpected(request({ explain: [x, { ...x, sql: 'y' }] }, null, ' x;\ny; '))).toMatchObject({ text: 'about 8,000' });
  const more = { text: '4,000 and more', source: 'some of its statements have no plan' };
  expect(rowsExpected(request({ explain: [x, y] }, null, 'x; y'))).toEqual(more);
  expect(rowsExpected(request({ explain: [x] }, null, 'x; truncate orders'))).toEqual(more);
  expect(rowsExpected(request({}, 10))).toMatchObject({ text: 'at most 10' });
  expect(rowsExpected(request({ status: 'collecting' }))).toMatchObject({ source: 'waiting for an agent to plan it' });
  expect(rowsExpected(request({ tables: ['orders'] })).text).toBe('not known');
});

test('the size of a table is not told as a bound: what joins it with itself may insert its square', () => {
  const tables = [12034, -1].map((estimated_rows) => ({ schema_name: 'public', name: 'orders', estimated_rows }));
  expect(rowsExpected(request({ tables }))).toEqual({
    text: 'not known',
    source: 'there is no plan; the largest table that it names has about 12,034 rows',
  });
  expect(rowsExpected(request({ tables, explain: [{ sql: 'x', plan: { query_block: {} } }] })).source).toMatch(
    'the plan does not tell;',
  );
});

test('tables are told with their rows and what a DELETE takes along (RQ-43)', () => {
  const table = {
    schema_name: 'billing',
    name: 'invoices',
    estimated_rows: -1,
    triggers: ['t'],
    cascade_children: [{ schema_name: 'public', name: 'lines' }],
    cascade_children_truncated: true,
  };
  expect(affectedTables(contextOf({ tables: [table, 'orders'] }))).toEqual([
    { name: 'billing.invoices', rows: null, cascades: ['lines'], hasMoreCascades: true, hasTriggers: true },
    { name: 'orders', rows: null, cascades: [], hasMoreCascades: false, hasTriggers: false },
  ]);
  const findings = [{ level: 'Block' }, { level: 'Warn' }, { level: 'Warn' }];
  expect(foundText(contextOf({ sql_review: { blocked: true, findings } }))).toBe('1 that block, 2 warnings');
  expect(foundText(contextOf({ sql_review: { blocked: false, findings: [] } }))).toBeNull();
});

test('plans of both kinds of database become trees; one of any depth or size ends; a join has the rows of its last table', () => {
  const mysql = {
    query_block: { nested_loop: [{ table: { table_name: 'orders', access_type: 'ALL', rows_examined_per_scan: 4 } }] },
  };
  expect(planTree(mysql).map(nodeText)).toEqual(['ALL on orders, about 4 rows']);
  expect(changedRows(mysql)).toBe(4);
  const table = (name: string, numbers: object) => ({ table: { table_name: name, ...numbers } });
  const joined = (...tables: object[]) => ({ query_block: { nested_loop: tables } });
  const [customer, orders] = [{ rows_produced_per_join: 1 }, { rows_produced_per_join: 1000 }];
  expect(changedRows(joined(table('customers', customer), table('orders', orders)))).toBe(1000);
  // MariaDB counts each table by itself.
  expect(changedRows(joined(table('customers', { rows: 1 }), table('orders', { rows: 1000 })))).toBeNull();
  let deep: object = { 'Node Type': 'Limit', 'Plan Rows': 1 };
  for (let depth = 0; depth < 5000; depth++) deep = { 'Node Type': 'Limit', Plans: [deep] };
  expect(planTree(deep)).toHaveLength(1);
  expect(planTree(Array.from({ length: 5000 }, () => ({ 'Node Type': 'Result' })))).toHaveLength(1000);
  expect(planTree('none')).toEqual([]);
});

test('a text whose plan was refused may run nevertheless, unless it names what there is not', () => {
  const told = (error: string | undefined, more: object = {}) =>
    noPlanText({ status: 'error', ...(error === undefined ? {} : { error }), ...more } as never, 'select 1');
  const failed = (message: string, state: string) => `driver error: query failed: ${message} (SQLSTATE ${state})`;
  expect(told(failed('permission denied for table orders', '42501'))).toBe(
    'No plan: PostgreSQL: permission denied for table orders (SQLSTATE 42501)',
  );
  const unknown = failed('relation "nosuch" does not exist', '42P01');
  expect(told(unknown, { unknown_name: true })).toBe('PostgreSQL: relation "nosuch" does not exist (SQLSTATE 42P01)');
  expect(told(undefined, { status: 'timeout' })).toBe('No plan: no agent answered in time.');
});

test('risk is told in words in lists and on pages, which spell its levels differently', () => {
  expect(['low', 'Critical', 'unknown', 'unavailable'].map(riskText)).toEqual([
    'low risk',
    'critical risk',
    'unknown risk',
    'risk not judged',
  ]);
  expect(['low', 'High', 'unavailable'].map(riskTone)).toEqual(['good', 'bad', 'off']);
});

test('risk factors are told in words, unknown ones by their name', () => {
  expect(factorText({ name: 'large_table', rows: 50_000 })).toBe('a large table (50,000 rows)');
  expect(factorText({ name: 'moon_phase', names: ['full'] })).toBe('moon phase (full)');
});

test('letters act on lists unless something is typed into or a key is held', () => {
  const press = { key: 'j', ctrlKey: false, metaKey: false, altKey: false, isTyping: false };
  expect(actionOf(press)).toBe('next');
  expect(actionOf({ ...press, isTyping: true })).toBeNull();
  expect(actionOf({ ...press, ctrlKey: true })).toBeNull();
  expect(actionOf({ ...press, key: 'toString' })).toBeNull();
  expect([
    stepped(-1, 3, 'next'),
    stepped(-1, 3, 'previous'),
    stepped(2, 3, 'next'),
    stepped(0, 3, 'previous'),
    stepped(0, 0, 'next'),
  ]).toEqual([0, 2, 2, 0, -1]);
});

const names = { database: ['shop'], environment: [] };

test('the filters of a list stand in its address and come back from it', () => {
  const fields = requestFields(names);
  const filters = filtersIn(fields, { status: 'pending', user: ' a&b ', pending_for_me: 'true', offset: '50', other: 'x' });
  const address = addressOf('/console/requests', filters);
  expect(address).toBe('/console/requests?status=pending&user=a%26b&pending_for_me=true&offset=50');
  expect(filtersIn(fields, Object.fromEntries(new URL(address, 'http://x').searchParams))).toEqual(filters);
  expect(addressOf('/console/requests', filtersIn(fields, { offset: '-3', status: '' }))).toBe('/console/requests');
});

test.each([
  ['/api/requests', requestFields(names)],
  ['/api/audit/events', auditFields(names)],
])('the form has every filter of %s, and offers all values of each closed list', (path, fields) => {
  const { parameters } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')).paths[path].get;
  const taken = parameters.filter(({ name }: { name: string }) => name !== 'limit' && name !== 'offset');
  expect(fields.map(({ name }) => name).sort()).toEqual(taken.map(({ name }: { name: string }) => name).sort());
  for (const { name, schema } of taken) {
    const offered = fields.find((field) => field.name === name)?.choices?.map(([value]) => value);
    const closed = schema.type === 'boolean' ? ['true'] : schema.enum;
    expect([name, offered?.toSorted()]).toEqual([name, closed?.toSorted()]);
  }
});

test('the last hour is told in lines and in a sentence', () => {
  const none = { executed: 0, failed: 0, rejected: 0, cancelled: 0, expired: 0, execution_lost: 0 };
  const minute = {
    at: '2026-05-01T12:00:00Z',
    created: 2,
    outcomes: { ...none, executed: 1 },
    decisions: 1,
    decision_wait_secs: 30,
    agent_slots_used: 1,
    agent_slots: 8,
    backlog: 0,
  };
  const unseen = {
    ...minute,
    created: 0,
    outcomes: none,
    decision_wait_secs: null,
    agent_slots_used: null,
    agent_slots: null,
    backlog: null,
  };
  const [requests, waits, agents] = chartsOf([minute, unseen]);
  expect(requests?.lines.map(({ name, values }) => [name, values])).toEqual([
    ['Made', [2, 0]],
    ['Ran', [1, 0]],
  ]);
  expect(requests?.summary).toBe('In the last hour: 2 made, 1 ran.');
  expect(waits?.lines[0]?.values).toEqual([30, null]);
  expect(agents?.summary).toBe('At most 1 of 8 slots were busy, and 0 waited.');
  expect(waits?.summary).toBe('At most 30 s in a minute of the last hour.');
  const [, long] = chartsOf([{ ...minute, decision_wait_secs: 1129.633 }]);
  expect(long?.summary).toBe('At most 18 min 50 s in a minute of the last hour.');
  expect(chartsOf([])[1]?.summary).toBe('In the last hour nothing was decided.');
});

test('a failed attempt is told in the words of svc (CO-31)', () => {
  const request = { requester: 'alice', created_at: '2026-05-01T12:00:00Z', status: 'failed', decision_trace: { decision: {} } };
  const run = { agent_id: 'eu-1', fence: 1, started_at: '2026-05-01T12:00:01Z', finished_at: '2026-05-01T12:00:31Z' };
  const told = (error_message: string) =>
    timelineOf(request as never, [{ ...run, error_message, outcome: null } as never]).map(({ note }) => note);
  expect(told('driver error: query timed out after 30s')).toContain('the query ran longer than the 30 s that it may take');
  expect(told('driver error: query failed: relation "t" does not exist (SQLSTATE 42P01)')).toContain(
    'PostgreSQL: relation "t" does not exist (SQLSTATE 42P01)',
  );
  expect(told('lost: no heartbeat since 2026-05-01T12:00:01.000Z')).toContain(
    'lost: no heartbeat since 2026-05-01T12:00:01.000Z',
  );
});

test('what was known of the schema is told where it mattered: not of a migration, which has no risk', () => {
  const trace = (schema_status: string) =>
    traceSentences({
      decision: { reasons: [], outcome: 'pending', auto_approve_threshold: null },
      workflow: { matched: null },
      sql_review: { policy_id: null },
      risk: { schema_status },
    } as never).slice(2);
  expect(['ready', 'unavailable', 'stale', 'not_synced'].map(trace)).toEqual([
    [],
    [],
    ['What was known of the schema was too old.'],
    ['No agent had read the schema yet.'],
  ]);
});

test('tables of an older schema sync say so, and why (SC-2)', () => {
  const text = (status: string, error_message: string | null) =>
    syncText({ status, error_message } as Parameters<typeof syncText>[0]);
  const older = 'These are the tables that the one before found.';
  expect(text('ready', null)).toBeNull();
  expect(text('failed', 'snapshot too large')).toBe(`The last schema sync failed (snapshot too large). ${older}`);
  expect(text('partial', null)).toBe(`The last schema sync was partial. ${older}`);
});
