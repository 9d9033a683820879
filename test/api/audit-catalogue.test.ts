import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AuditType, auditCategory } from '../../domain/audit/catalogue.js';
import { sleep } from '../../lib/sleep.js';
import { runKeys } from '../../runtime/commands/keys.js';
import { revokeSigningKey, rotateKeys } from '../../runtime/key-rotation.js';
import { createLicenseKeeper } from '../../worker/license-keeper.js';
import { purgeAuditEvents } from '../../worker/purge-audit-events.js';
import type { TestApi } from '../support/api.js';
import { sealAll } from '../support/audit-api.js';
import { deviation, readCatalogue, type StoredEvent } from '../support/audit-catalogue.js';
import { makeFormer } from '../support/former-database.js';
import { licenseFor } from '../support/license.js';
import { goodClaims, makeKey, oidcToml, startFakeProvider } from '../support/oidc.js';
import { table } from '../support/snapshots.js';
import { groupToml, needsDbaToml, workflowToml } from '../support/toml.js';
import { type Agent, type AgentCalls, agentToml, pollBody, scope, startAgentApi } from './agent-calls.js';
import { onboardingPosts } from './onboarding-posts.js';
import { reach } from './reach-status.js';
import { slackToml } from './slack-calls.js';

const toml = [
  agentToml.replace('"brief"]', '"brief", "two"]'),
  groupToml('leads', ['approver']),
  needsDbaToml('production'),
  workflowToml({ environment: 'two', steps: [[{ group: 'dba-team' }, { group: 'leads' }]] }),
  slackToml('http://127.0.0.1:9/api/'),
  '[slack.onboarding]\nenabled = true\n',
  '[[webhooks]]\nid = "feed"\nurl = "https://9.9.9.9/"\n',
].join('');
const secretKey = new Uint8Array(32).fill(0x5e);

type Written = AuditType | 'audit.signed_checkpoint';

let api: TestApi;
let calls: AgentCalls;
let who: { owner: string; approver: string; dba: string };
let agent: Agent;
/** By type, including what a purge has removed since. */
const seen = new Map<string, StoredEvent[]>();

async function note(): Promise<void> {
  const rows = await calls.sql<StoredEvent>('select * from audit_events order by position');
  for (const row of rows) seen.set(row.event_type, [...(seen.get(row.event_type) ?? []), row]);
}

const admin = (method: string, path: string, body?: unknown) => api.call(method, path, { token: api.tokens.admin, body });
const user = (id: string, act: string) => admin('POST', `/api/users/${id}/${act}`);
const patch = (id: string, body: object) => admin('PATCH', `/api/users/${id}`, body);
const made = (id: string) => api.createUser(id, { roles: ['requester'], groups: ['leads'] });
const reached = async (status: string): Promise<string> => (await reach[status]?.(calls, who)) ?? '';
const snapshot = (over: object) =>
  agent.post('schema-sync', {
    database: 'shop',
    environment: 'staging',
    dialect: 'postgresql',
    status: 'ready',
    snapshot: { tables: [table('users')] },
    error_message: null,
    ...over,
  });
const keyWork = () => ({ database: api.services.database, purpose: 'execution_token' as const, secretKey });
const emergency = (detail: string) =>
  calls.create(who.dba, { environment: 'staging', detail, emergency: true, allow_ddl: true, reason: 'pager' });

/** A write that was lost and runs again. */
async function again() {
  const id = await calls.dispatched('delete from t where id = 1');
  const older = await agent.run(id);
  await calls.fireClock(id, 'lease');
  await calls.resume(id);
  return { id, older, own: await agent.run(id) };
}

async function integrityFailed() {
  const id = await reached('approved');
  await calls.sql(`update requests set detail = 'select 2' where id = $1`, [id]);
  await calls.act(who.owner, id, 'resume');
}

async function cancelledRun() {
  const id = await calls.dispatched();
  const execution = await agent.run(id);
  await calls.cancel(id);
  await agent.submit(execution, { success: false, outcome: 'rolled_back', error_message: '57014: canceled', duration_ms: 4 });
}

async function rejectedReload() {
  const file = join(api.stateDir, 'server.toml');
  const text = await readFile(file, 'utf8');
  await writeFile(file, `${text}\nno_such_key = 1\n`);
  api.reload();
  const written = () => calls.sql(`select 1 from audit_events where event_type = 'config.rejected'`);
  while ((await written()).length === 0) await sleep(20);
  await writeFile(file, text);
}

