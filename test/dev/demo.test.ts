import { type ChildProcess, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pictureFile, pictureOf } from '../../dev/picture.js';
import { demoWaitMs, startDemo } from '../support/demo.js';
import { hasIpv6 } from '../support/ipv6.js';
import { isAlive } from '../support/processes.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

// The last test stops the demo that the others use.
describe('npm run demo', { shuffle: false }, () => {
  let demo: ChildProcess;
  let output = '';
  beforeAll(async () => {
    const started = await startDemo();
    demo = started.child;
    output = started.output();
  }, demoWaitMs + 10_000);
  afterAll(() => void demo.kill('SIGKILL'));

  it('waits for the schemas, so that the first UPDATE on staging is judged by them (SQ-85)', () => {
    expect(output).toMatch(/ {2}schemas +ready in .*shop\/staging, shop\/production.*Alice asks:/s);
  });

  it('plays a change from request to result (DV-9)', () => {
    expect(output).toMatch(/Alice asks:.*\$ npx svc --config \S+alice\.toml execute 'update products/s);
    expect(output).toContain('waits for approval by group:dba-team');
    expect(output).toMatch(/bob\.toml request approve .*alice\.toml request resume .*Rows affected: 1/s);
    expect(output).toContain('request.approved');
    expect(output).toMatch(/Its workflow: http:\/\/localhost:\d+\/namespaces\/default\/workflows\/request-/);
    expect(output).toContain('(5 rows)');
    expect(output).toContain('Every step held.');
  });

  it('prints commands that can be pasted as they stand (DV-10)', { timeout: 300_000 }, () => {
    const commands = [...output.matchAll(/^ {2}(npx svc .*)$/gm)].map(([, command]) => command!);
    expect(commands.length).toBeGreaterThanOrEqual(8);
    // As on a machine without a display: no test opens a browser.
    const env = { ...process.env, SSH_TTY: 'none', BROWSER: '', DISPLAY: '', WAYLAND_DISPLAY: '' };
    for (const command of commands) {
      const result = spawnSync('sh', ['-c', command], { cwd: root, env, encoding: 'utf8', timeout: 60_000 });
      expect({ command, status: result.status, output: result.stdout + result.stderr }).toMatchObject({ command, status: 0 });
    }
  });

  it('prints what opens the console as alice and as bob, each under a host of its own (CO-33, DV-10)', {
    timeout: 60_000,
  }, async () => {
    const hosts = [];
    for (const name of ['alice', 'bob']) {
      const command = new RegExp(`^ {2}(npx svc .*/${name}\\.toml console)$`, 'm').exec(output)![1]!;
      const { stdout, stderr } = spawnSync('sh', ['-c', `${command} --no-browser`], {
        cwd: root,
        encoding: 'utf8',
        timeout: 30_000,
      });
      expect(stdout, stderr).toMatch(/^http/);
      const link = new URL(stdout.trim());
      hosts.push(link.hostname);
      const code = link.hash.replace('#code=', '');
      const signIn = () =>
        fetch(`${link.origin}/api/console/session`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ code }),
        });
      const signedIn = await signIn();
      const [cookie] = signedIn.headers.getSetCookie()[0]!.split(';');
      const session = await fetch(`${link.origin}/api/console/session`, { headers: { cookie: cookie! } });
      expect([signedIn.status, await session.json()]).toEqual([204, expect.objectContaining({ subject_id: name })]);
      expect((await signIn()).status).toBe(401);
    }
    expect(hosts).toEqual(['localhost', '127.0.0.1']);
  });

  it.runIf(hasIpv6)('has the port of ::1 as well, which localhost may mean (DV-5)', async () => {
    const [, port] = /^The gateway runs at http:\/\/localhost:(\d+)$/m.exec(output)!;
    expect((await fetch(`http://[::1]:${port}/health`)).status).toBe(200);
  });

  it('is described by the README with commands that it prints', () => {
    const data = /--config (\S+)\/alice\.toml whoami/.exec(output)![1]!;
    const printed = new Set([...output.matchAll(/^ {2}(npx svc .*)$/gm)].map(([, command]) => command!.replaceAll(data, '.svc')));
    const readme = readFileSync(`${root}/README.md`, 'utf8');
    const described = [...readme.matchAll(/^npx svc --config \.svc\/.*$/gm)].map(([command]) => command);
    expect(described.length).toBeGreaterThanOrEqual(4);
    expect(described.filter((command) => !printed.has(command))).toEqual([]);
  });

  it('prints what the picture of the README shows (CONTRIBUTING.md says how to draw it again)', () => {
    const printed = new Set(steadyLines(pictureOf(output)));
    expect(steadyLines(readFileSync(pictureFile, 'utf8')).filter((line) => !printed.has(line))).toEqual([]);
  });

  it('stops everything on Ctrl-C and leaves nothing behind (DV-5, DV-6)', async () => {
    const folder = /Starting a new gateway in (\S+)/.exec(output)![1]!;
    const children = childrenOf(demo.pid!);
    expect(children.length).toBe(5);
    const ended = new Promise((resolve) => demo.once('exit', resolve));
    demo.kill('SIGINT');
    expect(await ended).toBe(0);
    expect(children.filter(isAlive)).toEqual([]);
    expect(existsSync(folder)).toBe(false);
  });
});

function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' });
  return stdout.trim().split('\n').map(Number);
}

/** The lines of a picture without what is different in each run: ids, times, ports, whether an event is sealed and the plan there. */
function steadyLines(picture: string): string[] {
  const lines = [...picture.matchAll(/^<text [^>]*>(.*)<\/text>$/gm)].map(([, line]) =>
    line!
      .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replace(/^ *\d* +TIME/, 'TIME')
      .replace(/localhost:\d+/, 'localhost')
      .replace(/in [\d.]+ m?s$/, ''),
  );
  return lines.filter((line) => !/plan|waiting for an agent|^ {2}PostgreSQL: /.test(line));
}
