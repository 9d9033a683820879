import { afterEach, beforeEach, expect, it } from 'vitest';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { login, runSvc } from './run-svc.js';
import { paths, requestId } from './samples.js';

let api: FakeApi;
beforeEach(async () => {
  api = await startFakeApi();
});
afterEach(() => api.close());

const at = '2026-05-01T09:20:01.500Z';
const executionId = '0b6e4a52-0f7e-4a0e-9d2f-6f0a6f1b7c11';
const place = { database: 'shop', environment: 'production', request_id: requestId };
const event = {
  ...{ seq: 4711, created_at: at, event_type: 'request.auto_approved', outcome: 'success', actor_id: 'alice' },
  ...{ database_name: 'shop', environment: 'production', request_id: requestId, reason: 'a parcel has left the house' },
};
const result = {
  ...place,
  execution_id: executionId,
  operation: 'execute_select',
  stored_at: at,
  expires_at: at,
  content_length: 9,
};
const execution = { id: executionId, fence: 1, status: 'completed', agent_id: 'agent-1', created_at: at, duration_ms: 17 };
const delivery = {
  ...{ id: `wd-${executionId}`, status: 'delivered', webhook_id: 'ops-feed', event_type: 'request.executed' },
  ...{ request_id: requestId, attempts: 1, max_attempts: 10, created_at: at, next_retry_at: null, last_error: null },
};
const workflow = {
  ...{
    id: 'wf:shop:production:e3b0c44298fc',
    database: 'shop',
    environment: 'production',
    revision: 'r1',
    digest: '9cc6e5b293e3',
  },
  ...{ operations: ['execute_dml'], steps: [{ approvers: [{ selector: 'group:dba-team', min: 1 }] }] },
};
const token = {
  ...{ id: executionId, token_prefix: 'svc_abcdefgh', status: 'active', subject_type: 'agent', subject_id: 'agent-shop' },
  ...{ name: 'bootstrap-agent', scope_ceiling: { roles: ['requester', 'dba'] }, agent_scopes: ['shop/production'] },
  ...{ created_at: at, expires_at: at },
};
const agent = {
  ...{ id: 'agent-of-production-eu-central-1', status: 'healthy', unscoped: true, last_seen_at: at, last_poll_ago_secs: 30 },
  ...{ in_flight: 1, max_concurrent: 8, version: '1.0.0', capabilities: { scopes: [{ ...place }, { ...place }] } },
};
const webhook = {
  ...{ id: 'ops-feed-of-the-platform-team', url: 'https://hooks.example.net/services/in/8e1f', format: 'generic', secret: '***' },
  events: ['request.*', 'execution.failed', 'step.approved'],
};
const resolved = {
  ...{ operation: 'execute_dml', workflow_id: `${workflow.id}${workflow.digest}`, matched_by: '(shop, production)' },
  ...{ decision_preview: 'may_auto_approve', auto_approve: { max_risk_level: 'low', channels: [] } },
};
const pending = {
  ...{ id: requestId, status: 'pending', requester: 'alice', database: 'shop', environment: 'production', created_at: at },
  ...{ next_approvers: ['group:dba-team'], detail: "update orders set status = 'shipped' where id = 101" },
};

/** What each list is there for stays whole on the usual terminal. */
it.each([
  [['audit', 'list'], 'GET /api/audit/events', { events: [event], total: 1 }, ['request.auto_approved', requestId.slice(0, 8)]],
  [['request', 'results'], 'GET /api/results', { results: [result, result] }, [requestId.slice(0, 8), 'shop/production']],
  [['request', 'executions', requestId], paths.executions, { executions: [execution] }, ['completed', 'agent-1']],
  [['webhook', 'deliveries'], 'GET /api/webhook-deliveries', { deliveries: [delivery], total: 1 }, [delivery.id, 'delivered']],
  [
    ['request', 'list'],
    'GET /api/requests',
    { requests: [pending], total: 1 },
    ['pending', 'shop/production', 'update orders set'],
  ],
  [['token', 'list'], 'GET /api/tokens', { tokens: [token] }, [executionId, 'active', 'agent-shop']],
  [['agents'], 'GET /api/agents', { agents: [agent] }, [agent.id]],
  [['webhook', 'list'], 'GET /api/webhooks', { webhooks: [webhook] }, [webhook.id]],
  [
    ['policy', 'resolve', 'shop', 'production'],
    'GET /api/policy-resolution',
    { registered: true, resolutions: [resolved] },
    ['execute_dml', 'runs at once if its risk is low'],
  ],
  [['policy', 'list', '--kind', 'workflow'], 'GET /api/workflows', { workflows: [workflow] }, ['execute_dml', 'group:dba-team']],
])('svc %j fits into 80 columns, and leaves out what matters least (CL-14)', async (argv, route, body, kept) => {
  api.on(route, { body });
  const run = (columns: number) => runSvc(argv, { environment: login(api.url), terminal: true, columns });
  const { stdout, stderr } = await run(80);
  const lines = stdout.split('\n').map((line) => line.replaceAll(/\u001b\[\d+m/g, ''));
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
  for (const text of kept) expect(lines[2]).toContain(text);
  expect(stderr).toContain('no room for ');
  expect((await run(300)).stderr).not.toContain('no room for ');
});

it('svc request list wraps no line on a terminal of 60 columns (CL-14)', async () => {
  api.on('GET /api/requests', { body: { requests: [pending], total: 1 } });
  const { stdout } = await runSvc(['request', 'list'], { environment: login(api.url), terminal: true, columns: 60 });
  const widths = stdout.split('\n').map((line) => line.replaceAll(/\u001b\[\d+m/g, '').length);
  expect(Math.max(...widths)).toBeLessThanOrEqual(60);
});

it('svc role list wraps no line on a terminal of 60 columns, and keeps each permission whole (CL-14)', async () => {
  const names = ['request.query', 'request.dml', 'request.break_glass_query', 'request.break_glass_dml'];
  const permissions = names.map((perm) => ({ perm, ownership: 'own' }));
  api.on('GET /api/roles', {
    body: { roles: [{ name: 'dba', builtin: true, databases: ['*'], environments: ['*'], permissions }] },
  });
  const { stdout } = await runSvc(['role', 'list'], { environment: login(api.url), terminal: true, columns: 60 });
  expect(Math.max(...stdout.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(60);
  for (const name of names) expect(stdout).toContain(name);
});
