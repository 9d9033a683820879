import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeApi, startFakeApi } from '../support/fake-api.js';
import { eventually } from '../support/processes.js';
import { login, runSvc, type SvcOptions } from './run-svc.js';
import { conflict, created, failedEnvelope, paths, requestId, shown, twoRows } from './samples.js';

type Control = Parameters<NonNullable<SvcOptions['started']>>[0];

let api: FakeApi;
beforeEach(async () => {
  api = await startFakeApi();
  api.on(paths.create, created('dispatched')).on(paths.show, shown('running')).on(paths.stream, { hang: true });
});
afterEach(() => api.close());

/** Runs `execute`, interrupts once the server has got a call of that path, then answers the question. */
async function interruptedAt(path: string, options: SvcOptions, answer?: string, ...argv: string[]) {
  let control: Control | undefined;
  const running = runSvc(['execute', 'SELECT 1', ...argv], {
    environment: login(api.url),
    ...options,
    started: (given) => {
      control = given;
    },
  });
  await eventually(() => api.calls.some((call) => `${call.method} ${call.path}` === path));
  control!.interrupt();
  if (answer !== undefined) {
    await eventually(() => control!.stderr().includes('Cancel the request?'));
    control!.stdin.write(answer);
  }
  return running;
}

describe('Ctrl-C (CL-26)', () => {
  it('exits 130 with the idempotency key before the id is known', async () => {
    api.on(paths.create, { hang: true });
    const result = await interruptedAt(paths.create, {}, undefined, '--json');
    expect(result.code).toBe(130);
    expect(JSON.parse(result.stdout).error.hint).toContain(`--idempotency-key ${api.bodies(paths.create)[0]!.idempotency_key}`);
  });

  it('exits 130 without a terminal, and the request goes on', async () => {
    const result = await interruptedAt(paths.stream, {}, undefined, '--json');
    expect(result.code).toBe(130);
    expect(JSON.parse(result.stdout)).toMatchObject({
      data: { request_id: requestId },
      error: { code: 'interrupted', hint: `svc request wait ${requestId}` },
    });
    expect(api.bodies(paths.cancel)).toEqual([]);
  });

  it('asks on a terminal and does not cancel by default', async () => {
    const result = await interruptedAt(paths.stream, { terminal: true }, '\n');
    expect(result.code).toBe(130);
    expect(api.bodies(paths.cancel)).toEqual([]);
  });

  it.each([
    ['the end of the input', (control: Control) => void control.stdin.end()],
    ['Ctrl-C', (control: Control) => control.interrupt()],
  ])('tells below the question that %s leaves without an answer', async (_, leave) => {
    const { stderr } = await runSvc(['execute', 'update t set a = 1', '--no-preflight'], {
      environment: login(api.url),
      terminal: true,
      started: (control) => void eventually(() => control.stderr().endsWith('[y/N] ')).then(() => leave(control)),
    });
    expect(stderr).toMatch(/\[y\/N\] \n.*error:/);
  });

  it('cancels after a yes, with its reason', async () => {
    api.on(paths.cancel, { body: { id: requestId, status: 'cancelled' } });
    const result = await interruptedAt(paths.stream, { terminal: true }, 'y\n');
    expect(result).toMatchObject({ code: 130, stderr: expect.stringContaining('was cancelled') });
    expect(api.bodies(paths.cancel)).toEqual([{ reason: 'cancelled by user (Ctrl-C)' }]);
  });

  it('says that the outcome of a cancel is not known when no answer tells it, as while the server is away', async () => {
    const hint = `hint: it is not known whether the request was cancelled: svc request show ${requestId}`;
    for (const reply of [{ drop: true }, { status: 502, body: '<html>' }]) {
      api.on(paths.create, created('dispatched')).on(paths.stream, { drop: true }).on(paths.cancel, reply);
      api.on(paths.show, { drop: true });
      api.calls.length = 0;
      const limits = { awayMs: 30_000 };
      const result = await interruptedAt(paths.show, { terminal: true, limits }, 'y\n', '--no-color', '--no-preflight');
      expect([result.code, result.stderr]).toEqual([1, expect.stringContaining(hint)]);
      expect(api.bodies(paths.cancel)).toHaveLength(1);
    }
  });

  it('never reports cancelled for work that was committed first (CL-I6)', async () => {
    api.on(paths.cancel, () => {
      api.on(paths.show, shown('executed')).on(paths.content, { body: twoRows });
      return conflict('the request is executed');
    });
    const result = await interruptedAt(paths.stream, { terminal: true }, 'y\n');
    expect(result).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('alice'),
      stderr: expect.stringContaining('had already run before'),
    });
  });

  it('waits for the outcome of a statement that is still running (202)', async () => {
    api.on(paths.cancel, () => {
      api.on(paths.show, shown('running'), shown('cancelled')).on(paths.stream, { body: failedEnvelope('request cancelled') });
      return { status: 202, body: { id: requestId, status: 'running', cancel_requested: true } };
    });
    expect(await interruptedAt(paths.stream, { terminal: true }, 'y\n')).toMatchObject({
      code: 130,
      stderr: expect.stringContaining('was cancelled'),
    });
  });

  it('asks nothing at SIGTERM and SIGHUP, which no person sends who could answer', async () => {
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
      api.calls.length = 0;
      let control: Parameters<NonNullable<SvcOptions['started']>>[0] | undefined;
      const running = runSvc(['execute', 'SELECT 1'], {
        environment: login(api.url),
        terminal: true,
        started: (given) => {
          control = given;
        },
      });
      await eventually(() => api.calls.some((call) => call.path.endsWith('/stream')));
      control!.interrupt(signal);
      const { code, stderr } = await running;
      expect(code).toBe(130);
      expect(stderr).toContain(`svc request wait ${requestId}`);
      expect(stderr).not.toContain('Cancel the request?');
      expect(api.bodies(paths.cancel)).toEqual([]);
    }
  });

  it('exits at once at the second one, and names the command that tells what becomes of the request', async () => {
    let control: Parameters<NonNullable<SvcOptions['started']>>[0] | undefined;
    const running = runSvc(['execute', 'SELECT 1'], {
      environment: login(api.url),
      terminal: true,
      started: (given) => {
        control = given;
      },
    });
    await eventually(() => api.calls.some((call) => call.path.endsWith('/stream')));
    control!.interrupt();
    await eventually(() => control!.stderr().includes('Cancel the request?'));
    control!.interrupt();
    control!.stdin.write('\n');
    const { exitedNow, stderr } = await running;
    expect(exitedNow).toBe(130);
    expect(stderr).toContain(`svc request show ${requestId} says what becomes of the request`);
  });

  it('prints one line of JSON and exits 130 as a process that gets SIGINT or SIGTERM (CL-I2)', async () => {
    const script = `import { main } from ${JSON.stringify(new URL('../../cli/main.ts', import.meta.url).href)}; process.exit(await main(process.argv.slice(1)));`;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      api.calls.length = 0;
      const tsx = fileURLToPath(new URL('../../node_modules/tsx/dist/loader.mjs', import.meta.url));
      const child = spawn(
        process.execPath,
        ['--import', tsx, '--input-type=module', '-e', script, '--', 'execute', 'SELECT 1', '--json'],
        {
          env: { PATH: process.env.PATH, HOME: '/nonexistent', ...login(api.url) },
          cwd: fileURLToPath(new URL('../..', import.meta.url)),
          stdio: ['ignore', 'pipe', 'inherit'],
        },
      );
      let stdout = '';
      child.stdout.on('data', (chunk) => {
        stdout += String(chunk);
      });
      await eventually(() => api.calls.some((call) => call.path.endsWith('/stream')));
      child.kill(signal);
      const [code] = await once(child, 'close');
      expect(code).toBe(130);
      expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { code: 'interrupted' } });
    }
  });
});

