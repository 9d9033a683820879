import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, shopToml, startTestApi, type TestApi } from '../support/api.js';
import { eventually } from '../support/processes.js';
import { startTcpProxy } from '../support/tcp-proxy.js';

const limits = `trusted_proxies = ["127.0.0.1"]
${shopToml}
[rate_limits]
per_token = 4
per_agent_token = 5
per_address = 9
auth_failures_per_address = 2
[preflight]
rate_limit_per_minute = 2
`;

// The administrator's token has four calls too: the tests of this file make four users.
let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ toml: limits });
});
afterAll(() => api?.close());

const from = (address: string, token: string | null, path = '/api/me', method = 'GET') =>
  api.call(method, path, { token, headers: { 'x-forwarded-for': address } });
const repeat = async (times: number, act: () => Promise<Answer>) => {
  const answers: Answer[] = [];
  for (let n = 0; n < times; n += 1) answers.push(await act());
  return answers;
};
const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status);
const told = ({ headers }: Answer) =>
  ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after'].map((name) => headers.get(name));
const refusedBy = async (limit: string) =>
  (await api.services.metrics.rateLimited.get()).values.find(({ labels }) => labels.limit === limit)?.value ?? 0;

describe('limits of calls (HT-120, OP-31, OP-32)', () => {
  it('count an address first, before its credential is looked at (HT-3)', async () => {
    const refusedBefore = await refusedBy('address');
    const answers = await repeat(11, () => from('203.0.113.1', null));
    expect(statuses(answers)).toEqual([...Array(9).fill(401), 429, 429]);
    const refused = answers[9]!;
    expect(refused.body).toEqual({ error: 'more than 9 calls per minute from this address', code: 'rate.limited', hint: null });
    const [limit, remaining, reset, retry] = told(refused);
    expect([limit, remaining, retry]).toEqual(['9', '0', reset]);
    expect(Number(reset)).toBeGreaterThanOrEqual(1);
    expect(Number(reset)).toBeLessThanOrEqual(60);
    expect(told(answers[0]!).slice(0, 2)).toEqual(['9', '8']);
    expect(statuses([await from('203.0.113.2', null)])).toEqual([401]);
    expect((await refusedBy('address')) - refusedBefore).toBe(2);
  });

  it('count a whole IPv6 /64 as one', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => from(`2001:db8:5:6::${n + 1}`, null)));
    expect(statuses(answers).toSorted()).toEqual([...Array(9).fill(401), 429]);
  });

  it('count each token by itself, whatever it calls, and refuse before anything else happens (HT-6, HT-121)', async () => {
    const token = await api.createUser('eager', { roles: ['requester'] });
    const calls = [
      await from('203.0.113.3', token),
      await from('203.0.113.3', token, '/api/nothing'),
      await from('203.0.113.3', token, '/api/requests', 'PATCH'),
      await from('203.0.113.3', token, '/api/agent/poll', 'POST'),
    ];
    expect(statuses(calls)).toEqual([200, 404, 405, 403]);
    expect(calls.map((answer) => told(answer)[1])).toEqual(['3', '2', '1', '0']);
    const body = { database: 'shop', environment: 'staging', detail: 'select 1' };
    const refusedBefore = await refusedBy('token');
    const refused = await api.call('POST', '/api/requests', { token, body });
    expect([refused.status, refused.body.error]).toEqual([429, 'more than 4 calls per minute with this token']);
    const [stored] = await api.services.database.query<{ count: number }>(
      `select count(*) as count from requests where requester = 'eager'`,
    );
    expect(stored?.count).toBe(0);
    expect((await refusedBy('token')) - refusedBefore).toBe(1);
  });

  it('give agents a limit of their own (AG-10)', async () => {
    const answers = await repeat(6, () => from('203.0.113.4', api.tokens.agent, '/api/public-key'));
    expect(statuses(answers)).toEqual([200, 200, 200, 200, 200, 429]);
    expect(Number(answers[5]?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  });

  it('do not hold for the probes (HT-122)', async () => {
    const answers = await repeat(12, () => from('203.0.113.5', null, '/health'));
    expect(answers.every((answer) => answer.status === 200 && told(answer).every((value) => value === null))).toBe(true);
  });

  it('count a long poll once (HT-122)', async () => {
    const token = await api.createUser('patient', { roles: ['requester'] });
    const body = { database: 'shop', environment: 'production', detail: 'select 1' };
    const created = await api.call('POST', '/api/requests', { token, body, headers: { 'x-forwarded-for': '203.0.113.6' } });
    const waited = await from('203.0.113.6', token, `/api/requests/${created.body.id}?wait=1`);
    expect([waited.status, told(waited)[1]]).toEqual([200, '2']);
  });

  it('limit preflights of a user (PF-3)', async () => {
    const body = { database: 'shop', environment: 'staging', sql: 'select 1', include_explain: false };
    const token = await api.createUser('curious', { roles: ['requester'] });
    const ask = () => api.call('POST', '/api/preflight', { token, body, headers: { 'x-forwarded-for': '203.0.113.7' } });
    const answers = await repeat(3, ask);
    expect(statuses(answers)).toEqual([200, 200, 429]);
    expect(answers[2]?.body.error).toBe('more than 2 preflights per minute');
    expect(await refusedBy('preflight')).toBe(1);
  });
});

