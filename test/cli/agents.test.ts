import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { login, runSvc } from './run-svc.js';

let api: FakeApi;
beforeEach(async () => {
  api = await startFakeApi();
});
afterEach(() => api.close());
const svc = (...argv: string[]) => runSvc(argv, { environment: login(api.url) });

const agent = {
  id: 'eu-1',
  status: 'healthy',
  last_poll_ago_secs: 1,
  last_seen_at: '2031-05-06T07:03:09.123Z',
  in_flight: 1,
  max_concurrent: 3,
  uptime_secs: 912,
  version: '1.0.0',
  key_id: null,
  duplicate_instances: false,
  active_jobs: [],
  capabilities: {
    scopes: ['staging', 'production'].map((environment) => ({ database: 'shop', environment, marker: true })),
    operations: [],
    features: [],
  },
};

describe('svc agents', () => {
  it('lists agents with status, load and databases', async () => {
    const never = { ...agent, id: 'eu-2', status: 'offline', last_seen_at: null, version: null, capabilities: { scopes: [] } };
    const doubled = { ...agent, id: 'us-1\u001b[2J', status: 'saturated', duplicate_instances: true, last_poll_ago_secs: 12 };
    const unscoped = { ...agent, id: 'us-2', unscoped: true };
    api.on('GET /api/agents', { body: { agents: [agent, doubled, unscoped, never] } });
    const { stdout } = await svc('agents');
    expect(stdout.split('\n')).toEqual([
      'AGENT          STATUS                    LAST POLL                 JOBS  VERSION  DATABASES',
      expect.stringMatching(/^-+ {2}-/),
      'eu-1           healthy                   2031-05-06T07:03:09.123Z  1/3   1.0.0    shop/staging, shop/production',
      'us-1\\u001b[2J  saturated, two instances  2031-05-06T07:03:09.123Z  1/3   1.0.0    shop/staging, shop/production',
      'us-2           healthy, unscoped token   2031-05-06T07:03:09.123Z  1/3   1.0.0    shop/staging, shop/production',
      'eu-2           offline                   never',
      '',
    ]);
    const onScreen = await runSvc(['agents'], { environment: login(api.url), terminal: true });
    expect(onScreen.stdout).toMatch(/us-1.* 12 s ago +1\/3/);
  });

  it('says now of a poll less than ten seconds ago (CL-36)', async () => {
    api.on('GET /api/agents', { body: { agents: [agent] } });
    const { stdout } = await runSvc(['agents'], { environment: login(api.url), terminal: true });
    expect(stdout).toMatch(/^eu-1 +healthy +now +1\/3/m);
  });

  it('says so when there are none, and passes the answer on as JSON', async () => {
    api.on('GET /api/agents', { body: { agents: [] } });
    expect(await svc('agents')).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('no agents') });
    const json = JSON.parse((await svc('agents', '--format', 'json')).stdout);
    expect(json).toMatchObject({ ok: true, data: { agents: [] } });
  });
});
