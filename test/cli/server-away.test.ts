import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gatewayCalls } from '../api/gateway-calls.js';
import { shopToml, startTestApi } from '../support/api.js';
import { type FakeApi, type FakeReply, startFakeApi } from '../support/fake-api.js';
import { eventually } from '../support/processes.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { login, runSvc, type SvcOptions } from './run-svc.js';
import { created, paths, requestId, shown, twoRows } from './samples.js';

let api: FakeApi;
beforeEach(async () => {
  api = await startFakeApi();
});
afterEach(() => api.close());

const gone: FakeReply = { drop: true };
const busy: FakeReply = { status: 503, body: { error: 'the server ends', code: 'service.draining', hint: null } };
const proxied = (status: number): FakeReply => ({ status, body: '<html>' });
/** More failures than a call has tries. */
const outage = [gone, gone, gone, gone, busy, busy, proxied(502), proxied(504)];

const patient = { awayMs: 30_000 };
const svc = (argv: string[], options: SvcOptions = {}) =>
  runSvc(argv, { environment: login(api.url), ...options, limits: { ...patient, ...options.limits } });
const watch = (options: SvcOptions = {}, ...argv: string[]) => svc(['request', 'watch', requestId, ...argv], options);
const count = (path: string) => api.calls.filter((call) => `${call.method} ${call.path}` === path).length;
const wholly = 'the server cannot be reached (connection reset)';

describe('a command that waits while the server is away (CL-22a)', () => {
  it('waits on for the approval, the run and the result, and creates and resumes once', async () => {
    api.on(paths.create, created('pending'));
    api.on(paths.show, shown('pending'), ...outage, shown('approved'), ...outage, shown('executed'));
    api.on(paths.resume, { body: { id: requestId, status: 'dispatched' } }).on(paths.stream, gone);
    api.on(paths.content, ...outage, { body: twoRows });
    const { code, stdout } = await svc(['execute', 'SELECT 1', '--wait']);
    expect([code, stdout]).toEqual([0, expect.stringContaining('9007199254740993')]);
    expect([count(paths.create), count(paths.resume)]).toEqual([1, 1]);
  });

  it('says so in a pipe once, on stderr, and when the server answers again', async () => {
    api.on(paths.show, shown('pending'), ...outage, shown('pending'), shown('executed'));
    const { code, stdout, stderr } = await watch();
    expect(api.calls.map(({ query }) => query.get('wait'))).toEqual([null, '30', ...outage.slice(1).map(() => null), null, '30']);
    expect([code, stdout.split('\n').length]).toEqual([0, 3]);
    expect(stderr.split('\n')).toEqual([
      `request ${requestId}: trying again: ${wholly}`,
      `request ${requestId}: the server answers again`,
      `request ${requestId} executed: svc request result ${requestId}`,
      '',
    ]);
  });

  it('says so in the line of a terminal, with the reason of the last try', async () => {
    api.on(paths.show, shown('pending'), ...outage, shown('executed'));
    const { code, stdout, stderr } = await watch({ terminal: true, columns: 200 });
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain(`request ${requestId.slice(0, 8)}  trying again: ${wholly}\r`);
    expect(stderr).toContain('trying again: the server cannot be reached (it answers 503)\r');
    expect(stderr.split('\n')).toHaveLength(2);
  });

  it.each(['json', 'quiet'])('prints its one line only with --format %s (CL-I2)', async (format) => {
    api.on(paths.create, created('dispatched')).on(paths.stream, gone, { body: twoRows });
    api.on(paths.show, ...outage, shown('running'), shown('executed'));
    const { code, stdout, stderr } = await svc(['execute', 'SELECT 1', '--format', format]);
    expect([code, JSON.parse(stdout).ok, stderr]).toEqual([0, true, '']);
  });

  it('says nothing of a failure that is over with the next try', async () => {
    api.on(paths.show, shown('pending'), gone, gone, shown('executed'));
    expect((await watch()).stderr).toBe(`request ${requestId} executed: svc request result ${requestId}\n`);
  });

  it('tries again after an answer that did not come in time, as on a connection that was forgotten', async () => {
    api.on(paths.show, shown('pending'), { hang: true }, { hang: true }, shown('executed'));
    const { code, stderr } = await watch({ limits: { waitGraceMs: -29_900, callMs: 2_000 } });
    expect([code, stderr]).toEqual([0, expect.stringContaining('(no answer within 0.1 s)')]);
  });

  it('ends with the time, and says how to go on', async () => {
    api.on(paths.show, shown('pending'), gone);
    const { code, stderr } = await watch({ limits: { awayMs: 100 } });
    expect([code, stderr]).toEqual([1, expect.stringContaining(`the request continues: svc request watch ${requestId}`)]);
    api.on(paths.show, shown('pending'), busy);
    const ended = JSON.parse((await watch({ limits: { awayMs: 100 } }, '--json')).stdout);
    expect(ended).toMatchObject({ request_id: requestId, error: { code: 'service.draining' } });
  });

  it('does not wait for a server that has not answered yet: its address may be wrong', async () => {
    api.on(paths.show, gone);
    expect((await watch()).code).toBe(1);
    expect(count(paths.show)).toBe(3);
  });

  it('makes no move again: an answer to a resume that was lost ends it, and a decision has one try', async () => {
    api.on(paths.create, created('approved')).on(paths.resume, gone);
    const { code, stderr } = await svc(['execute', 'SELECT 1', '--wait']);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`svc request wait ${requestId}`)]);
    expect(count(paths.resume)).toBe(1);
  });

  it('waits as long as the server asks, at most its own time, and ends at once with Ctrl-C and the timeout', async () => {
    const later = { ...busy, headers: { 'retry-after': '50' } };
    api.on(paths.show, shown('pending'), later);
    let interrupt = () => {};
    const running = watch({ started: (control) => (interrupt = control.interrupt) }, '--json');
    await eventually(() => count(paths.show) === 2);
    interrupt();
    expect((await running).code).toBe(130);
    api.on(paths.show, shown('pending'), gone, gone, gone, later);
    expect((await watch({}, '--timeout', '1')).code).toBe(124);
    api.on(paths.show, shown('pending'), later);
    expect((await watch({ limits: { awayMs: 100, retryPauseMs: 0 } })).code).toBe(1);
  });
});

it('watches a request while the real server stops and another one starts (CL-22a)', async () => {
  const api = await startTestApi({ toml: shopToml });
  const first = await api.another();
  const proxy = await startTcpProxy(first.url);
  try {
    const alice = await api.createUser('alice', { roles: ['requester'] });
    const id = await gatewayCalls(api).created(alice);
    let told = { stdout: () => '', stderr: () => '' };
    const environment = { ...login(proxy.url), SVC_TOKEN: alice };
    const started = (control: typeof told) => (told = control);
    const running = runSvc(['request', 'watch', id], { environment, started, limits: patient });
    await eventually(() => told.stdout().includes(' pending'));
    await first.close();
    await eventually(() => told.stderr().includes('trying again'));
    const second = await api.another();
    proxy.to(second.url);
    await eventually(() => told.stderr().includes('the server answers again'));
    expect((await api.call('POST', `/api/requests/${id}/cancel`, { token: alice })).status).toBe(200);
    const { code, stdout } = await running;
    expect([code, stdout]).toEqual([1, expect.stringMatching(/ pending.*\n.* cancelled\n$/)]);
    await second.close();
  } finally {
    await proxy.close();
    await api.close();
  }
});
