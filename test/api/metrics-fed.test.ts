import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { countMoves } from '../../worker/moved.js';
import { createSweeper } from '../../worker/sweeper.js';
import { startTestApi, type TestApi } from '../support/api.js';
import { sealAll } from '../support/audit-api.js';
import { roleToml } from '../support/toml.js';
import { callsToml } from './calls-toml.js';
import { type GatewayCalls, gatewayCalls } from './gateway-calls.js';
import { mcpCalls } from './mcp-calls.js';
import { untilWaiting } from './until-waiting.js';

const toml = [
  'trusted_proxies = ["127.0.0.1"]\n',
  callsToml,
  roleToml('rescue', [
    'request.query',
    'request.dml',
    'request.ddl',
    'request.break_glass_query',
    'request.break_glass_dml',
    'request.break_glass_ddl',
    'request.view',
    'request.preflight',
  ]),
  '[rate_limits]\nauth_failures_per_address = 1\n',
].join('\n');

let api: TestApi;
let calls: GatewayCalls;
let owner: string;
let approver: string;
beforeAll(async () => {
  api = await startTestApi({ toml });
  calls = gatewayCalls(api);
  owner = await api.createUser('owner', { roles: ['requester'] });
  approver = await api.createUser('approver', { groups: ['dba-team'] });
});
afterAll(() => api?.close());

/** The series of a scrape, by name and labels. */
async function scraped(): Promise<Map<string, string>> {
  const { text } = await api.call('GET', '/metrics', { token: api.tokens.admin });
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), line.slice(line.lastIndexOf(' ') + 1)]));
}

const nameOf = (series: string) => series.replace(/\{.*$/, '').replace(/_(bucket|sum|count)$/, '');

/** The names of which a series is new or has another value. */
function changedNames(before: Map<string, string>, after: Map<string, string>): Set<string> {
  return new Set([...after].filter(([series, value]) => before.get(series) !== value).map(([series]) => nameOf(series)));
}

/** Fixed by the version or the plan, or fed by the worker alone, where its own tests look (reconciler). */
const elsewhere = ['svc_build_info', 'svc_plan_limit', 'svc_license_expires_timestamp_seconds', 'svc_workflow_repairs_total'];

const emergency = { emergency: true, reason: 'on fire' };
const drop = { ...emergency, operation: 'execute_dml', detail: 'drop table parts', allow_ddl: true };

async function requestsAndRuns(): Promise<void> {
  await calls.poll(['shop/staging', 'shop/production']);
  const id = await calls.created(owner);
  await calls.act(approver, id, 'approve');
  await calls.act(approver, await calls.created(owner), 'reject');
  await calls.run(owner, {}, { success: true, result_data: '{"rows":[]}', duration_ms: 5 });
  const { id: lost } = await calls.claimed(await calls.created(owner, { environment: 'staging' }));
  await calls.sql(`update executions set lease_expires_at = clock_timestamp() - interval '1 ms' where request_id = $1`, [lost]);
  const sweeper = createSweeper({ database: api.services.database, onMoved: countMoves(api.services.metrics) });
  while ((await calls.show(owner, lost)).body.status !== 'execution_lost') await sweeper.once();
}

async function emergencies(): Promise<void> {
  const rescuer = await api.createUser('rescuer', { roles: ['rescue'] });
  expect((await calls.create(rescuer, { ...emergency, environment: 'lab' })).status).toBe(201);
  expect((await calls.create(rescuer, { ...drop, environment: 'lab' })).status).toBe(201);
  expect((await calls.create(rescuer, { ...drop, environment: 'lab', detail: 'delete from parts' })).status).toBe(400);
  await calls.sql(`alter table audit_events add constraint broken check (event_type = 'none') not valid`);
  expect((await calls.create(rescuer, { ...drop, environment: 'lab' })).status).toBe(503);
  const body = { database: 'shop', environment: 'staging', sql: 'select 1', include_explain: false };
  expect((await api.call('POST', '/api/preflight', { token: rescuer, body })).status).toBe(200);
  await calls.sql('alter table audit_events drop constraint broken');
}

async function refusals(): Promise<void> {
  const headers = { 'x-forwarded-for': '203.0.113.9' };
  for (let n = 0; n < 3; n += 1) await api.call('GET', '/api/me', { token: `svc_${'0'.repeat(32)}`, headers });
}

async function operations(): Promise<void> {
  await calls.sql(
    `insert into audit_events (id, event_type, event_category, event_version, outcome, actor_id, actor_type, metadata_json, created_at)
     select gen_random_uuid(), 'token.created', 'token', 1, 'success', 'mira', 'user', '{}', '2031-04-05T06:07:08.123456Z' from generate_series(1, 100)`,
  );
  await sealAll(api, true);
  const id = await calls.created(owner);
  await api.call('GET', `/api/requests/${id}/workflow`, { token: api.tokens.admin });
  const capabilities = { scopes: [{ database: 'shop', environment: 'staging' }] };
  const body = { limit: 0, status: { in_flight: 1, max_concurrent: 1 }, capabilities };
  const polled = await api.call('POST', '/api/agent/poll', { token: api.tokens.agent, body });
  expect(polled.status, polled.text).toBe(200);
}

/** An error, a stream that is cancelled and a question that is declined. */
async function mcpMessages(): Promise<void> {
  const mcp = mcpCalls(api, owner);
  const session = await mcp.open({ capabilities: { elicitation: {} } });
  await mcp.request('nothing', {}, session);
  const ask = (id: number, environment: string) => ({
    id,
    method: 'tools/call',
    params: { name: 'svc_execute_query', arguments: { sql: 'select 1', environment } },
  });
  const running = await mcp.stream(ask(1, 'staging'), session);
  await running.next();
  await mcp.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }, session);
  await running.rest();
  const asked = await mcp.stream(ask(2, 'qa'), session);
  await asked.next();
  await asked.next();
  streamsSeen = await scraped();
  await mcp.post({ jsonrpc: '2.0', id: 'elicit-0', result: { action: 'decline' } }, session);
  await asked.rest();
}