describe('progress (CL-25)', () => {
  it('is one line for each change of state when stderr is no terminal, and again after 30 s', async () => {
    let finish = false;
    let looks = 0;
    api.on(paths.show, () => {
      looks += 1;
      if (looks > 8) finish = true;
      return looks < 3 ? shown('dispatched', { queue_hint: 'agents_saturated' }) : shown('running', { claimed_by: 'agent-1' });
    });
    const running = runSvc(['execute', 'SELECT 1'], {
      environment: login(api.url),
      limits: { paceMs: 5, streamMs: 300 },
      now: () => 0,
    });
    await eventually(() => finish);
    api.on(paths.stream, { body: twoRows });
    const { stderr, code } = await running;
    expect(code).toBe(0);
    expect(stderr.split('\n').filter((line) => line.includes('agent'))).toEqual([
      `request ${requestId} dispatched: all agents are busy`,
      `request ${requestId} running: agent agent-1`,
    ]);
    expect(stderr).not.toContain('\r');
  });

  it('is lines on a terminal that cannot draw over one', async () => {
    const environment = { ...login(api.url), TERM: 'dumb' };
    const quickly = { terminal: true, environment, limits: { streamMs: 300 } };
    api.on(paths.show, shown('running', { claimed_by: 'agent-1' }), shown('executed')).on(paths.content, { body: twoRows });
    const run = await runSvc(['execute', 'SELECT 1'], quickly);
    expect(run).toMatchObject({ code: 0, stderr: expect.stringContaining(`request ${requestId} running: agent agent-1\n`) });
    api.on(paths.show, shown('pending'), shown('executed'));
    const watched = await runSvc(['request', 'watch', requestId], quickly);
    expect(watched).toMatchObject({ code: 0, stdout: expect.stringContaining(' pending: next approvers') });
    expect(run.stderr + watched.stderr).not.toMatch(/[\r\u001b]/);
  });

  it('is one redrawn line on a terminal, gone at the end, and nothing in json and quiet', async () => {
    const run = (terminal: boolean, ...argv: string[]) =>
      runSvc(['execute', 'SELECT 1', ...argv], { environment: login(api.url), terminal, limits: { streamMs: 150 } });
    api.on(paths.stream, { hang: true }, { body: twoRows });
    const { stderr } = await run(true);
    expect(stderr).toMatch(/\r\u001b\[2K.*running.*\r\u001b\[2K/s);
    expect(stderr).toContain(`request ${requestId.slice(0, 8)}`);
    for (const mode of ['json', 'quiet']) {
      api.calls.length = 0;
      api.on(paths.stream, { hang: true }, { body: twoRows });
      expect((await run(true, '--format', mode)).stderr).toBe('');
      expect(api.calls.filter((call) => call.query.has('wait'))).toHaveLength(0);
    }
  });
});