async function scopedAtStart() {
  const other = await api.another({ toml: toml.replace('[agents]\n', '[agents]\ndefault_scopes = ["shop/*"]\n') });
  await other.close();
}

async function former() {
  await makeFormer(api.services.database, secretKey);
  const other = await api.another({ toml });
  await other.close();
}

/** Another server of the same database trusts an identity provider. */
async function loggedInByProvider() {
  const provider = await startFakeProvider();
  const key = await makeKey('ES256', 'k1');
  provider.keys(key.jwk);
  const other = await api.another({ toml: `${toml}${oidcToml(provider.issuer)}` });
  await other.call('GET', '/api/me', { token: await key.sign(goodClaims(provider.issuer)) });
  await other.close();
  await provider.close();
}

/** A worker's first look at a licence, which ends in ten days. */
async function withLicense() {
  const { database, log, generation, config } = api.services;
  const { server } = config();
  const license = licenseFor(Date.now() + 10 * 86_400_000);
  await createLicenseKeeper({ database, log, config: () => ({ license, server }), shared: () => generation().shared }).once();
}

async function changedSecret() {
  const [config, key, next] = ['rotation.toml', 'rotation.key', 'new.key'].map((name) => join(api.stateDir, name)) as [
    string,
    string,
    string,
  ];
  await writeFile(key, '5e'.repeat(32), { mode: 0o600 });
  await writeFile(next, 'a1'.repeat(32), { mode: 0o600 });
  await writeFile(
    config,
    `state_dir = "."\n[database]\nurl = "${api.database.url}"\n[security]\nsecret_key_file = "rotation.key"`,
  );
  const command = { verb: 'rotate-secret', file: next } as const;
  expect(await runKeys({ config, purpose: 'execution_token', command }, { out: () => {}, err: () => {} })).toBe(0);
}

async function onboarded() {
  await patch('admin', { slack_user_id: 'UADMIN' });
  const { join, review, expire } = onboardingPosts(api);
  await review(await join('UMIRA'), 'UADMIN', { decision: 'approve', comment: '' });
  await review(await join('UNORA'), 'UADMIN', { decision: 'reject', comment: 'who are you?' });
  await expire(await join('UOLGA'));
}

async function redelivered() {
  const { body } = await admin('POST', '/api/webhooks/feed/test');
  await calls.sql(`update webhook_deliveries set status = 'dead', next_retry_at = null, finished_at = clock_timestamp()`);
  await admin('POST', `/api/webhook-deliveries/${body.delivery_id}/redeliver`);
  const ofRequest = await calls.sql<{ id: string }>('select id from webhook_deliveries where request_id is not null limit 1');
  await admin('POST', `/api/webhook-deliveries/wd-${ofRequest[0]?.id}/redeliver`);
}

const purged = () => api.services.database.transaction((tx) => purgeAuditEvents(tx, api.services.auditKeys, 0));