let streamsSeen = new Map<string, string>();

/** A reload that puts a generation in force, and one that fails for a reason nobody foresaw. */
async function reloads(): Promise<void> {
  const file = join(api.stateDir, 'server.toml');
  const text = await readFile(file, 'utf8');
  await writeFile(file, `${text}\n[[databases]]\nname = "fresh"\nenvironments = ["staging"]\n`);
  api.reload();
  await expect.poll(() => api.services.generation().number, { timeout: 15_000 }).toBe(2);
  await calls.sql('alter table config_generations rename column digest to hidden');
  api.reload();
  const failed = async () => (await scraped()).get('svc_config_reloads_total{outcome="rejected"}');
  await expect.poll(failed, { timeout: 30_000, interval: 200 }).toBe('1');
  await calls.sql('alter table config_generations rename column hidden to digest');
}

it('OP-I3: every series of /metrics changes in a run that exercises its event', async () => {
  const before = await scraped();
  await requestsAndRuns();
  await emergencies();
  await refusals();
  await operations();
  await mcpMessages();
  const waiting = await calls.created(owner);
  const { answer } = await untilWaiting(api, () => calls.show(owner, waiting, '?wait=30'));
  // As many connections as at the start may be open again, but more are in use.
  const busy = Promise.all(Array.from({ length: 5 }, () => calls.sql('select pg_sleep(0.5)')));
  const during = await scraped();
  await busy;
  await calls.act(owner, waiting, 'cancel');
  await answer;
  await reloads();
  // The memory of a process that computes nothing new may stay as it is.
  const ballast = Buffer.alloc(64 * 1024 * 1024, 1);
  const after = await scraped();
  expect(ballast.at(-1)).toBe(1);
  const changed = new Set([
    ...changedNames(before, streamsSeen),
    ...changedNames(before, during),
    ...changedNames(before, after),
  ]);
  const all = new Set([...after.keys()].map(nameOf));
  expect([...all].filter((name) => !changed.has(name)).sort()).toEqual(elsewhere.toSorted());
  expect(all.size).toBeGreaterThan(30);
}, 90_000);

it('OP-I3, OP-21: no input of a caller becomes a label', async () => {
  // The first scrape does not count itself.
  await scraped();
  const known = new Set((await scraped()).keys());
  const word = fc.stringMatching(/^[a-z"\\{}%= \n]{1,12}$/);
  await fc.assert(
    fc.asyncProperty(word, word, fc.constantFrom('GET', 'POST', 'PURGE', 'LINK'), async (one, two, method) => {
      await api.call(method, `/${encodeURIComponent(one)}/${encodeURIComponent(two)}`, { token: owner });
      await api.call('GET', `/api/requests/${encodeURIComponent(two)}?status=${encodeURIComponent(one)}`, { token: owner });
      await calls.create(owner, { database: one, environment: two });
      await calls.create(owner, { operation: one, detail: two });
    }),
    { numRuns: 30 },
  );
  const grown = [...(await scraped()).keys()].filter(
    (series) => !known.has(series) && !/_(bucket|sum|count)\{|_(sum|count)$/.test(series),
  );
  // Four methods, the closed list of statuses, and templates of ours.
  expect(grown.length).toBeLessThan(20);
  for (const series of grown) expect(series).toMatch(/path="(<unmatched>|\/api\/requests(\/:id)?)"/);
}, 60_000);
