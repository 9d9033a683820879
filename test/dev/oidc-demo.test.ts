import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { removeCluster } from '../../dev/folder-lock.js';
import { layoutOf } from '../../dev/layout.js';
import { runDev } from '../../dev/main.js';
import { freePort } from '../../dev/ports.js';
import { waitUntil } from '../../lib/deadline.js';
import { shownAddress } from '../cli/login-place.js';
import { runSvc } from '../cli/run-svc.js';
import { demoWaitMs } from '../support/demo.js';
import { logInAtDemo } from '../support/demo-login.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

// The last test stops the provider that the others use.
describe('npm start -- --oidc (DV-14)', { shuffle: false }, () => {
  let folder: string;
  let demo: ChildProcess;
  let output = '';
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'svc-oidc-'));
    const ports = { PORT: await freePort(), SVC_UI_PORT: await freePort(), SVC_OIDC_PORT: await freePort() };
    const environment = Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, String(port)]));
    const args = [join(root, 'bin/svc'), 'dev', '--oidc', '--data', join(folder, 'data')];
    demo = spawn(process.execPath, args, {
      cwd: root,
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [demo.stdout!, demo.stderr!]) stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    const isThere = () => output.includes('Ctrl-C stops everything') || demo.exitCode !== null;
    if (!(await waitUntil(isThere, { ms: demoWaitMs, everyMs: 50 })) || demo.exitCode !== null) throw new Error(output);
  }, demoWaitMs + 10_000);
  afterAll(async () => {
    const ended = new Promise((resolve) => demo.once('exit', resolve));
    if (demo.exitCode === null && demo.kill('SIGKILL')) await ended;
    removeCluster(layoutOf(join(folder, 'data')));
    rmSync(folder, { recursive: true, force: true });
  });

  const passwordOf = (name: string) => new RegExp(`${name} with (\\S+?)[,:]`).exec(output)?.[1] ?? '';
  const program = async (argv: string[], name: string) => {
    const args = [join(root, 'bin/svc'), '--config', join(folder, 'data', 'login.toml'), ...argv, '--json'];
    const child = spawn(process.execPath, args, { env: { ...process.env, XDG_CONFIG_HOME: folder } });
    const texts = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) child[name].on('data', (part) => (texts[name] += String(part)));
    const ended = new Promise((resolve) => child.once('close', resolve));
    await logInAtDemo(await shownAddress(() => texts.stderr), name, passwordOf(name));
    await ended;
    return JSON.parse(texts.stdout);
  };
  const svc = async (argv: string[], name = '') => {
    const result = await runSvc(['--config', join(folder, 'data', 'login.toml'), ...argv, '--json'], {
      environment: { XDG_CONFIG_HOME: folder },
      limits: { devicePauseMs: 100 },
      started: async ({ stderr }) =>
        void (name !== '' && (await logInAtDemo(await shownAddress(stderr), name, passwordOf(name)))),
    });
    return JSON.parse(result.stdout);
  };

  it('prints what to type, and alice logs in by browser as the alice of the demo and runs what she may', async () => {
    expect(output).toMatch(/^ {2}npx svc --config \S+\/login\.toml login$/m);
    // By the built program itself.
    const { data } = await program(['login', '--no-browser'], 'alice');
    expect(data).toMatchObject({ subject_id: 'alice', renews: true, me: { roles: [{ name: 'requester' }] } });
    const ran = await svc(['--yes', 'execute', 'select count(*) as n from orders']);
    expect(ran.data).toMatchObject({ success: true });
  });

  it('lets bob in by code, who is in the DBA team, and out again', async () => {
    expect((await svc(['login', '--device'], 'bob')).data.me).toMatchObject({ subject_id: 'bob', groups: ['dba-team'] });
    expect((await svc(['request', 'list', '--pending-for-me'])).data.requests.length).toBeGreaterThan(0);
    expect((await svc(['logout'])).data.removed).toHaveLength(1);
    expect((await svc(['whoami'])).error).toMatchObject({
      code: 'auth_error',
      hint: expect.stringMatching(/^svc --config .* login$/),
    });
  });

  it('stops the provider with everything else (DV-6)', async () => {
    const [issuer = ''] = /http:\/\/127\.0\.0\.1:\d+$/m.exec(/logins +ready.*$/m.exec(output)?.[0] ?? '') ?? [];
    expect((await fetch(`${issuer}/.well-known/openid-configuration`)).status).toBe(200);
    const ended = new Promise((resolve) => demo.once('exit', resolve));
    demo.kill('SIGINT');
    expect(await ended).toBe(0);
    await expect(fetch(issuer)).rejects.toThrow();
  });
});

it('--oidc beside a server.toml of one’s own is refused before anything starts (DV-14)', async () => {
  const data = join(tmpdir(), `svc-never-${process.pid}`);
  expect(await runDev({ config: 'server.toml', data, reset: false, oidc: true })).toBe(2);
  expect(existsSync(data)).toBe(false);
});