/** What causes each event, as callers, agents, workers and operators do; in this order. */
const causes: Record<Written, (() => Promise<unknown>) | null> = {
  // By the start of the server, and the creation of the users and agents of this test.
  'config.synced': null,
  'signing_key.created': null,
  'signing_key.activated': null,
  'token.created': null,
  'user.created': null,
  'group.member_added': null,
  'agent.registered': null,
  'auth.failure': () => api.call('GET', '/api/me', { token: `svc_${'0'.repeat(32)}` }),
  'token.scoped': scopedAtStart,
  'token.reissued_initial': () => made('otto').then(() => user('otto', 'reissue-initial-token')),
  'token.revoked': null,
  'token.delivery': null,
  'user.updated': () => patch('otto', { add_roles: ['dba'] }),
  'group.member_removed': () => patch('otto', { rm_groups: ['leads'] }),
  'user.suspended': () => user('otto', 'suspend'),
  'user.activated': () => user('otto', 'activate'),
  'user.deleted': () => admin('DELETE', '/api/users/otto'),
  'onboarding.requested': onboarded,
  'onboarding.approved': null,
  'onboarding.rejected': null,
  'onboarding.expired': null,
  'request.created': () => reached('executed'),
  'request.approved': null,
  'request.dispatched': null,
  'execution.started': null,
  'execution.completed': null,
  'execution.failed': () => reached('failed'),
  'request.rejected': () => reached('rejected'),
  'request.cancelled': () => reached('cancelled'),
  'request.expired': () => reached('expired'),
  'execution.lost': () => reached('execution_lost'),
  'request.auto_approved': () => calls.dispatched(),
  'request.break_glass': () => emergency('select 1'),
  'ddl.break_glass_bypass': () => emergency('drop table t'),
  'step.approved': async () =>
    calls.act(who.approver, await calls.created(who.owner, { environment: 'two' }), 'approve', { comment: 'fine' }),
  'request.dispatch_timeout': async () => calls.fireClock(await calls.dispatched(), 'dispatch'),
  'request.integrity_failed': integrityFailed,
  'request.blocked_by_review': () => calls.create(who.owner, { environment: 'staging', detail: 'delete from t' }),
  'preflight.attempted': () =>
    api.call('POST', '/api/preflight', {
      token: who.owner,
      body: { database: 'shop', environment: 'staging', sql: 'select 1' },
    }),
  'execution.cancelled': cancelledRun,
  'execution.late_result': async () => agent.submit((await again()).older, { success: true, outcome: 'committed', fence: 1 }),
  'execution.marker_mismatch': async () =>
    agent.submit((await again()).own, {
      success: true,
      outcome: 'already_applied',
      applied_fence: 1,
      applied_execution_id: randomUUID(),
      rows_affected: 1,
    }),
  'schema.snapshot_updated': () => snapshot({}),
  'schema.snapshot_failed': () => snapshot({ status: 'failed', snapshot: null, error_message: 'gone', dialect: 'mysql' }),
  'config.rejected': rejectedReload,
  'signing_key.retired': () =>
    rotateKeys(keyWork(), { overlapSecs: 0, now: true }).then(() => rotateKeys(keyWork(), { overlapSecs: 0, now: true })),
  'signing_key.revoked': async () => revokeSigningKey(keyWork(), await rotateKeys(keyWork(), { overlapSecs: 0, now: true })),
  'webhook.redelivered': redelivered,
  'audit.exported': () => admin('GET', '/api/audit/export'),
  'audit.signed_checkpoint': () => sealAll(api),
  'audit.purge_checkpoint': () => note().then(purged),
  'auth.login_success': loggedInByProvider,
  'plan.changed': withLicense,
  'secret_key.adopted': former,
  'secret_key.changed': changedSecret,
};

/** Rows of the catalogue that no code of this version can cause. Whoever builds the cause moves the type into `causes`. */
const notBuilt: Record<string, string> = {};

beforeAll(async () => {
  ({ api, calls } = await startAgentApi({ toml, times: { cancelWaitMs: 20 } }));
  who = {
    owner: await made('owner'),
    approver: await api.createUser('approver', { roles: ['requester'], groups: ['dba-team'] }),
    dba: await api.createUser('dora', { roles: ['dba'] }),
  };
  const today = { scopes: [scope('shop', 'staging'), scope('shop', 'production')], features: ['fence', 'marker_executions'] };
  agent = await calls.known(pollBody({ limit: 0 }, today));
  await calls.poll(['shop/production', 'shop/staging']);
  for (const cause of Object.values(causes)) await cause?.();
  await note();
}, 120_000);
afterAll(() => api?.close());

describe('the catalogue of events (section 3 of the audit rules)', () => {
  const catalogue = readCatalogue();

  it('names every type that the code can write, in the category that the code gives it, and no other but those not built', () => {
    expect([...catalogue.keys()].sort()).toEqual([...Object.keys(causes), ...Object.keys(notBuilt)].sort());
    for (const [type, category] of Object.entries(auditCategory)) expect(catalogue.get(type)?.category, type).toBe(category);
    expect(Object.keys(notBuilt).filter((type) => type in auditCategory)).toEqual([]);
  });

  it.each(Object.keys(causes))(
    '%s is written as its row says: category, outcome, resource, keys in order (AU-21, AU-22)',
    (type) => {
      const events = seen.get(type) ?? [];
      expect(events.length, 'nothing caused it').toBeGreaterThan(0);
      const row = catalogue.get(type)!;
      expect(events.map((event) => deviation(row, event)).filter((each) => each !== null)).toEqual([]);
    },
  );
});
