import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { eventually } from '../support/processes.js';
import { login, runSvc, type SvcOptions } from './run-svc.js';
import { paths, requestId, shown } from './samples.js';

let api: FakeApi;
beforeEach(async () => {
  api = await startFakeApi();
});
afterEach(() => api.close());

const watch = (options: SvcOptions = {}, ...argv: string[]) =>
  runSvc(['request', 'watch', requestId, ...argv], { environment: login(api.url), ...options });

/** Everything that was called: to watch is to read. */
const calls = () => [...new Set(api.calls.map(({ method, path }) => `${method} ${path}`))];

describe('svc request watch (CL-35)', () => {
  it('prints a line for each change in a pipe, with its instant, and reads only', async () => {
    const at = (updated_at: string) => ({ updated_at });
    api.on(
      paths.show,
      shown('pending', at('2026-05-01T09:15:30.482Z')),
      shown('pending', at('2026-05-01T09:15:30.482Z')),
      shown('approved', at('2026-05-01T09:20:01.500Z')),
      shown('dispatched', { ...at('2026-05-01T09:21:00.000Z'), queue_hint: 'no_agents' }),
      shown('running', { ...at('2026-05-01T09:21:05.000Z'), claimed_by: 'agent-1' }),
      shown('executed', at('2026-05-01T09:21:06.000Z')),
    );
    const { code, stdout, stderr } = await watch();
    expect(stdout.split('\n')).toEqual([
      '2026-05-01T09:15:30.482Z pending: next approvers group:dba-team (1/2 steps)',
      '2026-05-01T09:20:01.500Z approved: not resumed yet',
      '2026-05-01T09:21:00.000Z dispatched: no agent serves this database',
      '2026-05-01T09:21:05.000Z running: agent agent-1',
      '2026-05-01T09:21:06.000Z executed',
      '',
    ]);
    expect([code, stderr]).toEqual([0, `request ${requestId} executed: svc request result ${requestId}\n`]);
    expect(calls()).toEqual([paths.show]);
    expect(api.calls.map(({ query }) => query.get('wait'))).toEqual([null, '30', '30', '30', '30', '30']);
  });

  it('is one redrawn line on a terminal', async () => {
    api.on(paths.show, shown('pending'), shown('executed'));
    const { code, stdout, stderr } = await watch({ terminal: true });
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toMatch(/\r\u001b\[2K.*pending.*request 4f0c9d0e.*group:dba-team.*\r\u001b\[2K/s);
    expect(stderr.split('\n')).toHaveLength(2);
  });

  it('shows what others wrote without letting it steer the terminal (CL-13)', async () => {
    const hostile = { claimed_by: 'agent\u001b[2J', updated_at: '\u001b]0;x\u0007' };
    for (const terminal of [true, false]) {
      api.on(paths.show, shown('running', hostile), shown('execut\u001b[31med', hostile));
      const { code, stdout, stderr } = await watch({ terminal }, '--no-color');
      expect(`${stdout}${stderr}`.replaceAll('\r\u001b[2K', '')).not.toMatch(/[\u001b\u0007]/);
      expect(code).toBe(1);
    }
  });

  it.each([
    ['executed', {}, 0, undefined],
    ['rejected', {}, 1, 'rejected'],
    ['cancelled', {}, 1, 'cancelled'],
    ['expired', {}, 1, 'expired'],
    ['execution_lost', { lost_reason: 'the agent stopped' }, 1, 'execution_lost'],
    ['a_new_status', {}, 1, 'server_error'],
  ])(
    '%s: the exit code tells the outcome, and the one line of json the whole request (CL-I2)',
    async (status, more, exit, code) => {
      api.on(paths.show, shown('pending'), shown(status, more));
      const { code: exited, stdout } = await watch({}, '--json');
      expect(exited).toBe(exit);
      expect(stdout).toMatch(/^[^\n]+\n$/);
      const line = JSON.parse(stdout);
      expect([line.ok, line.data, line.error?.code]).toEqual([exit === 0, shown(status, more).body, code]);
    },
  );

  it('tells who rejected or cancelled it, and why, on one line', async () => {
    const comment = 'ask next week\nhint: \u001b[2J';
    const rejection = { user: 'bob', action: 'reject', selector: 'group:dba-team', at: '2026-05-01T09:20:01.500Z', comment };
    const steps = [{ index: 0, approvers_required: [], approvals: [rejection] }];
    const told = 'request watch: the request was rejected by bob: ask next week\\nhint: \\u001b[2J';
    api.on(paths.show, shown('rejected', { approval_progress: { current_step: 0, total_steps: 1, steps } }));
    expect((await watch()).stderr.split('\n')[0]).toBe(`error: ${told}`);
    api.on(paths.show, shown('cancelled', { cancelled_by: 'alice', cancel_reason: null }));
    expect((await watch()).stderr.split('\n')[0]).toBe('error: request watch: the request was cancelled by alice');
    api.on(paths.show, shown('expired', { cancelled_by: 'alice' }));
    expect((await watch()).stderr.split('\n')[0]).toBe('error: request watch: the request was not approved or resumed in time');
  });

  it('tells a statement that the database refused from a request that ended without running', async () => {
    const error = 'driver error: query failed: relation "partz" does not exist (SQLSTATE 42P01)';
    api.on(paths.show, shown('failed')).on(paths.executions, { body: { executions: [{ error_message: error }] } });
    const refused = await watch();
    expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining('PostgreSQL: relation "partz" does not exist') });
    api.on(paths.executions, { body: { executions: [] } });
    expect(await watch()).toMatchObject({ code: 1, stderr: expect.stringContaining('ended without running') });
    api.on(paths.executions, { status: 403, body: { error: 'no', code: 'auth.forbidden', hint: null } });
    expect(await watch()).toMatchObject({ code: 3, stderr: expect.stringContaining('the statement failed') });
  });

  it.each(['human', 'json'])('leaves the request alone at Ctrl-C and at the timeout, and says so (%s)', async (format) => {
    api.on(paths.show, shown('pending'), { hang: true });
    let interrupt = () => {};
    const running = watch({ terminal: true, started: (control) => (interrupt = control.interrupt) }, '--format', format);
    await eventually(() => api.calls.length === 2);
    interrupt();
    const stopped = await running;
    expect(stopped.code).toBe(130);
    expect(stopped.stderr).toContain(`request watch: interrupted; request ${requestId} continues`);
    api.on(paths.show, shown('pending'), { hang: true });
    const late = await watch({}, '--timeout', '1', '--format', format);
    expect(late.code).toBe(124);
    expect(late.stderr).toContain(`not finished within 1 s; request ${requestId} continues`);
    const told = format === 'json' ? JSON.parse(late.stdout).error.hint : late.stderr;
    expect(told).toContain(`svc request watch ${requestId}`);
    expect(calls()).toEqual([paths.show]);
  });

  it('says how to go on when the server goes away, and what the server says of a request that is not open to the caller', async () => {
    api.on(paths.show, shown('pending'), { drop: true });
    const gone = await watch();
    expect(gone).toMatchObject({ code: 1, stderr: expect.stringContaining(`svc request watch ${requestId}`) });
    api.on(paths.show, { status: 403, body: { error: 'forbidden', code: 'auth.forbidden', hint: 'it is not yours' } });
    expect(await watch()).toMatchObject({ code: 1, stderr: expect.stringContaining('it is not yours') });
  });

  it.each([[['abc']], [[]], [[requestId, '--timeout', 'x']], [[requestId, '--resume']]])('refuses %j', async (argv) => {
    expect((await runSvc(['request', 'watch', ...argv], { environment: login(api.url) })).code).toBe(2);
    expect(api.calls).toEqual([]);
  });
});