describe('refused credentials (OP-33)', () => {
  const wrong = `svc_${'0'.repeat(32)}`;

  it('are 429 beyond the limit and audited in sum, and a valid credential still works', async () => {
    const answers = await repeat(4, () => from('203.0.113.20', wrong));
    expect(statuses(answers)).toEqual([401, 401, 429, 429]);
    expect(answers[2]?.body).toEqual({ error: 'too many failed authentications', code: 'rate.limited', hint: null });
    expect(told(answers[2]!).slice(0, 2)).toEqual(['2', '0']);
    const token = await api.createUser('right', { roles: ['requester'] });
    expect(statuses([await from('203.0.113.20', token)])).toEqual([200]);
    expect(statuses([await from('203.0.113.20', wrong)])).toEqual([429]);
    const events = await api.services.database.query(`select 1 from audit_events where client_ip = '203.0.113.20'`);
    expect(events).toHaveLength(2);
    expect(await refusedBy('auth')).toBe(3);
  });

  it('do not count without a credential', async () => {
    const answers = await repeat(5, () => from('203.0.113.21', null));
    expect(statuses(answers)).toEqual([401, 401, 401, 401, 401]);
  });
});

it('several servers count together, or each for itself (OP-34)', async () => {
  const share = async (store: string) => {
    const toml = `${shopToml}\n[rate_limits]\nstore = "${store}"\nper_token = 6`;
    const one = await startTestApi({ toml });
    const other = await one.another();
    const token = await one.createUser('both', { roles: ['requester'] });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => [one, other][n % 2]!.call('GET', '/api/me', { token })),
    );
    await other.close();
    await one.close();
    return answers.filter(({ status }) => status === 200).length;
  };
  expect(await share('postgres')).toBe(6);
  expect(await share('memory')).toBe(12);
});

it('limits of 0, or enabled = false, are none (OP-31)', async () => {
  const toml = `${shopToml}\n[rate_limits]\nenabled = false\nper_token = 1\nper_address = 1`;
  const free = await startTestApi({ toml });
  const answers = await Promise.all(Array.from({ length: 5 }, () => free.call('GET', '/api/me', { token: free.tokens.admin })));
  expect(statuses(answers)).toEqual([200, 200, 200, 200, 200]);
  expect(answers[0]?.headers.has('ratelimit-limit')).toBe(false);
  await free.close();
});

it('a store that is away stops nobody: the call is judged, and 503 comes in time (OP-34, HT-112)', async () => {
  const own = await startTestApi();
  const proxy = await startTcpProxy(own.database.url);
  const behind = await startTestApi({ database: own.database, databaseUrl: proxy.url, stateDir: own.stateDir });
  proxy.freeze();
  const answers = await Promise.all([1, 2, 3].map(() => behind.call('GET', '/api/me', { token: own.tokens.admin })));
  expect(answers.map(({ status, body }) => [status, body.code])).toEqual(Array(3).fill([503, 'service.unavailable']));
  expect((await behind.services.metrics.backgroundPanics.get()).values[0]?.value).toBeGreaterThanOrEqual(1);
  proxy.heal();
  await behind.close();
  await proxy.close();
  await own.close();
});

it('a store that stays away is told when it begins and when it is over, not with each call (OP-95)', async () => {
  const own = await startTestApi();
  const proxy = await startTcpProxy(own.database.url);
  const behind = await startTestApi({ database: own.database, databaseUrl: proxy.url, stateDir: own.stateDir });
  const failures = async () => (await behind.services.metrics.backgroundPanics.get()).values[0]?.value ?? 0;
  const told = () => behind.logged.map((line) => JSON.parse(line).msg).filter((text) => text.includes('calls are not counted'));
  const ask = () => behind.call('GET', '/api/me', { token: own.tokens.admin });
  const text = 'calls are not counted: the store of the rate limits failed';
  proxy.cut();
  await eventually(async () => {
    await ask();
    return (await failures()) >= 3;
  }, 60_000);
  expect(told()).toEqual([text]);
  proxy.heal();
  await eventually(async () => {
    await ask();
    return told().length > 1;
  }, 60_000);
  expect(told()).toEqual([text, `over: ${text}`]);
  await behind.close();
  await proxy.close();
  await own.close();
}, 180_000);
